"""The compiled functions that Python calls, with the types of their arguments.

Python imports these functions from here; compiled functions import each other from their own files. Each function is
that of the library which is built with the package, or that of numba (flexmb/kernels/base/library.py). The library has
one version of each function, for the arguments of its text:

    d, i, b         a float, an integer (64 bits), a boolean
    d1, i2, ...     an array of floats with one dimension, of integers with two
    CompiledModel   a record: its fields have the kinds in RECORDS
    Scheme          a record that is passed by value: VALUES
    (d d d)         a tuple

Arrays that are not contiguous, or read-only, are copied; other arguments raise a `TypeError`. Functions that work for
long, on arrays that belong to one integration, are entered with `_long_entry`: other threads of Python run meanwhile.
After a change of this file or of a kernel, `pip install .` builds the library again; until then numba is used.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from flexmb.kernels.base import algebra, exponential
from flexmb.kernels.base.data import CompiledModel, MarkerKinematics, Workspace
from flexmb.kernels.base.library import called, release_lock
from flexmb.kernels.contact import cone, features, forces, laws, shapes
from flexmb.kernels.derivatives import adjoint, rubbing, transposed, variation
from flexmb.kernels.derivatives import elements as derivatives_of_elements
from flexmb.kernels.derivatives import skins as derivatives_of_skins
from flexmb.kernels.equations import (
    contact_groups,
    curves,
    displacement,
    elements,
    friction,
    postprocess,
    rows,
    skins,
    time_functions,
)
from flexmb.kernels.equations import residual as equations
from flexmb.kernels.implicit import bdf, motion, radau, saddle, sparse
from flexmb.kernels.joint_coordinates import articulated, tree
from flexmb.kernels.loads import lines
from flexmb.kernels.steps import conserving, contact_step, solve, step, stored, touching, tracking


class Layout(NamedTuple):
    """The kinds of the fields of a record. Fields without a kind are `d1`."""

    record: Any
    kinds: dict[str, str]

    def kinds_in_order(self) -> Iterator[str]:
        """The kind of each field."""
        return (self.kinds.get(field, "d1") for field in self.record._fields)


RECORDS: dict[str, Layout] = {}
"""The records that are passed by address (flexmb/kernels/base/pointed.py), by name."""
VALUES = {"Scheme": (step.Scheme, "d d d d d d i")}
"""Records of numbers that are passed by value, by name."""
ENTRIES: dict[str, tuple[Any, str]] = {}
"""The functions that numba compiles, and the text of their arguments, by name."""
CONTACTS: tuple[tuple[Any, int, int], ...] = (
    (laws.contact, 0, laws.NUMBERS),
    (laws.contact_of_each_impact, 1, laws.NUMBERS + 1),
    (laws.contact_with_indentation, 1, laws.NUMBERS + 1),
)
"""The laws of contacts, and their numbers of states and parameters."""
LAWS: dict[str, tuple[Any, int, int]] = {
    f"flexmb.mechanism.contacts.element.{law.__name__} {states} {count}": (law, states, count)
    for law, states, count in CONTACTS
}
"""The laws between two frames that mechanisms call by address (flexmb/kernels/base/frame_call.py), and their numbers of
states and parameters, by the names of flexmb/kernels/base/library.py."""
UNLOCKED: set[str] = set()
"""Names of the functions during which the interpreter is not locked."""


def _record(record: Any, **fields: str) -> None:
    """Enter the layout of a record: the names of its fields by kind."""
    kinds = {name: kind for kind, names in fields.items() for name in names.split()}
    if unknown := set(kinds) - set(record._fields):
        raise ValueError(f"{record.__name__} has no fields {', '.join(sorted(unknown))}")
    RECORDS[record.__name__] = Layout(record, kinds)


def _entry(function: Any, text: str) -> Callable[..., Any]:
    """Enter a function; the function to call."""
    ENTRIES[function.__name__] = (function, text)
    return called(function)


def _long_entry(function: Any, text: str) -> Callable[..., Any]:
    """Enter a function during which other threads run; the function to call.

    A short function must not be one: its thread would wait for the interpreter at every return.
    """
    UNLOCKED.add(function.__name__)
    release_lock(function)
    return _entry(function, text)


_record(
    CompiledModel,
    d2="s0 marker_point load_wrench friction_factors contact_shapes contact_friction contact_turning contact_reach "
    "group_law group_shape line_numbers station_point station_tangent skin_shape skin_ball skin_swing other_ball "
    "other_swing node_point node_across node_bend tree_boxes",
    d3="J0 rest_Mrr rest_Mre rest_moments rest_chol marker_axes marker_rows angle_axes station_rows station_slopes "
    "node_rows velocity_matrix facet_excess",
    d4="marker_second node_second",
    i="follows joint_rows velocity_rows incident_size incident_most branch_most contact_state skin_state",
    i1="q_start v_start modes linear_start quadratic_start slices marker_body marker_second_of row_kind "
    "row_function row_law row_store row_angle term_row term_start term_kind term_axis term_angle element_row "
    "element_law element_record element_tangent element_updates element_contact element_state element_parameter "
    "element_last friction_row friction_start angle_driver incident_start incident_term incident_side row_place "
    "envelope_start envelope_first load_marker load_follower load_function row_command load_command control_law "
    "control_record control_sampled control_signal control_command control_state control_parameter signal_sort "
    "signal_kind signal_angle signal_index signal_rate contact_point point_contact contact_feature body_group "
    "group_start group_pair group_record group_marker line_kind line_body line_function line_station skin_body "
    "skin_marker skin_other skin_local skin_node mate_node stencil_start node_skin node_body node_place "
    "compliance_start compliance_size velocity_body turn_state incident_place branch_body branch_parent branch_start "
    "branch_row branch_side branch_element",
    i2="row_markers row_axes term_markers element_command friction_source angle_markers signal_markers signal_axes "
    "contact_markers skin_facet skin_tree facet_nodes",
    b1="marker_moves marker_used",
)
_record(MarkerKinematics, d2="body_point position", d3="tangent axes attitude rows")
_record(
    Workspace,
    d2="wrenches seen sliding_x sliding_change sliding_slopes answer settling control_answer control_settling "
    "command_slopes command_force command_x command_change group_motion group_wrench group_listed group_pairs Lrr six "
    "sixes link_outer link_inner link_own point_at touch_force touch_rate near near_S skin_bare skin_bent skin_at "
    "skin_seen skin_before skin_force skin_normal skin_place skin_soft lane_bias lane_scratch body_energies",
    d3="Mrr Mre G tangents inverse_tangents signal_G chol chol0 skin_axes skin_X skin_change skin_turn lane_Lrr "
    "lane_six lane_sixes",
    d4="touch_G skin_G",
    i1="touch_count touch_point touch_turns point_feature skin_near skin_known skin_list skin_marked skin_found "
    "stencil_count stencil_node pool unsound Z_start product_start",
    i2="shared",
)
_record(tree.Tree, d2="pivot", i1="order parent child start axis_start axes carrier", b1="pivoted")
_record(
    articulated.Articulated,
    d2="point own S arm twist drift force acceleration U",
    d3="place back attitude",
    d4="inertia",
    i1="parent",
)
_record(
    conserving.ConservingState,
    d2="flown moment end_moment row vectors there_Mrr there_Mre corrections nodes weights P P_slow back poses "
    "end_poses",
    d3="Mrr Lrr Mre G begin_G end_G",
)
_record(step.IntegratorState, d2="pose next_pose powers past")
_record(
    saddle.Saddle,
    d2="metric by_speed by_place by_state force",
    i1="start rows touched",
)
_record(sparse.Factors, i1="order place L_start U_start L_rows U_rows")
_record(
    radau.RadauState,
    d2="flown theta stages moving powers next_theta next_stages next_moving next_powers following following_pair",
    d3="functions",
    i1="piece",
)
_record(
    bdf.BDFState,
    d2="places speeds reactions past theta slow flown powers following",
    d3="functions",
    i1="piece",
)
_record(adjoint.Track, d2="q w wdot a multipliers angles states state_rates")
_record(adjoint.Costates)
_record(adjoint.BackwardPass, d2="pivot")
_record(
    derivatives_of_skins.SkinPass, d2="slip nu next_nu to_force to_place to_arm", d3="to_axes", i1="mode listed row"
)
_record(
    transposed.Scratch,
    d2="dJ Mre Mrr Lrr dJ_moved Lrr_moved six pulled settling row_G control_settling",
    d3="G slopes control_slopes",
)
_record(variation.Variation, d2="pivot a multipliers")

# rotations
_NINE = "(d d d d d d d d d)"
tangents = _entry(algebra.tangents, "(d d d)")
rotation_from_quaternion = _entry(algebra.rotation_from_quaternion, "(d d d d)")
quaternion_exp = _entry(algebra.quaternion_exp, "(d d d)")
rotation_exp = _entry(algebra.rotation_exp, "(d d d)")
rotation_log = _entry(algebra.rotation_log, _NINE)
exponential_rates = _entry(exponential.exponential_rates, "i1 d1 d1 d1")
displace = _entry(displacement.displace, "CompiledModel d1 d1 d1")
displacement_between = _entry(displacement.displacement_between, "CompiledModel d1 d1 d1")

# markers and rows
place_markers = _entry(rows.place_markers, "CompiledModel d1 MarkerKinematics")
all_rows = _entry(rows.all_rows, "CompiledModel d1 d2 d1 MarkerKinematics d1 d3")
row_rates = _entry(rows.row_rates, "CompiledModel d3 d1 d1")
add_turns = _entry(rows.add_turns, "CompiledModel d1 d d1")
as_driven = _entry(rows.as_driven, "CompiledModel d2 d1")
angles_at = _entry(rows.angles_at, "CompiledModel MarkerKinematics d1")
angles_reached = _entry(rows.angles_reached, "CompiledModel d2 MarkerKinematics d1 d1")
answer_over = _entry(elements.answer_over, "CompiledModel i d1 d1 d1 d2")
friction_bounds = _entry(friction.friction_bounds, "CompiledModel d1 d1")
friction_change = _entry(friction.friction_change, "CompiledModel i d1 d1")
friction_efforts = _entry(friction.friction_efforts, "CompiledModel i d1 d1 d1")
line_force = _entry(lines.line_force, "CompiledModel i d1 d1 d2 MarkerKinematics d1")

# equations of motion
residual = _entry(equations.residual, "CompiledModel d1 d1 d1 d1 d2 d1 MarkerKinematics Workspace d1 d1")
balance_rows = _entry(equations.balance_rows, "CompiledModel d1 d1 d1 d2 d1 MarkerKinematics Workspace d1 d1")
powers_of = _entry(equations.powers_of, "CompiledModel d2 d1 d1 Workspace d1")
solve_joints = _entry(solve.solve_joints, "CompiledModel Workspace d1 d1 d1 d1 d1")

# loops that threads share (flexmb/kernels/base/sharing.py)
_PART = "i i i"
place_used = _entry(rows.place_used, f"CompiledModel d1 MarkerKinematics {_PART}")
rows_of = _entry(rows.rows_of, f"CompiledModel d2 d1 MarkerKinematics Workspace {_PART}")
forces_of = _entry(rows.forces_of, f"CompiledModel Workspace d1 {_PART}")
balance_bodies = _entry(equations.balance_bodies, f"CompiledModel d1 d1 d1 MarkerKinematics Workspace d1 {_PART}")
respond_bodies = _entry(solve.respond_bodies, f"CompiledModel Workspace d1 d1 d1 {_PART}")
respond_again = _entry(solve.respond_again, f"CompiledModel Workspace d1 d1 {_PART}")
move_bodies = _entry(solve.move_bodies, f"CompiledModel Workspace d1 {_PART}")

# trees
place_bodies = _entry(tree.place_bodies, "CompiledModel Tree d2 d1 d1 d1 d1 d1 d2 d1 d1 d1")
joint_velocities = _entry(tree.joint_velocities, "CompiledModel Tree MarkerKinematics d1 d1 d1")
joint_poses = _entry(tree.joint_poses, "CompiledModel Tree MarkerKinematics d1 d2")
tree_accelerations = _entry(articulated.tree_accelerations, "CompiledModel Tree d2 d1 Articulated d1")
moved_joints = _entry(articulated.moved_joints, "Tree d2 d1 d2")
joint_exponential_rates = _entry(articulated.joint_exponential_rates, "Tree d1 d1 d1")

# curves
distance_from_curve = _entry(curves.distance_from_curve, "i d d")

# functions of time
functions_over = _entry(time_functions.functions_over, "d1 d1 d3")

# contacts
solve_cones = _entry(cone.solve_cones, "d2 d1 i1 i1 d1 d1 d1 d i d1")
pair_force = _entry(contact_groups.pair_force, "CompiledModel i i i MarkerKinematics d2 d2 d1")
group_wrenches = _entry(contact_groups.group_wrenches, "CompiledModel d1 MarkerKinematics Workspace")
shape_points = _entry(shapes.shape_points, "i d d d i d d d d1 d2 d2")
point_loads = _entry(forces.point_loads, "d2 d1 d1 d1 d1")
feature_point = _entry(features.feature_point, "i (d d d) i (d d d) (d d d) (d d d d d d d d d) i d1")
all_gaps = _entry(touching.all_gaps, "CompiledModel MarkerKinematics Workspace d1")
rim_limits = _entry(tracking.rim_limits, "CompiledModel MarkerKinematics Workspace d1 d1 d")
drop_left = _entry(tracking.drop_left, "CompiledModel MarkerKinematics Workspace d1")
keep_features = _entry(tracking.keep_features, "CompiledModel Workspace d1")
touch = _entry(touching.touch, "CompiledModel MarkerKinematics Workspace")

# steps
advance = _long_entry(step.advance, "CompiledModel Tree d1 Scheme d i d d3 IntegratorState MarkerKinematics Workspace")
advance_stored = _long_entry(
    stored.advance_stored,
    "CompiledModel Tree d1 Scheme d1 d4 IntegratorState MarkerKinematics Workspace d2 d2 d2 d2 d2 d2 d2 d2",
)
_CONSERVING = "ConservingState MarkerKinematics MarkerKinematics Workspace"
begin_step = _entry(conserving.begin_step, "CompiledModel d d2 ConservingState MarkerKinematics Workspace")
balance_step = _entry(conserving.balance_step, f"CompiledModel d d2 d2 d2 {_CONSERVING}")
accept_step = _entry(conserving.accept_step, "CompiledModel d ConservingState Workspace")
conserve = _long_entry(conserving.conserve, f"CompiledModel d d3 {_CONSERVING}")
advance_touching = _long_entry(
    contact_step.advance_touching,
    "CompiledModel Tree d1 Scheme Scheme d i i d3 IntegratorState MarkerKinematics Workspace",
)

# implicit steps with sparse matrices
_WITH = "MarkerKinematics Workspace"
accelerate = _entry(motion.accelerate, f"CompiledModel d2 d1 d1 d1 d1 {_WITH} d1 d1 d1")
take_along = _entry(radau.take_along, "CompiledModel RadauState")
radau_steps = _long_entry(radau.radau_steps, f"CompiledModel RadauState Saddle Factors Factors b b d d d {_WITH}")
radau_between = _entry(radau.radau_between, f"CompiledModel RadauState Saddle Factors b d d2 {_WITH} d1 d1 d1 d1")
bdf_steps = _long_entry(bdf.bdf_steps, f"CompiledModel BDFState Saddle Factors Factors b b b d d d {_WITH}")
bdf_between = _entry(bdf.bdf_between, f"CompiledModel BDFState Saddle Factors b d d2 {_WITH} d1 d1 d1")
bdf_keep = _entry(bdf.bdf_keep, f"CompiledModel BDFState Saddle Factors b b d d1 d1 d1 d1 d1 d1 {_WITH}")
bdf_rate = _entry(bdf.bdf_rate, "CompiledModel BDFState d1")
bdf_relative = _entry(bdf.bdf_relative, "CompiledModel BDFState")
integral = _entry(bdf.integral, "d d d d2 d1")

# stored motions
marker_paths = _long_entry(postprocess.marker_paths, "CompiledModel i d2 MarkerKinematics d2 d3")
angles_along = _long_entry(postprocess.angles_along, "CompiledModel d2 MarkerKinematics b d2")
marker_velocities = _long_entry(postprocess.marker_velocities, "CompiledModel i d2 d2 MarkerKinematics d2 d2")
momenta_along = _long_entry(postprocess.momenta_along, "CompiledModel i d2 d2 MarkerKinematics d1 d2 d2 d2 d2")
row_wrenches = _long_entry(postprocess.row_wrenches, "CompiledModel i1 d2 d3 d2 MarkerKinematics d2")
largest_violations = _long_entry(postprocess.largest_violations, "CompiledModel d2 d3 d2 b2 MarkerKinematics d1 i1")

place_skins = _entry(skins.place_skins, "CompiledModel d1 MarkerKinematics Workspace b")
skin_rows = _entry(skins.skin_rows, "CompiledModel d1 MarkerKinematics Workspace i i")
skins_along = _long_entry(skins.skins_along, "CompiledModel d2 d2 d2 MarkerKinematics Workspace d2 d3 d4 d3 d2 d3 d2")

# derivatives
keep = _entry(adjoint.keep, "IntegratorState Track i")
advance_recorded = _long_entry(
    adjoint.advance_recorded,
    "CompiledModel Tree d1 Scheme d d3 IntegratorState MarkerKinematics Workspace Track i",
)
backward_pass = _long_entry(
    adjoint.backward_pass,
    "CompiledModel Tree Scheme d d3 Track i1 d2 d2 d2 d2 d2 MarkerKinematics Workspace Scratch MarkerKinematics "
    "BackwardPass Costates SkinPass d2",
)
element_forces = _entry(
    derivatives_of_elements.element_forces, "CompiledModel Track d d3 MarkerKinematics Workspace d2 d2 d2"
)
friction_forces = _entry(rubbing.friction_forces, "CompiledModel Track d3 MarkerKinematics Workspace d2")
power_of_skins = _long_entry(
    derivatives_of_skins.power_of_skins, "CompiledModel Track d2 d2 MarkerKinematics Workspace"
)
rigid_slopes = _entry(adjoint.rigid_slopes, "CompiledModel i Track d2 d1")
difference_of_work = _long_entry(
    adjoint.difference_of_work,
    "CompiledModel CompiledModel b i1 d3 d3 Track d2 d2 MarkerKinematics MarkerKinematics Workspace d1",
)
_FIVE = "({0} {0} {0} {0} {0})".format
vary = _long_entry(
    variation.vary,
    f"{_FIVE('CompiledModel')} CompiledModel Tree d b d Scheme d {_FIVE('d3')} d2 d2 d2 Track i i Variation "
    f"{_FIVE('MarkerKinematics')} Workspace Workspace Scratch",
)
