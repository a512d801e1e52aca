"""Every reduction method at the same size on three parts: the worst error of the elastic response over a band, and who wins where.

The connecting rod of the demo, a beam of hexahedra that another program wrote (an example mesh of PyVista) and a thin-walled pipe, each driven through its
two interfaces. All bases have the same number of coordinates; the band holds about as many natural frequencies as half of them.

What it shows. With static shapes for all inputs first, Craig-Chang, Krylov and Gramian bases are level: after the static shapes, what is left to learn are the
resonances. Craig-Bampton is behind: its static shapes answer balanced interface loads only, and the response of a free body that an interface accelerates
(inertia relief) has to come from its modes, one by one; Herting's method adds exactly these. Without the demand of static exactness, Gramian and Krylov bases need the fewest
coordinates of all, for they learn the static response as far as it matters.
"""

from functools import cache

import numpy as np
import pyvista.examples

import fem
import reduction
from fem.mesh.structured_meshes import tube
from meshes import path
from reduction.error.response_error import ResponseError
from validation.plot import Plot
from validation.row import Row

CASE = "reduction-methods"
COORDINATES = 24
TOLERANCE = 0.01


def parts() -> dict[str, tuple[fem.Model, float]]:
    """The three parts, each with the end of its band (Hz)."""
    steel = fem.Material.steel()
    rod = fem.Model(fem.read_mesh(path("conrod.msh")), steel).with_interfaces(big="BIG_END", small="SMALL_END")
    ends = {
        name: fem.Interface(fem.on_plane((0, 0, z), (0, 0, 1)), kind=kind)
        for name, z, kind in (("foot", 0, "rigid"), ("head", 5, "average"))
    }
    foreign = fem.Model(fem.read_mesh(pyvista.examples.hexbeamfile), steel).with_interfaces(**ends)
    pipe = fem.Model(tube("hexahedron20", (0.097, 0.1), 0.6, (1, 20, 12)), steel).with_interfaces(
        a=fem.Interface("z0", kind="average"), b="z1"
    )
    return {"connecting rod": (rod, 6000.0), "foreign beam": (foreign, 900.0), "thin pipe": (pipe, 1500.0)}


def bases(model: fem.Model, band: tuple[float, float]) -> dict[str, reduction.Basis]:
    """A basis of COORDINATES of every method."""
    m, p = COORDINATES, 6 * len(model.interfaces)
    return {
        "modal": reduction.modal(model, m),
        "Craig-Bampton": reduction.craig_bampton(model, m - p + 6),
        "Craig-Chang": reduction.craig_chang(model, m - p),
        "Herting": reduction.herting(model, m - p),
        "Krylov, at frequency 0": reduction.krylov(model, m - p),
        "Krylov": reduction.krylov(model, m - p, band=band),
        "Gramian": reduction.gramian(model, m - p, band=band),
        "balanced truncation": reduction.balanced_truncation(model, m - p, band=band),
        "IRKA": reduction.irka(model, m - p, band=band),
        "Krylov, not static": reduction.krylov(model, m, band=band, static=False),
        "Gramian, not static": reduction.gramian(model, m, band=band, static=False),
    }


@cache
def study() -> dict[str, dict[str, ResponseError]]:
    """Part, method, error over the band."""
    found = {}
    for name, (model, high) in parts().items():
        made = bases(model, (0.0, high))
        found[name] = {
            method: reduction.response_error(model, basis, (0.0, high), tolerance=1e-6)
            for method, basis in made.items()
        }
    return found


def run() -> list[Row | Plot]:
    """Krylov and Gramian against Craig-Bampton at equal size, and the smallest basis for a tolerance against direct solves."""
    rows: list[Row | Plot] = []
    for name, errors in study().items():
        best = min(errors["Krylov"].worst, errors["Gramian"].worst)
        ratio = best / errors["Craig-Bampton"].worst
        rows.append(
            Row(
                CASE,
                f"{name}: best of Krylov, Gramian / Craig-Bampton at {COORDINATES} coordinates (below 1)",
                0.0,
                "recomputed",
                ratio,
                ratio,
                1.0,
            )
        )
    for name, (model, high) in parts().items():
        basis = reduction.choose(model, band=(0.0, high), tolerance=TOLERANCE)
        estimate = reduction.response_error(model, basis, (0.0, high))
        f = np.concatenate([estimate.frequencies[np.argsort(estimate.relative)[-3:]], np.linspace(0.1 * high, high, 7)])
        full, reduced = (reduction.frequency_response(model, f, basis=b) for b in (None, basis))
        true = float((np.linalg.norm(full.elastic - reduced.elastic, axis=(1, 2)) / full.magnitude).max())
        what = (
            f"{name}: {basis.method}, {basis.n_modes} coordinates chosen for {TOLERANCE:g}: true error by direct solves"
        )
        rows.append(Row(CASE, what, 0.0, "recomputed", true, true, TOLERANCE))
    plots = []
    for name, errors in study().items():
        chosen = ("Craig-Bampton", "Craig-Chang", "Krylov", "Gramian", "Gramian, not static")
        lines = {method: (errors[method].frequencies, errors[method].relative) for method in chosen}
        plots.append(Plot(f"{name}: error of {COORDINATES} coordinates", "frequency (Hz)", "relative error", lines, logarithmic="y"))  # fmt: skip
    return [*rows, *plots]
