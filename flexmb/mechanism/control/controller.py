"""`Controller`: a law with its inputs and the targets of its commands, as a part of a mechanism."""

from dataclasses import dataclass

from flexmb.mechanism.control.law import ControlCall

MEASURED = -1
"""Sort of signals that only sampled controllers read: measures of the motion at a sample."""


@dataclass(frozen=True)
class Signal:
    """An input of a controller: `source` says what it is, the other fields how compiled code evaluates it.

    - `sort`: one of the sorts of flexmb/kernels/equations/controllers.py, or `MEASURED`.
    - `kind`, `markers`, `axes`, `given`: those of the row that measures a coordinate or its rate; `given` is also the
      value of a constant.
    - `body`, `index`: the body and number of an elastic coordinate; `index` is also that of a function of time, or of a
      command.
    """

    source: str
    sort: int
    kind: int = 0
    markers: tuple[int, int] = (-1, -1)
    axes: tuple[int, int] = (0, 0)
    given: float = 0.0
    body: int = -1
    index: int = -1


@dataclass(frozen=True, eq=False)
class Controller:
    """A controller: the `call` of its law, values of its `parameters` (np,), initial states `begin` (nz,), its signals
    in the order of the inputs of the law, and the `targets` of its commands (empty for one that only other controllers
    read). `sample_time` is None for a continuous controller."""

    name: str
    call: ControlCall
    parameters: tuple[float, ...]
    begin: tuple[float, ...]
    signals: tuple[Signal, ...]
    targets: tuple[str, ...]
    sample_time: float | None = None

    @property
    def initial(self) -> tuple[float, ...]:
        """The initial states; those of a sampled controller include its commands, which it holds."""
        return self.begin if self.sample_time is None else (*self.begin, *([0.0] * len(self.call.law.commands)))

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the entries of `initial`."""
        law = self.call.law
        return law.states if self.sample_time is None else (*law.states, *law.commands)
