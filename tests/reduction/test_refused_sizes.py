"""Numbers of reductions that cannot be are refused by each part of their checks alone, and accepted at the bounds."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refused_beside

import fem
import reduction
from fem.errors import InterfaceError, MatrixError
from fem.mesh.structured_meshes import block
from reduction.build import FINEST, size_spec
from reduction.error.inputs import resolve_inputs
from reduction.error.reference_frame import require_interface
from reduction.residual import ResidualCompliance
from reduction.solutions.vibration import require_band

STEEL = fem.Material.steel()
PART = fem.Model(block("hexahedron", (2, 1, 1), (2, 1, 1)), STEEL, "part").with_interfaces(
    a=fem.Interface("x0"), b=fem.Interface("x1")
)
BASIS = reduction.craig_bampton(PART, 3)
HIGH = BASIS.eigenvalues
BAND = (0, 1.0)
N = PART.ndof


def basis(**changed):
    return replace(BASIS, **changed)


def moved(row):
    """The maps of the basis, with another shape of one of them."""
    return {**BASIS.interface_modes, "a": row}


def sized(modes=None, band=None, tolerance=None, least=1):
    return size_spec(modes, band, tolerance, least=least)


def compliance(matrix, nodes=(0, 1)):
    return ResidualCompliance(np.array(nodes), np.array(matrix), 0.0)


def response(**given):
    return reduction.frequency_response(PART, **given)


PSI = "Craig-Bampton basis: Psi of shape "
NAN = "Craig-Bampton basis: holds NaN or infinite values."
ORDER = "Craig-Bampton basis: eigenvalues must be positive and ascending, found "
ROWS = "Craig-Bampton basis: rows of interface 'a' have shape "
TOLERANCE = "A tolerance is a relative error between 1e-08 (round-off of the full model) and 1; found "
COUNT = "The number of modes must be an integer of at least 1; found "
LIST = "Model 'part': inputs are a list of names of interfaces (['a', 'b']) and of loads; found "
LOAD = f"Model 'part': an input load must hold {N} finite numbers, not all zero; its shape is "
LOSS = "The loss factor of a response must be finite and not negative; found "
FREQUENCIES = "Frequencies must be finite and not negative; found "
GIVE = "Give frequencies=..., or band=(0, f) for a grid that resolves every resonance; one of them."
COMPARE = f"The basis has {len(HIGH)} modes to compare; asked for "
SHIFTS = "Shifts are frequencies, finite and not negative; found "
MOMENTS = "A whole number of moments is matched at each shift; found moments="
BOTH = "Give shifts and moments, or let modes or tolerance place them; not both."
FRAME = "Model 'part': There is no interface named "
RESIDUAL = "The residual compliance of 2 nodes consists of (6, 6) finite numbers; found shape "
PLACES = "A band is (0, highest frequency), in cycles per unit of time; found "
ENDING = ": a basis is saved as .npz; found the ending "
REFUSED = {
    "shapes in a row": (PSI, lambda: basis(Psi=BASIS.Psi[:, 0].copy()), basis),
    "an eigenvalue too few": (PSI, lambda: basis(eigenvalues=HIGH[1:].copy()), lambda: basis(eigenvalues=HIGH.copy())),
    "no shapes": (
        PSI + f"({N}, 0) does not go with 0 eigenvalues.",
        lambda: reduction.Basis(np.zeros((N, 0)), np.zeros(0), "Craig-Bampton", None, {}, {}),
        lambda: reduction.Basis(np.zeros((N, 1)), np.ones(1), "Craig-Bampton", None, {}, {}),
    ),
    "a shape without value": (NAN, lambda: basis(Psi=BASIS.Psi * np.nan), lambda: basis(Psi=BASIS.Psi * 2.0)),
    "an eigenvalue without end": (
        NAN,
        lambda: basis(eigenvalues=np.r_[HIGH[:-1], np.inf]),
        lambda: basis(eigenvalues=np.r_[HIGH[:-1], 1e300]),
    ),
    "an eigenvalue of zero": (
        ORDER,
        lambda: basis(eigenvalues=np.r_[0.0, HIGH[1:]]),
        lambda: basis(eigenvalues=np.r_[5e-324, HIGH[1:]]),
    ),
    "eigenvalues that descend": (
        ORDER,
        lambda: basis(eigenvalues=HIGH[::-1].copy()),
        lambda: basis(eigenvalues=np.full(len(HIGH), HIGH[0])),
    ),
    "a map of five rows": (
        ROWS + f"(5, {len(HIGH)})",
        lambda: basis(interface_modes=moved(np.zeros((5, len(HIGH))))),
        lambda: basis(interface_modes=moved(np.zeros((6, len(HIGH))))),
    ),
    "a map of one column": (
        ROWS + "(6, 1)",
        lambda: basis(interface_modes=moved(np.zeros((6, 1)))),
        lambda: basis(interface_modes={}, reference_frame=None),
    ),
    "a frame of no interface": (
        "Craig-Bampton basis: There is no interface named 'c'.",
        lambda: basis(reference_frame="c"),
        lambda: (basis(reference_frame="a"), basis(reference_frame=None)),
    ),
    "another ending": (ENDING + "'.txt'.", lambda: BASIS.save("basis.txt"), lambda: BASIS.save("basis.NPZ")),
    "a tolerance of one": (TOLERANCE + "1.", lambda: sized(band=BAND, tolerance=1), lambda: sized(band=BAND, tolerance=0.999)),
    "a tolerance below round-off": (TOLERANCE, lambda: sized(band=BAND, tolerance=0.99 * FINEST), lambda: sized(band=BAND, tolerance=FINEST)),
    "a tolerance of a word": (TOLERANCE + "x.", lambda: sized(band=BAND, tolerance="x"), lambda: sized(band=BAND, tolerance=np.float32(0.1))),
    "a tolerance over nothing": ("tolerance=0.1 needs a band=(0, f) to hold over.", lambda: sized(tolerance=0.1), lambda: sized(band=BAND)),
    "modes and a tolerance": ("Give modes=3 or tolerance=0.1, not both.", lambda: sized(3, BAND, 0.1), lambda: sized(3, BAND)),
    "no modes": (COUNT + "0.", lambda: sized(0), lambda: (sized(1), sized(0, least=0))),
    "half a mode": (COUNT + "1.5.", lambda: sized(1.5), lambda: sized(np.int64(1))),
    "a flag of modes": (COUNT + "True.", lambda: sized(True), lambda: sized(1)),
    "a word of modes": (COUNT + "'1'.", lambda: sized("1"), lambda: sized(None)),
    "a band that begins later": (PLACES + "(1, 2).", lambda: require_band((1, 2)), lambda: require_band((0, 2))),
    "a band of no width": (PLACES + "(0, 0).", lambda: require_band((0, 0)), lambda: require_band((0, 1e-300))),
    "a band without end": (PLACES + "(0, inf).", lambda: require_band((0, np.inf)), lambda: require_band([0.0, 1e99])),
    "a band of three": (PLACES + "(0, 1, 2).", lambda: require_band((0, 1, 2)), lambda: require_band(np.array([0, 1]))),
    "a band of words": (PLACES + "(0, 'x').", lambda: require_band((0, "x")), lambda: require_band((0, np.int64(1)))),
    "a band of a number": (PLACES + "3.", lambda: require_band(3), lambda: require_band((0, 3))),
    "inputs of a number": (LIST + "3.", lambda: resolve_inputs(PART, 3), lambda: resolve_inputs(PART, None)),
    "inputs of a text": (LIST + "'a'.", lambda: resolve_inputs(PART, "a"), lambda: resolve_inputs(PART, ["a"])),
    "no inputs": (
        "Model 'part': an empty list of inputs; name interfaces (['a', 'b']) or give loads.",
        lambda: resolve_inputs(PART, []),
        lambda: resolve_inputs(PART, ("a", "b")),
    ),
    "a load of a number": (LOAD + "().", lambda: resolve_inputs(PART, [3]), lambda: resolve_inputs(PART, [np.ones(N)])),
    "a load of another length": (LOAD + f"({N + 1},).", lambda: resolve_inputs(PART, [np.ones(N + 1)]), lambda: resolve_inputs(PART, [np.ones((N, 2))])),
    "a load of nothing": (LOAD + f"({N},).", lambda: resolve_inputs(PART, [np.zeros(N)]), lambda: resolve_inputs(PART, [np.eye(N)[0]])),
    "a second load of nothing": (LOAD, lambda: resolve_inputs(PART, [np.eye(N)[:, :2] * [1, 0]]), lambda: resolve_inputs(PART, [np.eye(N)[:, :2]])),
    "a load in boxes": (LOAD + f"({N}, 2, 1).", lambda: resolve_inputs(PART, [np.ones((N, 2, 1))]), lambda: resolve_inputs(PART, ["gravity"])),
    "a load without value": (LOAD, lambda: resolve_inputs(PART, [np.eye(N)[0] * np.nan]), lambda: resolve_inputs(PART, [-np.eye(N)[0]])),
    "loads in rows of two lengths": (LOAD + "(0,).", lambda: resolve_inputs(PART, [[[1], [1, 2]]]), lambda: resolve_inputs(PART, ["rotation"])),
    "frequencies and a band": (GIVE, lambda: response(frequencies=[1.0], band=BAND), lambda: response(frequencies=[1.0])),
    "neither frequencies nor a band": (GIVE, lambda: response(), lambda: response(band=BAND)),
    "a response of words": (FREQUENCIES + "'x'.", lambda: response(frequencies="x"), lambda: response(frequencies=[0.0])),
    "a response at one number": (FREQUENCIES + "3.0.", lambda: response(frequencies=3.0), lambda: response(frequencies=(3,))),
    "a response with a negative loss": (LOSS + "-1.", lambda: response(frequencies=[1.0], loss_factor=-1), lambda: response(frequencies=[1.0], loss_factor=0)),
    "a response with a loss of a word": (LOSS + "x.", lambda: response(frequencies=[1.0], loss_factor="x"), lambda: response(frequencies=[1.0], loss_factor=2.0)),
    "a response with a loss without end": (LOSS + "inf.", lambda: response(frequencies=[1.0], loss_factor=np.inf), lambda: response(frequencies=[1.0], loss_factor=10.0)),
    "no modes to compare": (COMPARE + "0.", lambda: reduction.compare_modes(PART, BASIS, 0), lambda: reduction.compare_modes(PART, BASIS, 1)),
    "modes to compare of a word": (COMPARE + "x.", lambda: reduction.compare_modes(PART, BASIS, "x"), lambda: reduction.compare_modes(PART, BASIS, np.int64(2))),
    "half a mode to compare": (COMPARE + "1.5.", lambda: reduction.compare_modes(PART, BASIS, 1.5), lambda: reduction.compare_modes(PART, BASIS)),
    "a mode too many to compare": (
        COMPARE + f"{len(HIGH) + 1}.",
        lambda: reduction.compare_modes(PART, BASIS, len(HIGH) + 1),
        lambda: reduction.compare_modes(PART, BASIS, len(HIGH)),
    ),
    "no shift": (SHIFTS + "[].", lambda: reduction.krylov(PART, shifts=[]), lambda: reduction.krylov(PART, shifts=[0])),
    "a shift of a word": (SHIFTS + "[].", lambda: reduction.krylov(PART, shifts="x"), lambda: reduction.krylov(PART, shifts=(1.0,))),
    "shifts without list": (SHIFTS + "3.0.", lambda: reduction.krylov(PART, shifts=3.0), lambda: reduction.krylov(PART, shifts=[3.0])),
    "a negative shift": (SHIFTS + "[1.0, -1.0].", lambda: reduction.krylov(PART, shifts=[1, -1]), lambda: reduction.krylov(PART, shifts=[1, 0])),
    "a shift without end": (SHIFTS + "[inf].", lambda: reduction.krylov(PART, shifts=[np.inf]), lambda: reduction.krylov(PART, shifts=np.ones(1))),
    "half a moment": (MOMENTS + "1.5.", lambda: reduction.krylov(PART, shifts=[0], moments=1.5), lambda: reduction.krylov(PART, shifts=[0], moments=1)),
    "no moment": (
        "At least one moment is matched at each shift; found moments=0.",
        lambda: reduction.krylov(PART, shifts=[0], moments=0, static=False),
        lambda: (reduction.krylov(PART, shifts=[0], moments=0), reduction.krylov(PART, shifts=[0], moments=1, static=False)),
    ),
    "moments below zero": (
        "At least one moment is matched at each shift; found moments=-1.",
        lambda: reduction.krylov(PART, shifts=[0], moments=-1),
        lambda: reduction.krylov(PART, shifts=[0], moments=0),
    ),
    "shifts and modes": (BOTH, lambda: reduction.krylov(PART, 3, shifts=[0]), lambda: reduction.krylov(PART, 3)),
    "shifts and a tolerance": (
        BOTH,
        lambda: reduction.krylov(PART, band=BAND, tolerance=0.1, shifts=[0]),
        lambda: reduction.krylov(PART, band=BAND, tolerance=0.1),
    ),
    "a frame of a number": (FRAME + "3.", lambda: require_interface(PART, 3), lambda: require_interface(PART, None)),
    "a frame of a list": (FRAME + "['a'].", lambda: require_interface(PART, ["a"]), lambda: require_interface(PART, "a")),
    "a frame of another part": (FRAME + "'c'.", lambda: require_interface(PART, "c"), lambda: require_interface(PART, "b")),
    "a compliance of five rows": (RESIDUAL + "(5, 6).", lambda: compliance(np.ones((5, 6))), lambda: compliance(np.ones((6, 6)))),
    "a compliance of five columns": (RESIDUAL + "(6, 5).", lambda: compliance(np.ones((6, 5))), lambda: compliance(np.zeros((6, 6)))),
    "a compliance without value": (RESIDUAL + "(6, 6).", lambda: compliance(np.full((6, 6), np.nan)), lambda: compliance(-np.ones((6, 6)))),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "right"), REFUSED.values(), ids=REFUSED)
def test_numbers_of_reductions_are_refused_beside_accepted_ones(words, wrong, right, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused_beside((MatrixError, InterfaceError), words, wrong, right, monkeypatch)
