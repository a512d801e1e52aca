"""Names of units: what systems call their quantities, factors to other units, and the way of a name through files."""

import re
import warnings

import numpy as np
import pytest
from mechanisms import double_pendulum

import fem
import flexmb
from flexmb.errors import ModelFileError, UnitError
from flexmb.files import load_model, load_result, save_result
from flexmb.units import BASE, DIMENSIONS, NAMES, _powers, require_units, shown_units, unit_of, unit_ratio
from validation.decks import cantilever

SYSTEMS = ("SI", "m-kg-s", "mm-t-s", "um-kg-us", "um-kg-s", "in-lbf-s", "ft-slug-s", "cm-kg-s", "cm-g-s", "mm-kg-ms", "mm-N-s")  # fmt: skip


@pytest.mark.parametrize(
    ("system", "names"),
    [
        ("SI", ("m", "N", "N m", "J", "Pa", "Hz")),
        ("mm-t-s", ("mm", "N", "N mm", "mJ", "MPa", "Hz")),
        ("mm-kg-ms", ("mm", "kN", "kN mm", "J", "GPa", "kHz")),
        ("um-kg-s", ("um", "uN", "uN um", "pJ", "MPa", "Hz")),
        ("um-kg-us", ("um", "MN", "MN um", "J", "MN/um^2", "MHz")),
        ("cm-g-s", ("cm", "dyn", "dyn cm", "erg", "Ba", "Hz")),
        ("cm-kg-s", ("cm", "kg cm/s^2", "kg cm^2/s^2", "kg cm^2/s^2", "kg/(cm s^2)", "Hz")),
        ("in-lbf-s", ("in", "lbf", "lbf in", "lbf in", "psi", "Hz")),
        ("ell-stone-day", ("ell", "stone ell/day^2", "stone ell^2/day^2", "stone ell^2/day^2", "stone/(ell day^2)", "1/day")),
    ],
)  # fmt: skip
def test_systems_name_their_quantities(system, names):
    assert tuple(unit_of(d, system) for d in ("length", "force", "moment", "energy", "stress", "frequency")) == names


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("dimension", [d for d in DIMENSIONS if d not in ("1", "angle")])
def test_a_unit_is_worth_what_its_parts_are(system, dimension):
    """Newton's law: a force of one unit accelerates a mass of one unit by one unit."""
    size = np.prod([BASE[name] ** power for name, power in _powers(dimension, system).items() if power])
    length, mass, time = (
        np.prod([BASE[name] ** power for name, power in _powers(d, system).items() if power])
        for d in ("length", "force", "time")
    )
    mass *= time**2 / length
    by_length, by_mass, by_time = DIMENSIONS[dimension]
    assert size == pytest.approx(length**by_length * mass**by_mass * time**by_time, rel=1e-12)
    named = NAMES.get(dimension, {}).get(unit_of(dimension, system))
    if named is not None and dimension != "frequency":
        assert named == pytest.approx(size, rel=1e-6)


def test_plots_convert_to_other_units():
    shown = shown_units("mm-t-s", ("deg", "kN", "ms"), "angle", "force", "time", "length")
    assert shown["angle"].factor == pytest.approx(180 / np.pi)
    assert shown["force"].factor == pytest.approx(1e-3)
    assert shown["time"].factor == pytest.approx(1e3)
    assert shown["length"] == (1.0, "mm")
    assert shown["force"].label("force in pin") == "force in pin (kN)"
    assert shown_units("mm-kg-ms", "Hz", "frequency")["frequency"].factor == pytest.approx(1e3)
    assert shown_units("SI", "rpm", "frequency")["frequency"].factor == pytest.approx(60.0)
    both = shown_units("SI", "rpm", "angular velocity", "frequency")
    assert both["angular velocity"].factor == pytest.approx(60 / (2 * np.pi))
    assert both["frequency"] == (1.0, "Hz")
    assert shown_units(None, "deg", "angle", "force")["force"].label("force") == "force"


def test_units_that_cannot_be_shown_are_refused():
    with pytest.raises(UnitError, match=r"To show 'mm', the units of the model must be known"):
        shown_units(None, "mm", "length")
    with pytest.raises(UnitError, match=r"no quantity with the unit 'kN'.*angle.*deg"):
        shown_units("SI", "kN", "angle")
    for wrong in ("mm", "mm-t", "mm--s", "mm- t-s", "a-b-c-d", "", 3):
        with pytest.raises(UnitError, match="length, mass"):
            require_units(wrong)
    with pytest.raises(UnitError, match="'mm,t,s'"):
        flexmb.System(units="mm,t,s")


def test_a_name_labels_and_converts_nothing(tmp_path):
    systems = [double_pendulum(), double_pendulum()]
    systems[1].units = "cm-kg-s"
    plain, named = (flexmb.simulate(s, 0.02, step=1e-3) for s in systems)
    np.testing.assert_array_equal(plain.q, named.q)
    assert plain.mechanism.units is None
    assert named.mechanism.units == "cm-kg-s"
    assert "(cm/s^2)" in str(named.mechanism)
    assert load_result(save_result(plain, tmp_path / "plain.h5")).mechanism.units is None
    loaded = load_result(save_result(named, tmp_path / "named.h5"))
    assert loaded.mechanism.units == "cm-kg-s"
    assert loaded.to_dataframe().attrs["units"]["hinge force x"] == "kg cm/s^2"
    assert loaded.to_dataframe(units="SI").attrs["units"]["hinge force x"] == "N"
    header = loaded.to_csv(tmp_path / "named.csv", ["coordinate:hinge"]).read_text().splitlines()[0]
    assert header == "t [s],coordinate:hinge [rad]"


