"""Exceptions and warnings of mechanisms, their motion and their files; those of parts and matrices are in `fem.errors`.

Every message names the object, what was expected, what was found, what exists, and what to do.
"""

from fem.errors import ConvergenceError, FlexmbError, FlexmbWarning


class MechanismError(FlexmbError, ValueError):
    """A mechanism cannot be built or asked as requested.

    Raised when bodies, points, force elements and loads are made or added to a `System`, and when something that it does not have is asked of a mechanism.
    """


class JointError(FlexmbError, ValueError):
    """A joint or driver cannot be made as asked.

    Raised when joints and drivers are added to a `System`.
    """


class MotionError(FlexmbError, ValueError):
    """A function of time is not usable: wrong shape, not finite, or not smooth enough.

    Raised when a function of time is made or given to a driver, a load or a law, and by a run that meets such a value.
    """


class LawError(FlexmbError, RuntimeError):
    """A user's force law failed.

    Raised when a law is compiled, and by a run in which it fails or returns what is no finite number.
    """


class AssemblyError(FlexmbError, ValueError):
    """The joints contradict each other or the given start.

    Raised at the start of a run and of every analysis that closes the mechanism first.
    """


class TiltError(ConvergenceError):
    """The ends of a bushing are tilted by nearly half a turn against each other.

    Raised by a run in the step in which it happens.
    """


class IntegratorError(FlexmbError, ValueError):
    """An integrator option is outside its range.

    Raised when an integrator is made or chosen, before the first step.
    """


class EventError(FlexmbError, ValueError):
    """An event cannot be watched or carried out.

    Raised when an event is made or given to `simulate`, and by a run: a start beyond a stop, a driver that leads into one, events without end.
    """


class UnilateralError(FlexmbError, ValueError):
    """No pushes of contacts meet the conditions.

    Raised by a run, at an impact or a contact whose complementarity problem has no solution.
    """


class HistoryError(FlexmbError, OSError):
    """A history cannot be kept in a file.

    Raised by `simulate(history=...)` when another file is there already, or the place is full or closed.
    """


class StressError(FlexmbError, ValueError):
    """Stresses cannot be recovered as asked.

    Raised when a body carries no stress modes, or the point that is asked for is none.
    """


class MeasureError(FlexmbError, ValueError):
    """A measure is not written as it should be.

    Raised when the text of a measure ("force in hinge") cannot be read, or names something that the mechanism does not have.
    """


class KinematicsError(FlexmbError, ValueError):
    """A mechanism cannot be brought where it is asked to be.

    Raised by the functions of `flexmb.analyses.kinematics`, when a value is no number or no position of the joints has it.
    """


class InverseError(FlexmbError, ValueError):
    """Efforts for a motion cannot be asked for as given.

    Raised by `inverse_dynamics` of `flexmb.analyses.inverse_dynamics`.
    """


class LinearError(FlexmbError, ValueError):
    """Small motions cannot be asked for as given.

    Raised by the functions of `flexmb.linear`: frequencies, inputs, outputs, speeds or periods that are not there or make no sense.
    """


class EquilibriumError(FlexmbError, RuntimeError):
    """A mechanism has no equilibrium near its start, or no isolated one.

    Raised by `equilibrium` and `steady_motion` of `flexmb.linear`.
    """


class StudyError(FlexmbError, ValueError):
    """A study cannot be run, kept or told as asked.

    Raised by `parameter_study`, by `Study`, and by gradients: parameters that are not there, variants that all fail, models that have no derivative.
    """


class FileError(FlexmbError, OSError):
    """A file cannot be read or written.

    Raised when bodies, results and tables are loaded or saved: damaged files, files of other programs, files that would be lost.
    """


class UnsoundError(FlexmbError, ValueError):
    """What a file holds cannot be; the message says what.

    Raised by the checks of what a file holds and answered by the reader with a `FileError` that names the file.
    """


class ModelFileError(FlexmbError, ValueError):
    """A model file is not as it must be; the message names file and key.

    Raised when a model file (TOML) is read and built.
    """


class ChangeError(FlexmbError, KeyError):
    """A model file has no such key.

    Raised when a study or a gradient changes a value of a model file.
    """

    def __str__(self) -> str:
        return str(self.args[0])


class PictureError(FlexmbError, RuntimeError):
    """A picture or an animation cannot be made or written.

    Raised by `flexmb.plots`: nothing to draw, a kind of file that is not written, a path that cannot be written to.
    """


class RedundantConstraintWarning(FlexmbWarning):
    """Some joint equations repeat others: the motion is unique, some reactions are not.

    Raised where a mechanism is first assembled; the message names the joints.
    """


class MassRatioWarning(FlexmbWarning):
    """Masses are so far apart that an integrator leaves out joint equations.

    Raised by a run with an implicit method; the message names the bodies.
    """


class AssemblyWarning(FlexmbWarning):
    """The joints were open as drawn, and bodies had to move noticeably to close them.

    Raised where a mechanism is first assembled; the message names the bodies and how far they moved.
    """


class UnresolvedWarning(FlexmbWarning):
    """A fixed step is too long to see what a function of time does.

    Raised before the first step; the message names the element and the step that sees it.
    """


class SmallDeformationWarning(FlexmbWarning):
    """A body left the range in which its reduced description holds.

    Raised at the end of a run; the message names the body and the rotation or strain that it reached.
    """


class RingingReactionsWarning(FlexmbWarning):
    """Reactions alternate from step to step, more and more.

    Raised by a run of generalised-alpha with `rho_inf = 1` and joints, once, at the step that shows it.
    """


class EnergyBalanceWarning(FlexmbWarning):
    """The energy balance of a simulation does not close: its motion is not a solution of the equations of motion.

    Raised at the end of a run, by its verdict.
    """


class JointDriftWarning(FlexmbWarning):
    """A joint opened during a simulation.

    Raised at the end of a run, by its verdict.
    """


class SensitivityWarning(FlexmbWarning):
    """Derivatives that are not what they seem: of something that is not smooth, or of a motion that is not known well enough.

    Raised by `gradient` and its two exact forms.
    """
