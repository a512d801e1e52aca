"""Exceptions and warnings of mechanisms, their motion and their files; those of parts and matrices are in `fem.errors`.

Every message names the object, what was expected, what was found, what exists, and what to do.
"""

from fem.errors import ConvergenceError, FlexmbError, FlexmbWarning


class MechanismError(FlexmbError, ValueError):
    """A mechanism cannot be built, or does not have what is requested.

    Raised when bodies, points, force elements and loads are made or added to a `System`, and when something that a
    mechanism does not have is requested.
    """


class UnitError(FlexmbError, ValueError):
    """A system of units has no readable name, or a plot cannot show a quantity in the requested unit.

    Raised when a `System` is made, and when tables and plots are labelled.
    """


class JointError(FlexmbError, ValueError):
    """A joint or driver cannot be made as specified.

    Raised when joints and drivers are added to a `System`.
    """


class MotionError(FlexmbError, ValueError):
    """A function of time is not usable: wrong shape, not finite, or not smooth enough.

    Raised when a function of time is made, or given to a driver, a load or a law, and when such a value occurs in a
    run.
    """


class CurveError(JointError):
    """A curve for points or sliders cannot be made, or a point has left the end of an open one.

    Raised when a curve is made, and in a run when a place on a curve would have to move beyond its end.
    """


class LawError(FlexmbError, RuntimeError):
    """A user's force law failed.

    Raised when a law is compiled, and when it fails or returns anything but a finite number in a run.
    """


class ControllerError(FlexmbError, ValueError):
    """A controller cannot be connected, or an analysis does not include it.

    Raised for inputs, commands and targets that do not exist, for algebraic loops, and by analyses and methods that do
    not include controllers.
    """


class ExpressionError(FlexmbError, ValueError):
    """The text of a force law is not an expression of the allowed form.

    Raised when an expression is made, in Python or from a model file, with the column in its text.
    """


class TableError(FlexmbError, ValueError):
    """The points of a force law are not a function, cannot be read, or do not contain a requested value.

    Raised when a table or a force map is made or read, and when it is evaluated outside its range.
    """


class AssemblyError(FlexmbError, ValueError):
    """The joints contradict each other or the given initial state.

    Raised at the start of a run, and of every analysis that first assembles the mechanism.
    """


class TiltError(ConvergenceError):
    """The ends of a bushing are tilted against each other by nearly half a revolution.

    Raised in the step of a run in which this occurs.
    """


class IntegratorError(FlexmbError, ValueError):
    """An option of an integration method is outside its range.

    Raised when a method is made or chosen, before the first step.
    """


class EventError(FlexmbError, ValueError):
    """An event cannot be detected or carried out.

    Raised when an event is made or given to `simulate`, and in a run for an initial state beyond a stop, a driver that
    moves into a stop, or an endless series of events.
    """


class UnilateralError(FlexmbError, ValueError):
    """No contact impulses or forces satisfy the conditions of unilateral contact.

    Raised in a run, at an impact or a contact whose complementarity problem has no solution.
    """


class HistoryError(FlexmbError, OSError):
    """A history cannot be stored in a file.

    Raised by `simulate(history=...)` when another file exists already, the disk is full, or the folder is not writable.
    """


class StressError(FlexmbError, ValueError):
    """Stresses cannot be computed as requested.

    Raised when a body has no stress modes, or the given point is invalid.
    """


class MeasureError(FlexmbError, ValueError):
    """A measure is invalid.

    Raised when the text of a measure cannot be read, or names something that the mechanism does not have, and for an
    observed quantity that has no size.
    """


class KinematicsError(FlexmbError, ValueError):
    """A mechanism cannot reach the given values of its joints.

    Raised by the functions of `flexmb.analyses.kinematics`, when a value is not a finite number, or no configuration of
    the joints has it.
    """


class InverseError(FlexmbError, ValueError):
    """The input of inverse dynamics is invalid.

    Raised by `inverse_dynamics` and `feedforward`, in files of the same names in `flexmb.analyses`.
    """


class LinearError(FlexmbError, ValueError):
    """The input of a linear analysis is invalid.

    Raised by the functions of `flexmb.linear` for frequencies, inputs, outputs, speeds or periods that do not exist or
    are out of range.
    """


