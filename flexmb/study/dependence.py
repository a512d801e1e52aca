"""What of a mechanism depends on a parameter, and the virtual work of that alone along a recorded motion."""

from types import FunctionType
from typing import Any

import numpy as np

from flexmb.integrators.recorded import Recording
from flexmb.kernels.adjoint import Track, difference_of_work, rigid_slopes
from flexmb.kernels.data import Flat, make_places, make_terms
from flexmb.kernels.pointed import fields_of, pointed
from flexmb.mechanism import Mechanism
from flexmb.motion import Motion
from flexmb.study.model import require_alike

BODY = ("mass", "s0", "J0", "rest_Mrr", "rest_Mre")
ROW = ("row_stiffness", "row_damping", "row_offset")
ROUNDING = 1e-13
MARKER = ("marker_point", "marker_axes", "marker_rows")


class Work:
    """`sum y . residual + mu . g` over the steps of a recorded motion for mechanisms that differ from its own in some numbers."""

    def __init__(self, recording: Recording, y: np.ndarray, mu: np.ndarray, by_gravity: np.ndarray) -> None:
        self._recording, self._y, self._mu, self._by_gravity = recording, y, mu, by_gravity
        self._by_inertia: dict[int, np.ndarray] = {}
        self._mechanism, self._flat = recording.result.mechanism, recording.result.mechanism.flat()
        self._times = recording.result.t[0] + recording.h * np.arange(1, len(y) + 1)
        rates = np.concatenate(
            [np.arange(s + 6, s + 6 + m) for s, m in zip(self._flat.v_start, self._flat.modes, strict=False)]
        ).astype(int)
        places = np.concatenate(
            [np.arange(s + 7, s + 7 + m) for s, m in zip(self._flat.q_start, self._flat.modes, strict=False)]
        ).astype(int)
        track, n = recording.track, len(y)
        self._by_stiffness = np.einsum("ti,ti->i", y[:, rates], track.q[1 : n + 1, places])
        self._by_damping = np.einsum("ti,ti->i", y[:, rates], track.w[1 : n + 1, rates])

    def slope(self, low: Mechanism, high: Mechanism) -> float:
        """What the work of `high` has more than that of `low`."""
        a, b, base = low.flat(), high.flat(), self._flat
        for mechanism in (low, high):
            require_alike(mechanism, self._mechanism)
        change = self._by_stiffness @ (b.stiffness - a.stiffness) + self._by_damping @ (b.damping - a.damping)
        change += self._by_gravity @ (b.gravity - a.gravity)
        functions = [
            k for k, pair in enumerate(zip(low.functions, high.functions, strict=True)) if not _same_motion(*pair)
        ]
        bodies = self._bodies(a, b)
        rigid, bodies = bodies[a.modes[bodies] == 0], bodies[a.modes[bodies] > 0]
        for k in rigid:
            own = [np.concatenate([[flat.mass[k]], flat.s0[k], flat.J0[k].ravel()]) for flat in (a, b)]
            change += self._slopes(int(k)) @ (own[1] - own[0])
        rows, loads = self._rows(low, high, functions), self._loads(a, b, functions)
        if not (len(bodies) or len(rows) or len(loads)):
            return float(change)
        tables = []
        for mechanism in (low, high):
            table = self._recording.functions[: len(self._y)]
            if functions:
                table = table.copy()
                for k in functions:
                    table[:, k] = mechanism.functions[k].over(self._times)
            tables.append(table)
        change += self._difference(a, b, bodies, rows, loads, tables)
        still = np.concatenate([_elastic(base, b) for b in bodies]).astype(int) if len(bodies) else np.zeros(0, int)
        change -= self._by_stiffness[still] @ (b.stiffness - a.stiffness)[still]  # these bodies bring their own
        change -= self._by_damping[still] @ (b.damping - a.damping)[still]
        return float(change)

    def _slopes(self, body: int) -> np.ndarray:
        """Derivatives (13,) by the mass, first moment and inertia of a rigid body."""
        if body not in self._by_inertia:
            self._by_inertia[body] = np.zeros(13)
            rigid_slopes(self._flat, body, self._recording.track, self._y, self._by_inertia[body])
        return self._by_inertia[body]

    def _bodies(self, a: Flat, b: Flat) -> np.ndarray:
        """Bodies whose inertia differs."""
        differ = _differ(a, b, BODY)
        for k, m in enumerate(a.modes):
            for name, count in (("linear", 12 * m), ("quadratic", int(a.slices[k]) * m * m)):
                start = getattr(a, f"{name}_start")[k]
                differ[k] |= not np.array_equal(getattr(a, name)[start:][:count], getattr(b, name)[start:][:count])
        return np.flatnonzero(differ)

    def _markers(self, a: Flat, b: Flat) -> np.ndarray:
        differ = _differ(a, b, MARKER)
        if not np.array_equal(a.marker_second, b.marker_second):
            differ |= a.marker_second_of >= 0
        return differ

    def _rows(self, low: Mechanism, high: Mechanism, functions: list[int]) -> np.ndarray:
        a, b = low.flat(), high.flat()
        differ = _differ(a, b, ROW) | self._markers(a, b)[a.row_markers].any(axis=1)
        differ |= np.isin(a.row_function, functions)
        for r, row in enumerate(low.rows):
            if row.law >= 0 and not _same(low.laws[row.law].function, high.laws[row.law].function):
                differ[r] = True
        return np.flatnonzero(differ)

    def _loads(self, a: Flat, b: Flat, functions: list[int]) -> np.ndarray:
        differ = _differ(a, b, ("load_wrench",)) | self._markers(a, b)[a.load_marker]
        return np.flatnonzero(differ | np.isin(a.load_function, functions))

    def _difference(
        self, a: Flat, b: Flat, bodies: np.ndarray, rows: np.ndarray, loads: np.ndarray, tables: list[np.ndarray]
    ) -> float:
        """Of some bodies, rows and loads of two mechanisms, each with its functions of time (n, nf, 3)."""
        joint = rows[rows < a.joint_rows]
        low, high = (_part(flat, rows, loads, len(joint)) for flat in (a, b))
        track = self._recording.track
        of_rows = pointed(Track(
            q=track.q, w=track.w, wdot=track.wdot, a=track.a, multipliers=np.ascontiguousarray(track.multipliers[:, joint]),
            angles=np.ascontiguousarray(track.angles[:, rows]),
        ))  # fmt: skip
        mu, out = np.ascontiguousarray(self._mu[:, joint]), np.zeros(len(a.weight))
        acting = len(rows) + len(loads)
        change: float = difference_of_work(
            low,
            high,
            acting,
            bodies,
            tables[0],
            tables[1],
            of_rows,
            self._y,
            mu,
            make_places(low),
            make_terms(low),
            out,
        )
        return change