MODEL = """
{units}
[simulation]
duration = 0.01
step = 1e-3
[bodies.ball]
kind = "rigid"
mass = 1.0
inertia = [1.0, 1.0, 1.0]
"""


def test_a_model_file_names_its_units(tmp_path):
    path = tmp_path / "ball.toml"
    for line, expected in (('units = "mm-t-s"', "mm-t-s"), ('units = "SI"', "SI"), ("", None)):
        path.write_text(MODEL.format(units=line))
        assert load_model(path).system.build().units == expected
    assert load_model(path, {"units": "um-kg-us"}).system.units == "um-kg-us"
    path.write_text(MODEL.format(units='units = "mm"'))
    with pytest.raises(ModelFileError, match=r"length, mass .* found 'mm'"):
        load_model(path)


PART = """
[bodies.bar]
kind = "flexible"
mesh = "bar.msh"
material = {material}
"""


@pytest.mark.parametrize(
    ("units", "material", "wrong"),
    [
        ("SI", '"steel"', ""),
        ("mm-t-s", '"steel:mm"', ""),
        ("mm-N-s", '{ rim = "aluminium:mm" }', ""),
        ("SI", '"steel:mm"', "steel:mm"),
        ("mm-t-s", '"aluminium"', "aluminium"),
        ("cm-g-s", '{ rim = "steel", hub = { youngs_modulus = 1.0, poissons_ratio = 0.3, density = 1.0 } }', "steel"),
        ("mm-t-s", '{ plies = [{ material = "steel", thickness = 1.0 }] }', "steel"),
        ("furlong-stone-s", '"steel:mm"', ""),
    ],
)
def test_a_material_of_other_units_is_refused(tmp_path, units, material, wrong):
    path = tmp_path / "model.toml"
    path.write_text(MODEL.format(units=f'units = "{units}"') + PART.format(material=material))
    expected = f"bodies.bar.material: '{wrong}' has its constants in" if wrong else r"bar\.msh"
    with pytest.raises(flexmb.FlexmbError, match=expected):
        load_model(path)


BEAM = """
{units}
[simulation]
duration = 0.01

[bodies.bar]
kind = "flexible"
mesh = "bar.vtu"
material = {{ youngs_modulus = {modulus}, poissons_ratio = 0.3, density = {density}, section = {{ circle = 0.02 }} }}
interfaces = {{ root = "nearest/0,0,0" }}
reduction = {{ modes = 1 }}
"""


@pytest.mark.parametrize(
    ("units", "modulus", "density", "told"),
    [
        ('units = "SI"', 2.1e11, 7850.0, None),
        ('units = "SI"', 2.1e11, 7.85, r"density 7.85 .* 'SI'. Steel has the density 7850 and"),
        (
            'units = "mm-t-s"',
            2.1e11,
            7850.0,
            r".* 'mm-t-s'. Steel has the density 7.85e-09 and the shear modulus 8.1e\+04",
        ),
        ('units = "furlong-stone-s"', 2.1e11, 7.85, None),
        ("", 2.1e11, 7.85, None),
    ],
)
def test_constants_of_no_solid_in_the_named_units_are_told(tmp_path, units, modulus, density, told):
    fem.write_mesh(fem.structured_meshes.line((0, 0, 0), (1, 0, 0), 4), tmp_path / "bar.vtu")
    path = tmp_path / "model.toml"
    path.write_text(BEAM.format(units=units, modulus=modulus, density=density))
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always", flexmb.UnitWarning)
        load_model(path)
    texts = [str(warning.message) for warning in issued]
    assert (told is None) == (texts == []), texts
    if told is not None:
        assert re.search(f"Body 'bar': Material 'isotropic': {told}", texts[0]), texts


def test_constants_of_a_deck_that_are_those_of_no_solid_in_the_named_units_are_told(tmp_path):
    """The deck is in millimetres, and the model in metres; the constants alone are those of a solid."""
    (tmp_path / "part.inp").write_text(cantilever("C3D8I").split("*BOUNDARY")[0])
    path = tmp_path / "model.toml"
    keys = 'kind = "flexible"\nmesh = "part.inp"\nmaterial = "file"\nreduction = { method = "modal", modes = 2 }\n'
    told = []
    for units in ("mm-t-s", "SI"):
        path.write_text(f'units = "{units}"\n[simulation]\nduration = 1.0\n[bodies.bar]\n{keys}')
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always", flexmb.UnitWarning)
            load_model(path)
        told.append([str(w.message) for w in issued if issubclass(w.category, flexmb.UnitWarning)])
    assert told[0] == []
    assert re.search("Body 'bar': .* those of no solid in the units of the model, 'SI'", told[1][0])


def test_a_cycle_per_second_is_sixty_per_minute():
    assert shown_units("SI", "cpm", "frequency")["frequency"].factor == pytest.approx(60.0)


def test_a_turn_per_minute_is_a_sixtieth_of_one_per_second():
    for text in ("rpm", "1/min", "min^-1"):
        assert unit_ratio(text, "angular velocity", "SI") == pytest.approx(2 * np.pi / 60)