class EquilibriumError(FlexmbError, RuntimeError):
    """A mechanism has no equilibrium near its initial state, or no unique one.

    Raised by `equilibrium` and `steady_motion` of `flexmb.linear`.
    """


class UnsupportedError(EquilibriumError):
    """Bodies slide, tip or roll, since the points of flexible surfaces that touch do not hold them.

    Raised by `flexmb.linear.equilibrium`.
    """


class StudyError(FlexmbError, ValueError):
    """A study cannot be run, stored or evaluated as requested.

    Raised by `parameter_study`, by `Study`, and by gradients, for unknown parameters, studies in which all variants
    fail, and models without derivatives.
    """


class FileError(FlexmbError, OSError):
    """A file cannot be read or written.

    Raised when bodies, results and tables are loaded or saved: damaged files, files of other programs, and files that
    would be lost.
    """


class UnsoundError(FlexmbError, ValueError):
    """The content of a file is not valid; the message states why.

    Raised by the validation of what a file contains. The reader converts it to a `FileError` that names the file.
    """


class ModelFileError(FlexmbError, ValueError):
    """A model file is not valid; the message names the file and the key.

    Raised when a model file (TOML) is read and built.
    """


class ChangeError(FlexmbError, KeyError):
    """A model file does not have a key.

    Raised when a study or a gradient changes a value of a model file.
    """

    def __str__(self) -> str:
        return str(self.args[0])


class PictureError(FlexmbError, RuntimeError):
    """A picture or an animation cannot be made or written.

    Raised by `flexmb.plots` when there is nothing to draw, for an unknown kind of file, and when a file cannot be
    written.
    """


class FrictionWarning(FlexmbWarning):
    """The friction of a joint depends on a reaction that is not unique, because joint equations are redundant, or is
    missing in an impact.

    Raised when a simulation begins, or when it ends if there was an impact; the message names the joints, and the first
    impact.
    """


class RedundantConstraintWarning(FlexmbWarning):
    """Some joint equations depend on others: the motion is unique, some reactions are not.

    Raised when a mechanism is first assembled; the message names the joints.
    """


class MassRatioWarning(FlexmbWarning):
    """Masses differ so much that the integration method omits joint equations.

    Raised in a run with an implicit method; the message names the bodies.
    """


class PeriodicCoefficientsWarning(FlexmbWarning):
    """The equations of small motions about a steady motion change as it turns, as those of blades on a tower.

    Raised by `linearise` of a `steady_motion`, `campbell` and `stability_map`; the message tells the change.
    Eigenvalues of one instant do not decide about such motions.
    """


class AssemblyWarning(FlexmbWarning):
    """The joints were open as modelled, and bodies had to move noticeably to close them; or the driver of a
    displacement starts elsewhere than the places of its joint are drawn.

    Raised when a mechanism is first assembled; the message names the bodies and their displacements, or the joint, the
    value of its driver and the displacement as drawn.
    """


class GimbalLockWarning(FlexmbWarning):
    """Euler or Tait-Bryan angles are not unique, because the first and the third axis are parallel.

    Raised by `Result.attitude` and the measures of attitudes; the message names the frame and the sequence.
    """


class PreloadWarning(FlexmbWarning):
    """A bushing, or a spring along a joint, is drawn with a gap between its places, which preloads it.

    Raised by `System.bushing` and `System.joint_spring` when `free=` does not say where the spring is relaxed; the
    message names the gap and the force.
    """


class UnresolvedWarning(FlexmbWarning):
    """A fixed step is too long to resolve a function of time, or the points of a table to resolve its corners.

    Raised before the first step; the message names the element, and a step that resolves the function. Of a table it is
    raised where the table is made.
    """


class DriverEffortWarning(FlexmbWarning):
    """The effort of a driver errs, because the steps do not follow the acceleration of its motion.

    Raised at the end of a run by generalised-alpha or HHT, which need motions whose jerk is continuous; the message
    names the driver, the motion, the error and what to do.
    """


class StoredMotionWarning(FlexmbWarning):
    """A mechanism of a loaded result is simulated again, and its file has a function of a user at stored times only.

    Raised before the first step; the message names the function, what uses it, and the number of these times.
    """


