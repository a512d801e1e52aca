"""Craig-Bampton of a tet10 part with 103,000 dofs, 2 rigid interfaces and 20 fixed-interface modes.

Ours: `reduction.craig_bampton`. Peer: a plain script over the same matrices with pypardiso (upper triangle, mtype 2) and
ARPACK's shift-invert mode, and once more with pypardiso as shipped (mtype 11). Assembly is in neither: the matrices are
made once and read by every process. The frequencies of the reduced free bodies must agree.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.process import in_own_process, measured
from benchmarks.row import Row

SIZE, DIVISIONS = (1.0, 0.3, 0.1), (50, 15, 5)
MODES = 20
GOAL = 1.2
AGREEMENT = 1e-7
"""Largest relative difference between the frequencies of both."""


def run() -> list[Row]:
    """Measure ours and both peers."""
    with tempfile.TemporaryDirectory() as folder:
        write_matrices(Path(folder))
        results = {who: in_own_process(__name__, who, folder) for who in ("ours", "peer", "peer-as-shipped")}
    ours = results.pop("ours")
    rows = []
    for who, peer in results.items():
        difference = np.abs(np.divide(ours["frequencies"], peer["frequencies"]) - 1).max()
        if not difference < AGREEMENT:
            raise RuntimeError(f"reduction-100k: the frequencies of ours and {who} differ by {difference:.1e}.")
        label = "PARDISO + ARPACK" if who == "peer" else "pypardiso as shipped + ARPACK"
        for quantity, unit in (("cpu", "CPU s, 1 thread"), ("memory", "GiB peak")):
            name = f"reduction-100k {quantity} / {label}"
            rows.append(Row(name, ours[quantity], peer[quantity], GOAL, unit, "python -m benchmarks reduction-100k"))
    return rows


def write_matrices(folder: Path) -> None:
    """K, M, points and the two interfaces of a steel block, as files."""
    from fem import Material, Model, mesh_shapes

    mesh = mesh_shapes.block("tetra10", SIZE, DIVISIONS)
    model = Model(mesh, Material.steel())
    sp.save_npz(folder / "K.npz", model.K, compressed=False)
    sp.save_npz(folder / "M.npz", model.M, compressed=False)
    np.savez(folder / "mesh.npz", points=model.points, a=mesh.nodes("x0"), b=mesh.nodes("x1"))


def ours(K: sp.csr_matrix, M: sp.csr_matrix, points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Frequencies of our Craig-Bampton basis."""
    from fem import Model
    from reduction import craig_bampton

    model = Model.from_matrices(M, K, points).with_interfaces(a=a, b=b)
    return np.sqrt(craig_bampton(model, modes=MODES).eigenvalues) / (2 * np.pi)


def peer(
    mtype: int, K: sp.csr_matrix, M: sp.csr_matrix, points: np.ndarray, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Frequencies of a Craig-Bampton basis by pypardiso and eigsh, as a straightforward script would have it."""
    from pypardiso import PyPardisoSolver
    from scipy.linalg import eigh
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = K.shape[0]
    dofs = [(3 * nodes[:, None] + np.arange(3)).ravel() for nodes in (a, b)]
    interior = np.setdiff1d(np.arange(n), np.concatenate(dofs))
    Kii, Mii = K[interior][:, interior].tocsr(), M[interior][:, interior].tocsr()
    stored = sp.triu(Kii, format="csr") if mtype == 2 else Kii
    solver = PyPardisoSolver(mtype=mtype)
    solver.factorize(stored)
    basis = np.zeros((n, 12 + MODES))
    for k, (nodes, own) in enumerate(zip((a, b), dofs, strict=True)):
        arm = points[nodes] - points[nodes].mean(axis=0)
        for axis in range(3):
            unit = np.eye(3)[axis]
            basis[own, 6 * k + axis] = np.tile(unit, len(nodes))
            basis[own, 6 * k + 3 + axis] = np.cross(unit, arm).ravel()
    basis[interior, :12] = solver.solve(stored, np.asfortranarray(-(K @ basis[:, :12])[interior]))
    operator = LinearOperator(Kii.shape, matvec=lambda f: solver.solve(stored, f).ravel(), dtype=float)
    basis[interior, 12:] = eigsh(Kii, MODES, Mii, sigma=0, OPinv=operator)[1]
    return np.sqrt(eigh(basis.T @ (K @ basis), basis.T @ (M @ basis), eigvals_only=True)[6:]) / (2 * np.pi)


def main() -> None:
    """In a process of its own: `python -m benchmarks.reduction_100k WHO FOLDER` prints one JSON object."""
    who, folder = sys.argv[1], Path(sys.argv[2])
    K, M = sp.load_npz(folder / "K.npz"), sp.load_npz(folder / "M.npz")
    data = (K, M, *np.load(folder / "mesh.npz").values())
    work: Callable[..., np.ndarray] = ours if who == "ours" else partial(peer, 2 if who == "peer" else 11)
    frequencies, cost = measured(partial(work, *data))
    print(json.dumps({"frequencies": frequencies.tolist(), **cost}))


if __name__ == "__main__":
    main()
