"""Keywords of Abaqus and CalculiX that do not change a free, linear elastic part; blanks do not count in keywords.

Every keyword that is neither read nor listed here counts as not obeyed, unknown ones included.
"""

from difflib import get_close_matches

_READ = (
    *("NODE", "ELEMENT", "NSET", "ELSET", "SURFACE", "PART", "END PART", "ASSEMBLY", "END ASSEMBLY", "INSTANCE"),
    *("END INSTANCE", "MATERIAL", "ELASTIC", "DENSITY", "EXPANSION", "SOLID SECTION", "SHELL SECTION", "BEAM SECTION"),
    *(
        "BEAM GENERAL SECTION",
        "SHELL GENERAL SECTION",
        "MASS",
        "SPRING",
        "DASHPOT",
        "EQUATION",
        "MPC",
        "RIGID BODY",
        "TIE",
        "COUPLING",
    ),
    *("KINEMATIC", "DISTRIBUTING", "TRANSFORM", "ORIENTATION", "BOUNDARY", "STEP", "END STEP", "CLOAD", "DLOAD"),
    "DSLOAD",
)
_NEAR = 0.88
"""Likeness from which an unknown keyword counts as a typing error."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OUTPUT = _words(
    """
    HEADING PREPRINT RESTART TIMEPOINTS FILEFORMAT FILTER MONITOR PRINT OUTPUT DIAGNOSTICS NODEPRINT NODEFILE NODEOUTPUT
    ELPRINT ELFILE ELEMENTOUTPUT ELEMENTMATRIXOUTPUT FACEPRINT SECTIONPRINT SECTIONFILE CONTACTPRINT CONTACTFILE
    CONTACTOUTPUT ENERGYPRINT ENERGYFILE ENERGYOUTPUT MODALPRINT MODALFILE MODALOUTPUT RADIATIONPRINT RADIATIONFILE
    SUBSTRUCTUREMATRIXOUTPUT INCREMENTATIONOUTPUT SURFACEOUTPUT
    """
)
"""What is printed and stored."""
PROCEDURES = _words(
    """
    STEP ENDSTEP STATIC FREQUENCY COMPLEXFREQUENCY BUCKLE DYNAMIC MODALDYNAMIC STEADYSTATEDYNAMICS VISCO HEATTRANSFER
    COUPLEDTEMPERATURE-DISPLACEMENT UNCOUPLEDTEMPERATURE-DISPLACEMENT GREEN SENSITIVITY OBJECTIVE CONTROLS
    SOLUTIONTECHNIQUE NOANALYSIS RANDOMRESPONSE RESPONSESPECTRUM SUBSTRUCTUREGENERATE SUBSTRUCTUREGENERATION
    RETAINEDNODALDOFS GEOSTATIC ELECTROMAGNETICS
    """
)
"""Kinds of analysis: they ask for results and say nothing of the part; what acts in them has keywords of its own."""
WITHOUT_EFFECT = _words(
    """
    AMPLITUDE EXPANSION CONDUCTIVITY SPECIFICHEAT LATENTHEAT PHYSICALCONSTANTS SPECIFICGASCONSTANT FLUIDCONSTANTS
    MAGNETICPERMEABILITY ELECTRICALCONDUCTIVITY SURFACEINTERACTION SURFACEBEHAVIOR FRICTION GAPCONDUCTANCE
    CONTACTDAMPING DESIGNVARIABLES
    """
)
"""Definitions that act through loads, temperatures, contact pairs and sensitivities only, which have keywords of their
own."""
HARMLESS = OUTPUT | PROCEDURES | WITHOUT_EFFECT
_SETS = _words("NSET ELSET GENERATE UNSORTED INTERNAL INSTANCE INPUT")
OPTIONS = {
    "NODE": _words("NSET SYSTEM INPUT"),
    "ELEMENT": _words("TYPE ELSET INPUT"),
    "NSET": _SETS,
    "ELSET": _SETS,
    "SURFACE": _words("NAME TYPE INTERNAL TRIM"),
    "MATERIAL": _words("NAME"),
    "ELASTIC": _words("TYPE DEPENDENCIES MODULI"),
    "DENSITY": _words("DEPENDENCIES"),
    "EXPANSION": _words("TYPE ZERO DEPENDENCIES"),
    "MPC": _words(""),
    "TRANSFORM": _words("NSET TYPE"),
    "ORIENTATION": _words("NAME SYSTEM DEFINITION"),
    "INSTANCE": _words("NAME PART"),
}
"""Options of keywords that are read, or change no small motion of a linear part."""


def meant(keyword: str) -> str:
    """The keyword that is read and of which another one, unknown, is a typing error; nothing for others."""
    known = {"".join(word.split()): word for word in _READ}
    if keyword in known or keyword in HARMLESS:
        return ""
    close = get_close_matches(keyword, known, n=1, cutoff=_NEAR)
    return known[close[0]] if close else ""