class TunnellingWarning(FlexmbWarning):
    """A body or a flexible surface moves so far in a step that it may pass through another one unseen.

    Raised at the end of a run, for each contact; the message names both shapes, when they come near each other, and the
    longest safe step.
    """


class ContactPlaceWarning(FlexmbWarning):
    """The shape of a contact lies far outside its body.

    Raised by `System.contact` and `System.contact_group`; the message names the contact, the shape, its place and the
    size of the body.
    """


class TableRangeWarning(FlexmbWarning):
    """A motion left the points of a table or force map that continues outside them.

    Raised at the end of a run, from the stored times; the message names the element, the range reached and the points.
    """


class LawRangeWarning(FlexmbWarning):
    """A state of a force element between frames left the range in which its law holds, such as a pressure at which a
    fluid cavitates.

    Raised at the end of a run, from the stored times; the message names the element, the state, the value reached, the
    limit, and what to do.
    """


class OpenGapWarning(FlexmbWarning):
    """A small gap or overlap remains at an impact of exact contacts, which joints or other contacts keep from closing.

    Raised at the end of a run; the message names the first such contact, its time and the gap, which is at most 1e-6 of
    the smaller shape. A larger one is an error.
    """


class CrowdedStepWarning(FlexmbWarning):
    """A step of exact contacts holds more impacts, or beginnings and ends of sliding, than are located.

    Raised at the end of a run; the message names the first such step and the contact whose change came too late.
    """


class CoarseOutputWarning(FlexmbWarning):
    """The stored times of a motion do not resolve the powers of its elements.

    Raised when the energies of the elements are computed and do not add up to the ledger.
    """


class SmallDeformationWarning(FlexmbWarning):
    """A body left the range in which its reduced model is valid.

    Raised at the end of a run, and by `equilibrium` and `steady_motion`; the message names the body and the rotation or
    strain that it reached.
    """


class TruncatedStressWarning(FlexmbWarning):
    """The stresses of a body lack a part of those of its inertia forces and weight, which its basis does not hold.

    Raised where stresses of a motion are computed; the message names the body, the part that is missing, the place and
    the time, and the `inputs` of a reduction that hold it.
    """


class TruncatedShapeWarning(FlexmbWarning):
    """The shapes of a body lack displacements of a flexible surface in contact by centrifugal forces or weight.

    Raised at the end of a run, from the stored times; the message names the contact, the body, the displacement that is
    missing, and the `inputs` of a reduction that hold it.
    """


class RingingStatesWarning(FlexmbWarning):
    """A state of a force element or controller that is far faster than the steps alternates from step to step.

    Raised at the end of a run of generalised-alpha or HHT. The other methods damp such states.
    """


class RingingReactionsWarning(FlexmbWarning):
    """Reactions alternate from step to step with growing amplitude.

    Raised once, in the step of a run that shows it, by generalised-alpha with `rho_inf = 1` and joints.
    """


class EnergyBalanceWarning(FlexmbWarning):
    """The energy balance of a simulation does not close: its motion is not a solution of the equations of motion.

    Raised at the end of a run, by its verdict.
    """


class NegativeHeatWarning(FlexmbWarning):
    """An element that dissipates energy by what is known of it gives energy: most often its sign is wrong.

    Raised when a table over the rate is made that has the sign of the rate, and at the end of a run for laws that tell
    their stored energy and have given out heat; the message names the table or the element, and the heat.
    """


class JointDriftWarning(FlexmbWarning):
    """A joint opened during a simulation.

    Raised at the end of a run, by its verdict.
    """


class GltfWarning(FlexmbWarning):
    """A glTF file shows less than the motion of its result: shapes were left out, or bodies turn far between frames.

    Raised by `write_gltf`; the message names the body, and the option that mends it.
    """


class FeedforwardWarning(FlexmbWarning):
    """The expansion of a feedforward does not converge: its efforts are no better than those of a lower order.

    Raised by `feedforward`; the message names the sizes of the last two terms.
    """


class SensitivityWarning(FlexmbWarning):
    """Derivatives that are not reliable: the quantity is not smooth, or the motion is not accurate enough.

    Raised by `gradient`, `adjoint_gradient` and `direct_gradient`, by `linearise` and `equilibrium` at a kink or jump
    of force laws or controllers, whose message names these and the slopes on both sides, and where a series or an
    output of a frequency response has a kink or a jump.
    """