def _part(flat: Flat, rows: np.ndarray, loads: np.ndarray, joint_rows: int) -> Any:
    """A mechanism's arrays with some of its rows and loads only."""
    values = fields_of(flat)
    for name in ("row_kind", "row_markers", "row_axes", "row_function", "row_stiffness", "row_damping", "row_law", "row_offset"):  # fmt: skip
        values[name] = np.ascontiguousarray(values[name][rows])
    for name in ("load_marker", "load_follows", "load_wrench", "load_function"):
        values[name] = np.ascontiguousarray(values[name][loads])
    used = np.zeros(len(flat.marker_body), dtype=bool)
    used[values["row_markers"].ravel()] = used[values["load_marker"]] = True
    values["marker_used"], values["joint_rows"] = used, joint_rows
    return pointed(Flat(**values))


def _differ(a: Flat, b: Flat, names: tuple[str, ...]) -> np.ndarray:
    """Which entries of any of the arrays differ, by more than rounding."""
    differ = np.zeros(len(getattr(a, names[0])), dtype=bool)
    for name in names:
        x, y = getattr(a, name), getattr(b, name)
        differ |= (np.abs(x - y) > ROUNDING * np.abs(x).max(initial=0.0)).any(axis=tuple(range(1, x.ndim)))
    return differ


def _elastic(flat: Flat, body: int) -> np.ndarray:
    first = flat.v_start[body] - 6 * body
    return np.arange(first, first + flat.modes[body])


def _same_motion(a: Motion, b: Motion) -> bool:
    return a is b or all(_same(getattr(a, part), getattr(b, part)) for part in ("value", "rate", "acceleration"))


def _same(a: Any, b: Any) -> bool:
    """Whether two functions, or values they hold, are known to be the same; not, when in doubt."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, int | float | str | np.polynomial.Polynomial):
        return bool(a == b)
    if not (isinstance(a, FunctionType) or hasattr(a, "py_func")):
        return False
    a, b = getattr(a, "py_func", a), getattr(b, "py_func", b)
    if a.__code__ is not b.__code__:
        return False
    held = [[cell.cell_contents for cell in f.__closure__ or ()] + list(f.__defaults__ or ()) for f in (a, b)]
    return all(_same(*pair) for pair in zip(*held, strict=True))
