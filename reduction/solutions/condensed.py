"""The full model with its rigid interfaces condensed to six motions each, as sparse matrices for shifted solves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from fem.interface import rigid_interface_map
from fem.linear_algebra.factor import Factor, factor
from reduction.solutions.statics import Statics, inertia_relief_solution

Solve = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Condensed:
    """`u = T y` with T (ndof, n) sparse; `K`, `M` (n, n): `T^T K T`, `T^T M T`."""

    body: Statics
    T: sp.csr_matrix
    K: sp.csr_matrix
    M: sp.csr_matrix

    @contextmanager
    def dynamic(self, stiffness: complex, mass: complex) -> Iterator[Solve]:
        """Within a `with`: the solver of `(stiffness K + mass M) u = F` for elastic displacements of the free body.

        The rigid part of the loads is removed and u is in mean axes. Complex coefficients make a complex-symmetric
        system. `mass = 0` uses the factor of `body`; any other value requires a factorisation, which is released at the
        end.
        """
        body = self.body
        if mass == 0:
            yield lambda F: inertia_relief_solution(body, F) / stiffness
            return
        A = stiffness * self.K + mass * self.M
        kind = "complex-symmetric" if np.iscomplexobj(A) else "symmetric"
        with factor(A, kind, solver=body.model.solver) as inverse:
            yield partial(self.elastic_displacement, inverse)

    def elastic_displacement(self, inverse: Factor, F: np.ndarray) -> np.ndarray:
        """Displacements in mean axes under the elastic part of loads F, by the factor of a matrix of the condensed
        body."""
        body = self.body
        U = self.T @ inverse.solve(self.T.T @ (F - body.MR @ (body.R.T @ F)))
        return np.asarray(U - body.R @ (body.MR.T @ U))


def condense(body: Statics) -> Condensed:
    """Matrices of the body in the motions of its rigid interfaces and the displacements of all other nodes."""
    model = body.model
    T = rigid_interface_map(model, model.interfaces.values())
    return Condensed(body, T, (T.T @ model.K @ T).tocsr(), (T.T @ model.M @ T).tocsr())
