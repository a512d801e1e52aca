"""Craig-Bampton of a tet10 part, 2 rigid interfaces and 30 fixed-interface modes: 103,000 and 294,000 dofs.

Ours: `reduction.craig_bampton`. Peers, over the same matrices: a plain script with pypardiso and ARPACK's shift-invert mode, pypardiso as shipped
(a general matrix, mtype 11) and told that the matrix is positive definite (mtype 2, its upper triangle); at 103,000 dofs exudyn's own route as well (extra `peers`).
Assembly is in none: the matrices are made once and read by every process. The frequencies of the reduced free bodies must agree.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks import exudyn_peer
from benchmarks.parts import steel_block
from benchmarks.process import in_own_process, measured
from benchmarks.row import Row

MODES = 30
PEERS = {
    "as-shipped": ("pypardiso as shipped + ARPACK", 0.4, 1.0),
    "symmetric": ("pypardiso, mtype 2, + ARPACK", 1.0, 1.2),
    "exudyn": ("exudyn", 1 / 15, 1.0),
}
"""Label, and the goals for CPU time and memory."""
AGREEMENT = 1e-9
"""Largest relative difference between the squared frequencies of both."""


def at_100k() -> list[Row]:
    """Ours and all peers at 103,000 dofs."""
    return compare("100k", ["as-shipped", "symmetric", "exudyn"])


def at_300k() -> list[Row]:
    """Ours and pypardiso at 294,000 dofs."""
    return compare("300k", ["as-shipped", "symmetric"])


def compare(size: str, peers: list[str]) -> list[Row]:
    """Measure ours and the peers, each in a process of its own."""
    if "exudyn" in peers and exudyn_peer.left_out(f"reduction-{size}"):
        peers = [peer for peer in peers if peer != "exudyn"]
    with tempfile.TemporaryDirectory() as folder:
        write_matrices(size, Path(folder))
        results = {who: in_own_process(__name__, who, folder) for who in ("ours", *peers)}
    ours, rows = results.pop("ours"), []
    for who, peer in results.items():
        difference = np.abs(np.divide(ours["eigenvalues"], peer["eigenvalues"]) - 1).max()
        if not difference < AGREEMENT:
            raise RuntimeError(
                f"reduction-{size}: the squared frequencies of ours and {who} differ by {difference:.1e}."
            )
        label, *goals = PEERS[who]
        for (quantity, unit), goal in zip((("cpu", "CPU s, 1 thread"), ("memory", "GiB peak")), goals, strict=True):
            name, command = f"reduction-{size} {quantity} / {label}", f"python -m benchmarks reduction-{size}"
            rows.append(Row(name, ours[quantity], peer[quantity], goal, unit, command))
    return rows


def write_matrices(size: str, folder: Path) -> None:
    """K, M, points and the two interfaces of a steel block, as files."""
    model = steel_block(size)
    mesh = model.mesh
    sp.save_npz(folder / "K.npz", model.K, compressed=False)
    sp.save_npz(folder / "M.npz", model.M, compressed=False)
    np.savez(folder / "mesh.npz", points=model.points, a=mesh.nodes("x0"), b=mesh.nodes("x1"))


def ours(K: sp.csr_matrix, M: sp.csr_matrix, points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared frequencies of our Craig-Bampton basis."""
    from fem import Model
    from reduction import craig_bampton

    model = Model.from_matrices(M, K, points).with_interfaces(a=a, b=b)
    return craig_bampton(model, modes=MODES).eigenvalues


def peer(
    mtype: int, K: sp.csr_matrix, M: sp.csr_matrix, points: np.ndarray, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """The same by pypardiso and eigsh, as a straightforward script would have it."""
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
    return np.asarray(eigh(basis.T @ (K @ basis), basis.T @ (M @ basis), eigvals_only=True)[6:])


def exudyn(K: sp.csr_matrix, M: sp.csr_matrix, points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same by exudyn; its basis has no motion of the first interface, so the free body's rigid motions are added."""
    from scipy.linalg import eigh

    part = exudyn_peer.interface_of(points, K, M)
    exudyn_peer.craig_bampton(part, [a, b], MODES)
    turns = [np.cross(axis, points - points.mean(axis=0)).ravel() for axis in np.eye(3)]
    rigid = np.column_stack([*(np.tile(axis, len(points)) for axis in np.eye(3)), *turns])
    basis = np.hstack([part.modeBasis["matrix"], rigid])
    return np.asarray(eigh(basis.T @ (K @ basis), basis.T @ (M @ basis), eigvals_only=True)[6:])


def main() -> None:
    """In a process of its own: `python -m benchmarks.reduction_peers WHO FOLDER` prints one JSON object."""
    who, folder = sys.argv[1], Path(sys.argv[2])
    K, M = sp.load_npz(folder / "K.npz"), sp.load_npz(folder / "M.npz")
    data = (K, M, *np.load(folder / "mesh.npz").values())
    work: dict[str, Callable[..., np.ndarray]] = {
        "ours": ours, "as-shipped": partial(peer, 11), "symmetric": partial(peer, 2), "exudyn": exudyn
    }  # fmt: skip
    eigenvalues, cost = measured(partial(work[who], *data))
    print(json.dumps({"eigenvalues": eigenvalues.tolist(), **cost}))


if __name__ == "__main__":
    main()
