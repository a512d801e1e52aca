"""One factorisation and 30 solutions of a clamped tet10 block, 79,000 dofs, by every library: with and without MKL.

Positive definite K, indefinite K - s M between two natural frequencies, and complex K (1 + 0.02i) - s M, each by each library in a process of its own. The matrices
are made once and read from files; solutions must agree.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.parts import steel_block
from benchmarks.process import in_own_process, measured
from benchmarks.row import Row

SHIFT = (2 * np.pi * 700.0) ** 2
"""rad^2/s^2; above the third natural frequency of the block."""
SIDES = 30
GOALS = {"mumps": (3.0, 3.0), "superlu": (np.inf, np.inf)}
"""Largest ratios of CPU time and memory to PARDISO's."""
AGREEMENT = 1e-6
"""Largest relative difference of the solutions."""


def run() -> list[Row]:
    """Every library against PARDISO, for three kinds of matrices (SuperLU: one)."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_matrices(Path(folder))
        for kind in ("positive-definite", "symmetric", "complex-symmetric"):
            peer = in_own_process(__name__, "pardiso", kind, folder)
            for who in ("mumps", "superlu") if kind == "positive-definite" else ("mumps",):
                ours = in_own_process(__name__, who, kind, folder)
                difference = np.linalg.norm(np.subtract(ours["x"], peer["x"])) / np.linalg.norm(peer["x"])
                if not difference < AGREEMENT:
                    raise RuntimeError(f"factorisation, {kind}: {who} and PARDISO differ by {difference:.1e}.")
                for quantity, unit, goal in zip(("cpu", "memory"), ("CPU s", "GiB peak"), GOALS[who], strict=True):
                    name = f"factorisation, {kind}, {quantity}: {ours['library']} / PARDISO"
                    rows.append(
                        Row(name, ours[quantity], peer[quantity], goal, unit, "python -m benchmarks factorisation")
                    )
    return rows


def write_matrices(folder: Path) -> None:
    """K and M of the block without the motions of its clamped end."""
    model = steel_block("80k")
    clamped = (3 * model.mesh.nodes("x0")[:, None] + np.arange(3)).ravel()
    free = np.setdiff1d(np.arange(model.ndof), clamped)
    for name in "KM":
        sp.save_npz(folder / f"{name}.npz", getattr(model, name)[free][:, free].tocsr(), compressed=False)


def main() -> None:
    """In a process of its own: `python -m benchmarks.factorisation BACKEND KIND FOLDER` prints one JSON object."""
    from fem.linear_algebra.factor import factor

    backend, kind, folder = sys.argv[1:]
    A = sp.load_npz(Path(folder) / "K.npz")
    if kind != "positive-definite":
        A = A * (1.0 if kind == "symmetric" else 1 + 0.02j) - SHIFT * sp.load_npz(Path(folder) / "M.npz")
    B = np.random.default_rng(0).standard_normal((A.shape[0], SIDES))
    factor(sp.identity(1000), backend=backend)  # the library is loaded

    def work() -> tuple[np.ndarray, str]:
        inverse = factor(A, kind, backend)
        return inverse.solve(B), inverse.record.library

    (X, library), cost = measured(work)
    picked = X[:: len(X) // 500, 0]
    print(json.dumps({"x": [*picked.real, *picked.imag], "library": library, **cost}))


if __name__ == "__main__":
    main()
