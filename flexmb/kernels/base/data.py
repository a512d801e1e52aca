"""The arrays of a compiled mechanism and the work arrays of the kernels."""

from typing import NamedTuple

import numpy as np

from flexmb.kernels.base.pointed import pointed
from flexmb.kernels.base.sharing import LENGTH, LOOPS, THREADS

GROUND = -1
NO_MATE, RIGID_MESH = -1, -2  # in the place of the body that a flexible surface faces: a simple shape, a rigid mesh
FIRST_ORDER, SECOND_ORDER = 9, 21  # slices of the quadratic inertia invariants
NEAR = 256  # room for the contact points of one pair of shapes

# kinds of scalar rows (relative coordinate `delta` of two markers); see flexmb/kernels/equations/rows.py
TRANSLATION, DOT, DISTANCE, ANGLE, TILT, SPIN = 0, 1, 3, 4, 6, 7  # 2 and 5 occur in older result files
HEIGHT, SLIP, SKATE = 8, 9, 10  # rows of rolling bodies
CURVE, ALONG = 11, 12  # distance from a curve, and direction across it
INACTIVE, COUPLED = -1.0, -2.0  # in the place of the compliance of a row: it is inactive; it belongs to a frame force
VELOCITY_KINDS = (SLIP, SKATE)  # joint equations that hold for velocities only
FORCES = (TRANSLATION, DISTANCE, HEIGHT, SLIP, SKATE, CURVE)  # kinds of joint equations whose multipliers are forces


class CompiledModel(NamedTuple):
    """Bodies, markers, rows and loads of a mechanism as arrays, in one record for all kernels.

    The coordinates of body `b` are `q[q_start[b]:q_start[b+1]]` = position (3), quaternion (4), eta (m), and its
    velocities `w[v_start[b]:v_start[b+1]]` = v (3), omega (3), etadot (m). Rows `0..joint_rows-1` are joint equations,
    the others are force elements. The body `GROUND` of a marker is the fixed world.
    """

    gravity: np.ndarray  # (3,)
    q_start: np.ndarray  # (nb+1,)
    v_start: np.ndarray  # (nb+1,)
    modes: np.ndarray  # (nb,)
    mass: np.ndarray  # (nb,)
    s0: np.ndarray  # (nb, 3)
    J0: np.ndarray  # (nb, 3, 3)
    rest_Mrr: np.ndarray  # (nb, 6, 6) mass matrix of the rigid velocities of the undeformed body
    rest_Mre: np.ndarray  # (nb, 6, mmax) coupling of rigid velocities and elastic rates of the undeformed body
    rest_moments: np.ndarray  # (nb, 3, 3) inverse of the second moments of the undeformed body about its mass centre
    rest_chol: np.ndarray  # (nb, 6, 6) Cholesky factor of rest_Mrr with inverted diagonal
    linear_start: np.ndarray  # (nb,) start in `linear` of 12 rows of m: S1 xyz, J1 xx yy zz xy yz zx, h0 xyz
    linear: np.ndarray
    # (nb,) start in `quadratic` of (m, slices, m): columns of the slices J2 (6), antisymmetric h (3), SG (3), PG (9)
    quadratic_start: np.ndarray
    quadratic: np.ndarray
    slices: np.ndarray  # (nb,) number of slices: FIRST_ORDER, or SECOND_ORDER with a second-order field
    stiffness: np.ndarray  # concatenated over bodies
    damping: np.ndarray
    weight: (
        np.ndarray
    )  # (nv,) error weight of each entry of w: displacement over the length of the mechanism, or angle, per unit
    scales: np.ndarray  # (2,) characteristic length and rate; see flexmb.mechanism.scales
    marker_body: np.ndarray  # (nm,)
    marker_point: np.ndarray  # (nm, 3)
    marker_axes: np.ndarray  # (nm, 3, 3)
    marker_moves: np.ndarray  # (nm,) whether the marker moves relative to its body frame when the body deforms
    marker_used: np.ndarray  # (nm,) whether a row or a load acts at the marker
    marker_rows: np.ndarray  # (nm, 6, mmax)
    marker_second_of: np.ndarray  # (nm,) index into marker_second, -1 for none
    marker_second: np.ndarray  # (n2, 6, mmax, mmax)
    row_kind: np.ndarray  # (nr,)
    row_markers: np.ndarray  # (nr, 2)
    row_axes: np.ndarray  # (nr, 2)
    row_function: np.ndarray  # (nr,) index of the function of time, -1 for none
    row_stiffness: np.ndarray  # (nr,)
    row_damping: np.ndarray  # (nr,)
    row_law: np.ndarray  # (nr,) address of the record of a force law, or of the curve of a joint equation, 0 for none
    row_store: np.ndarray  # (nr,) that of the energy that a force law stores, 0 if it does not tell it
    row_offset: np.ndarray  # (nr,) free length or angle; of a joint equation, the value at which it holds
    row_angle: np.ndarray  # (nr,) index of the angle that the row measures, -1 for none
    term_row: np.ndarray  # (nt,) row of each term; the first nr terms are the rows' own coordinates
    term_markers: np.ndarray  # (nt, 2)
    term_start: np.ndarray  # (nr+1,) start of the further terms of each row, number nr + x for entry x below
    term_kind: np.ndarray  # (nt-nr,)
    term_axis: np.ndarray  # (nt-nr,)
    term_factor: np.ndarray  # (nt-nr,)
    term_angle: np.ndarray  # (nt-nr,) index of the angle, -1 for none
    element_row: np.ndarray  # (ne,) first of the six rows of each frame force; see kernels/equations/elements.py
    element_law: np.ndarray  # (ne,) address of the law
    element_record: np.ndarray  # (ne,) address of the record of failures of each element
    element_tangent: np.ndarray  # (ne,) address of the tangent that a law gives, 0 for one by differences
    element_updates: np.ndarray  # (ne,) 1: the law returns new states, 0: rates of states
    element_contact: np.ndarray  # (ne,) 1: a contact without memory, whose parameters are those of contacts
    element_state: np.ndarray  # (ne+1,) start of the states of each element
    element_parameter: np.ndarray  # (ne+1,) start in `element_parameters`
    element_parameters: np.ndarray
    element_command: np.ndarray  # (ne, 2) first of the commands that are its inputs, and their number
    element_last: np.ndarray  # (ne,) last position in the order of elimination that an element shares an entry with
    friction_start: (
        np.ndarray
    )  # (nf+1,) first free motion of each joint with dry friction; kernels/equations/friction.py
    friction_source: np.ndarray  # (nf, 5) joint equations of its forces x, y, z and moments y, x, -1 for none
    friction_factors: np.ndarray  # (nf, 5) bound per radial and axial force, reciprocal span, constant bound, round
    friction_speed: np.ndarray  # (nf,) sliding velocity that regularises its friction, 0 if it is exact
    friction_row: np.ndarray  # (nc,) row of each free motion
    friction_arm: np.ndarray  # (nc,) sliding velocity for a rate of one
    friction_direction: np.ndarray  # (nf,) of exact friction, the sign of the sliding rate, 0 if it does not slide
    row_command: np.ndarray  # (nr,) command of a controller that is added to the effort of a row, -1 for none
    load_command: np.ndarray  # (nl,) command that is the factor of a load, -1 for none
    control_law: np.ndarray  # (nc,) address of the law of each controller; see kernels/equations/controllers.py
    control_record: np.ndarray  # (nc,) address of the record of failures
    control_sampled: np.ndarray  # (nc,) 1: the commands are held between samples, 0: continuous
    control_signal: np.ndarray  # (nc+1,) start of the signals of each controller
    control_command: np.ndarray  # (nc+1,) start of its commands
    command_scale: np.ndarray  # (nu,) magnitude of a command, for differences; of an input that is passed on its own
    control_state: np.ndarray  # (nc+1,) start of its states, after those of frame forces
    control_parameter: np.ndarray  # (nc+1,) start in `control_parameters`
    control_parameters: np.ndarray
    follows: int  # 1 if there are continuous controllers
    signal_sort: np.ndarray  # (ni,)
    signal_kind: np.ndarray  # (ni,) kind of the row that measures the coordinate
    signal_markers: np.ndarray  # (ni, 2)
    signal_axes: np.ndarray  # (ni, 2)
    signal_given: np.ndarray  # (ni,) value that is subtracted; value of a constant
    signal_angle: np.ndarray  # (ni,) index of the angle, -1 for none
    signal_index: np.ndarray  # (ni,) entry of q or w, function of time or command, -1 for none
    signal_rate: np.ndarray  # (ni,) entry of w of an elastic coordinate, -1 for none
    signal_scale: np.ndarray  # (ni,) magnitude of the signal for displacements of the size of the mechanism
    group_start: np.ndarray  # (ng+1,) start of the shapes of each contact group (kernels/equations/contact_groups.py)
    group_pair: np.ndarray  # (ng+1,) start of the pairs of each group, with the room for them
    group_record: np.ndarray  # (ng,) address of the record of failures
    group_law: np.ndarray  # (ng, 19) parameters of the law and of friction; see kernels/contact/forces.py
    group_marker: np.ndarray  # (ns,) marker of each shape of a group
    group_shape: np.ndarray  # (ns, 4) its code and dimensions
    group_reach: np.ndarray  # (ns,) radius of the sphere about the marker that holds the shape
    group_size: np.ndarray  # (ns,) depth beyond which contact has no meaning
    angle_markers: np.ndarray  # (na, 2) markers between which the angle about their z axes is measured
    angle_driver: np.ndarray  # (na,) joint equation that prescribes the angle, -1 for none
    angle_axes: np.ndarray  # (na, 2, 3) the z axes in the undeformed bodies
    joint_rows: int
    velocity_rows: int  # number of joint equations that hold for velocities only
    incident_start: np.ndarray  # (nb+1,) start of the terms of rows that act on each body
    incident_term: np.ndarray
    incident_side: np.ndarray
    incident_place: np.ndarray  # position in the order of elimination of the row of each of these terms
    incident_size: int  # sum over bodies of (6 + m) (terms + 1)
    incident_most: int  # largest number of terms on a body
    row_place: np.ndarray  # (nr,) position of each row in the order of elimination
    envelope_start: np.ndarray  # (nr+1,) start of the row of each position p: columns envelope_first[p] to p
    envelope_first: np.ndarray  # (nr,)
    branch_body: np.ndarray  # (nb,) bodies from the tips of branches inwards; empty unless all are rigid, without loops
    branch_parent: np.ndarray  # (nb,) next body towards the ground, GROUND for none; see joint_coordinates/branches.py
    branch_start: np.ndarray  # (nb+1,) start of the rows between both
    branch_row: np.ndarray
    branch_side: np.ndarray  # side of the outer body in each of these rows
    branch_element: np.ndarray  # frame force whose six rows begin with this one, -1 for none
    branch_most: int  # largest number of rows between two bodies
    load_marker: np.ndarray  # (nl,)
    load_follower: np.ndarray  # (nl,) 1: directions fixed in the marker, 0: in the world
    load_wrench: np.ndarray  # (nl, 6) force and moment for a factor of one
    load_function: np.ndarray  # (nl,) -1: constant factor of one
    velocity_body: np.ndarray  # (ku,) bodies with a velocity matrix; see kernels/loads/velocities.py
    velocity_matrix: np.ndarray  # (ku, 6 + mmax, 6 + mmax)
    line_kind: np.ndarray  # (nk,) loads along lines of bodies; see kernels/loads/lines.py
    line_body: np.ndarray  # (nk,)
    line_function: np.ndarray  # (nk,) -1: constant factor of one
    line_numbers: np.ndarray  # (nk, 6)
    line_station: np.ndarray  # (nk+1,) start of the stations of each line
    station_point: np.ndarray  # (ns, 3)
    station_tangent: np.ndarray  # (ns, 3)
    station_length: np.ndarray  # (ns,)
    station_rows: np.ndarray  # (ns, 3, mmax) elastic displacements of the stations
    station_slopes: np.ndarray  # (ns, 3, mmax) and their slopes along the line
    contact_markers: np.ndarray  # (nk, 2) markers of the shapes of each exact contact; see kernels/steps/touching.py
    contact_shapes: np.ndarray  # (nk, 8) code and dimensions of both shapes
    contact_friction: np.ndarray  # (nk, 2) coefficients of sliding and of sticking points
    contact_turning: np.ndarray  # (nk, 3) coefficients of rolling and of spinning about an arm (length), and this arm
    contact_reach: np.ndarray  # (nk, 2) radius of the ball about each marker that contains its shape, inf for none
    contact_point: np.ndarray  # (nk+1,) first of the points of each contact
    point_contact: np.ndarray  # (np,) contact of each point
    turn_state: np.ndarray  # (np,) first of the states of friction of turning of each point, -1 for none
    contact_state: int  # first of the states of contacts: mode and force (3) of each point
    contact_feature: np.ndarray  # (nk,) first of the states that hold the pairs of features of its points, -1 for none
    skin_body: np.ndarray  # (ns,) body of each surface that touches others; see kernels/equations/skins.py
    skin_marker: np.ndarray  # (ns,) marker of the rigid shape or mesh, or at the frame of the other flexible body
    skin_shape: np.ndarray  # (ns, 4) code and dimensions of the shape
    skin_reach: np.ndarray  # (ns,) radius of the ball about the marker that contains the shape, inf for none
    skin_friction: np.ndarray  # (ns,) coefficient
    skin_ball: np.ndarray  # (ns, 4) centre and radius of the ball that contains the undeformed nodes, in the body frame
    skin_swing: np.ndarray  # (ns, mmax) largest displacement of a node per unit of each elastic coordinate
    skin_bend: np.ndarray  # (ns,) largest displacement of second order per square of the elastic coordinates
    skin_other: np.ndarray  # (ns,) body of the flexible surface that it faces, `RIGID_MESH`, or `NO_MATE`
    other_ball: np.ndarray  # (ns, 4) the same of this surface
    other_swing: np.ndarray  # (ns, mmax)
    other_bend: np.ndarray  # (ns,)
    skin_local: np.ndarray  # (ns,) 1 for a sphere that touches a single point, with Hertz's approach there
    skin_range: np.ndarray  # (ns,) distance beyond which two flexible surfaces do not face each other, the largest of:
    facet_range: np.ndarray  # (nf,) the same of each facet, to both sides
    skin_node: np.ndarray  # (ns+1,) first of the nodes of each surface, which are its points
    mate_node: np.ndarray  # (ns+1,) first of those of the surface or the mesh that it faces, after all points
    skin_facet: np.ndarray  # (ns, 3) first of the facets of both, and end, if they face each other
    skin_tree: np.ndarray  # (ns, 2) first box and levels of the tree over the facets of the other one
    facet_nodes: np.ndarray  # (nf, 4) nodes of each facet; the fourth is the rest of a quadrilateral, -1 for none
    # (nf, 4, 4) forms in the shape functions of a facet: with local contact, the compliance that is due to the mesh; of
    # surfaces that conform, the height of the curved surface above it; else zero
    facet_excess: np.ndarray
    node_hertz: np.ndarray  # (nk,) stiffness of Hertz's contact there
    tree_boxes: np.ndarray  # (nx, 6) low and high corners, undeformed; see flexmb/contact/mesh_data.py
    stencil_start: np.ndarray  # (nn+1,) room for the stencil of each point
    node_across: np.ndarray  # (nn, 3) unit vector across the undeformed normal of each point, in the body frame
    node_bend: np.ndarray  # (nn, 3) what the normal of a point has beyond the mean of its undeformed facets
    node_area: np.ndarray  # (nn,) area that each point stands for
    node_skin: np.ndarray  # (nn,) surface of each point
    node_body: np.ndarray  # (nk,) body of each node, `RIGID_MESH` for the corners of a mesh
    node_place: np.ndarray  # (nk,) its place in the residual compliance of the body
    node_point: np.ndarray  # (nk, 3) in the frame of the body, or in the axes of the mesh
    node_rows: np.ndarray  # (nk, 3, mmax)
    node_second: np.ndarray  # (nk, 3, mmax, mmax), or (0, ...) if no node moves to second order
    compliance_start: np.ndarray  # (nb,) start in `compliance_entries` of the residual compliance of each body
    compliance_size: np.ndarray  # (nb,) its number of rows
    compliance_entries: np.ndarray
    skin_state: int  # first of the states of these surfaces: the force (3) of each point
    body_group: np.ndarray  # (nb,) number of the group of bodies that rows connect; of a body alone, -1 - b


class Workspace(NamedTuple):
    """The terms of the equations of motion at one state, and work arrays of their solution."""

    Mrr: np.ndarray  # (nb, 6, 6)
    Mre: np.ndarray  # (nb, 6, mmax)
    G: np.ndarray  # (nt, 2, 6+mmax)
    values: np.ndarray  # (nr,) values of the rows
    loads: np.ndarray  # (nv,) generalised forces of the applied loads
    efforts: np.ndarray  # (nr,)
    rates: np.ndarray  # (nr,)
    laws: np.ndarray  # (nr,) efforts of force laws
    wrenches: np.ndarray  # (nl, 6) wrenches of the loads, in world axes
    states: np.ndarray  # (nz,) states of the frame forces at the evaluated time
    state_base: np.ndarray  # (nz,) states of the frame forces without the part that depends on the evaluated motion
    state_rates: np.ndarray  # (nz,)
    half: np.ndarray  # (1,) half of the step in which states change; 0 at a given state
    seen: np.ndarray  # (ne+1, 18+most inputs) relative motion of the frames of each element, and its inputs; work space
    answer: np.ndarray  # (4, 7+most states) what a law returns
    given: np.ndarray  # (72,) stiffness and damping that a law gives
    stored: np.ndarray  # (ne,) energy that each frame force stores; NaN if its law does not tell it
    settling: np.ndarray  # (most states+1, most states) Newton matrix of the states of an element, and its residual
    tangents: np.ndarray  # (ne, 6, 6) effective stiffness of the frame forces in the matrix of a step
    inverse_tangents: (
        np.ndarray
    )  # (ne, 6, 6) lower triangles of the inverses of their symmetric parts, if all are positive
    unsymmetric: np.ndarray  # (1,) 1 if the factors of the matrix of the rows are `L` and `U`, 0 if `L` and `L^T`
    U: np.ndarray  # upper factor of the matrix of the rows, with frame forces
    coupled: np.ndarray  # (nr,) 1 for the rows of frame forces, in the order of elimination
    signals: np.ndarray  # (ni,) signals of the controllers
    signal_G: np.ndarray  # (ni, 2, 6+mmax) derivatives of those between markers
    commands: np.ndarray  # (nu,) commands of the controllers
    control_answer: np.ndarray  # (2, most commands and states) what a controller returns
    control_settling: np.ndarray  # (most states+1, most states) Newton matrix of its states, and the residual
    command_kept: np.ndarray  # (nu,) work arrays of Newton corrections; see kernels/steps/commanded.py:
    command_slopes: np.ndarray  # (nu, ni) derivatives of the commands with respect to the signals
    command_force: np.ndarray  # (nu, nv) generalised forces of commands of one
    command_rhs: np.ndarray  # (nv,)
    command_none: np.ndarray  # (nr,) zeros
    command_x: np.ndarray  # (nu, nv) responses to commands of one: displacements
    command_change: np.ndarray  # (nu, nr) and multipliers
    sliding_force: np.ndarray  # (nv,) work array, and
    sliding_none: np.ndarray  # (nr,) zeros, for
    sliding_x: np.ndarray  # (nc, nv) responses to unit efforts in sliding joints: displacements
    sliding_change: np.ndarray  # (nc, nr) and multipliers; see kernels/steps/sliding.py
    sliding_rates: np.ndarray  # (nc,) rates of the free motions of joints with friction
    sliding_direction: np.ndarray  # (nc,) efforts of friction, opposite and relative to their bounds
    sliding_slopes: np.ndarray  # (nc, 3) their derivatives with respect to the rates of the joint
    group_motion: np.ndarray  # (ns, 6) velocity and angular velocity of the shapes of contact groups, in world axes
    group_wrench: np.ndarray  # (ns, 6) force and moment on them
    group_energy: np.ndarray  # (2,) energy that all groups store, and the power that they give
    group_listed: np.ndarray  # (ns, 3) positions for which the pairs are listed
    group_pairs: np.ndarray  # (np, 2) listed pairs
    group_count: np.ndarray  # (ng,) 1 + number of listed pairs, 0 if none are listed yet
    bias: np.ndarray  # (6+mmax,)
    Lrr: np.ndarray  # (6, 6)
    six: np.ndarray  # (2, 6)
    scratch: np.ndarray  # elastic terms of one body
    E: np.ndarray  # (nv,)
    chol: np.ndarray  # (nb, 6, 6)
    chol0: np.ndarray  # (nb, 6, 6)
    Z: np.ndarray  # (incident_size,)
    sixes: np.ndarray  # (max(incident_most+1, 3), 6)
    S: np.ndarray  # matrix of the rows within its envelope
    L: np.ndarray  # factor of S
    scale: np.ndarray  # (nr,)
    previous_multipliers: np.ndarray  # (nr,) multipliers before a correction, in the order of elimination
    t: np.ndarray  # (nr,)
    q: np.ndarray  # state at the end of the current step
    w: np.ndarray
    wdot: np.ndarray
    multipliers: np.ndarray
    unbalanced: np.ndarray  # (nv,)
    x: np.ndarray  # (nv,) Newton correction
    change: np.ndarray  # (nr,) Newton correction of the multipliers
    row_rhs: np.ndarray  # (nr,)
    compliance: np.ndarray  # (nr,)
    energies: np.ndarray  # (5,)
    point_gap: np.ndarray  # (np,) gap at each point of exact contacts, or a lower bound of it; inf for none
    point_feature: np.ndarray  # (np,) pair of features of each point; see kernels/steps/tracking.py
    rim_limit: np.ndarray  # (nk,) sine of the lean of a cylinder on a plane below which it stands
    point_at: np.ndarray  # (np, 3) its position in the axes of the first shape, where it is listed
    touch_count: np.ndarray  # (3,) numbers: of touching points, a point without a solution, points beyond their borders
    touch_point: np.ndarray  # (np,) numbers of the points that touch
    touch_turns: np.ndarray  # (np,) 1 for friction of turning at the touching point before it, 0 for a point
    touch_friction: np.ndarray  # (np,) coefficient of each touching point
    touch_force: np.ndarray  # (np, 3) forces of touching points: along the normal and across it
    touch_rate: np.ndarray  # (np, 3) rates of separation and slip
    touch_G: np.ndarray  # (np, 3, 2, 6+mmax) derivatives of these with respect to the motions of both bodies
    skin_near: np.ndarray  # (ns,) 1 for surfaces that may touch
    skin_turn: np.ndarray  # (ns, 3, 3) attitude of the body in the axes of the flexible body that it faces
    skin_gap: np.ndarray  # (nn,) distance of each point from what it touches
    skin_bare: np.ndarray  # (nk, 3) positions of nodes in the body frame, without the residual displacement
    skin_bent: np.ndarray  # (nk, 3) the residual displacement of the last evaluation, between flexible surfaces
    skin_at: np.ndarray  # (nk, 3) positions in the body frame
    skin_seen: np.ndarray  # (nk, 3) positions in the axes of the shape or of the other body
    skin_before: np.ndarray  # (nk, 3) the same at the beginning of a step
    skin_normal: np.ndarray  # (nn, 3) outer unit normals at points that face a flexible surface, in body axes
    skin_share: np.ndarray  # (nn,) area of each point that faces the other surface
    skin_rise: np.ndarray  # (nn,) part of its gap that is due to the heights of curved surfaces over their facets
    skin_found: np.ndarray  # (most facets,) facets in a box
    skin_place: np.ndarray  # (nn, 3) where the force of each point acts, in the body frame
    skin_axes: np.ndarray  # (nn, 3, 3) the normal and two directions across it, in rows, in body axes
    stencil_count: np.ndarray  # (nn,) number of nodes of each point
    stencil_node: np.ndarray  # (nt,) the nodes
    stencil_weight: np.ndarray  # (nt,) and their weights, negative on the other surface
    skin_soft: np.ndarray  # (nn, 2) stiffness of Hertz, and compliance of the mesh, of points with local contact
    skin_force: np.ndarray  # (nk, 3) forces on the nodes in body axes
    skin_G: np.ndarray  # (nn, 3, 2, 6+mmax) derivatives along these directions by the motions of both bodies
    skin_X: np.ndarray  # (nn, 3, nv) responses to unit forces along them: displacements
    skin_change: np.ndarray  # (nn, 3, nr) and multipliers
    skin_heat: np.ndarray  # (1,) energy that friction of the points takes in the step
    skin_known: np.ndarray  # (nn,) 1 for points whose responses belong to the matrix of the step
    skin_list: np.ndarray  # (nk,) a list of nodes
    skin_marked: np.ndarray  # (nk,) marks of nodes
    near: np.ndarray  # (NEAR, 8) contact points of one pair of shapes; see kernels/contact/shapes.py
    near_d: np.ndarray  # (3,) position and
    near_S: np.ndarray  # (3, 3) rotation of the second shape of a pair
    pool: np.ndarray  # (2,) address of the function that shares loops, 0 for none, and threads; see base/sharing.py
    shared: np.ndarray  # (loops, LENGTH) function and arguments of each shared loop
    lane_bias: np.ndarray  # (THREADS, 6+mmax) work arrays of each thread: the same as above
    lane_Lrr: np.ndarray  # (THREADS, 6, 6)
    lane_six: np.ndarray  # (THREADS, 2, 6)
    lane_scratch: np.ndarray  # (THREADS, ...)
    lane_sixes: np.ndarray  # (THREADS, max(incident_most+1, 3), 6)
    body_energies: np.ndarray  # (nb, 3) kinetic, elastic and of gravity
    factors: np.ndarray  # (3,) factors of the matrix of a step: beta, gamma, and of the stiffness
    unsound: np.ndarray  # (nb,) 1 for bodies whose mass matrix is not positive definite
    Z_start: np.ndarray  # (nb+1,) start of the responses of each body in `Z`
    product_start: np.ndarray  # (nb+1,) start of each body in `products`
    branched: (
        np.ndarray
    )  # (1,) 1, and the repetitions of a solution, if the factors of a step are those of branches.py:
    branch_x: np.ndarray  # (nv,) the solution before the last one
    link_outer: np.ndarray  # (rows, 6)
    link_inner: np.ndarray  # (rows, 6)
    link_own: np.ndarray  # (rows, branch_most)
    products: np.ndarray  # the parts (terms, terms+1) of each body in the matrix of the rows and in its right-hand side


def scratch_size(m: int) -> int:
    """Size of the scratch array of `body_terms` for a body with `m` elastic coordinates."""
    return (2 * SECOND_ORDER + 6) * m + SECOND_ORDER


class MarkerKinematics(NamedTuple):
    """Positions and attitudes of all markers and bodies at one configuration."""

    body_point: np.ndarray  # (nm, 3) position in the frame of the body
    tangent: np.ndarray  # (nm, 3, 3) tangent operator of the elastic rotation
    position: np.ndarray  # (nm, 3) position in the world
    axes: np.ndarray  # (nm, 3, 3) axes in the world
    attitude: np.ndarray  # (nb, 3, 3) attitudes of the bodies
    rows: np.ndarray  # (nm, 6, mmax) derivatives of elastic translation and rotation vector with respect to eta


def make_marker_kinematics(flat: CompiledModel) -> MarkerKinematics:
    """Arrays for `place_markers`, with the constant entries set."""
    nm, nb = len(flat.marker_body), len(flat.modes)
    tangent = np.zeros((nm, 3, 3))
    tangent[:] = np.eye(3)
    arrays = (
        np.zeros((nm, 3)),
        tangent,
        np.zeros((nm, 3)),
        np.zeros((nm, 3, 3)),
        np.zeros((nb, 3, 3)),
        flat.marker_rows.copy(),
    )
    return pointed(MarkerKinematics(*arrays))


def make_workspace(flat: CompiledModel) -> Workspace:
    """A workspace for `flat`, filled with zeros."""
    nb, nr, mmax, nv = len(flat.modes), len(flat.row_kind), flat.marker_rows.shape[2], int(flat.v_start[-1])
    nf = len(flat.friction_row)
    nt, terms = len(flat.term_row), np.diff(flat.incident_start)
    ne, most = len(flat.element_row), int(np.diff(flat.element_state).max(initial=0))
    ni, nu, nz = len(flat.signal_sort), int(flat.control_command[-1]), int(flat.control_state[-1])
    points = len(flat.point_contact)
    turning = int((flat.turn_state >= 0).sum())
    touching = points + turning
    nn, ns, nk, entries = len(flat.node_skin), len(flat.skin_body), len(flat.node_body), int(flat.stencil_start[-1])
    nz += 4 * touching + 3 * nn + int(np.diff(flat.contact_point)[flat.contact_feature >= 0].sum())
    own = int(np.diff(flat.control_state).max(initial=0))
    returned = own + int(np.diff(flat.control_command).max(initial=0))
    shapes = {
        "Mrr": (nb, 6, 6), "Mre": (nb, 6, mmax), "G": (nt, 2, 6 + mmax), "values": nr, "loads": nv, "efforts": nr,
        "rates": nr, "laws": nr, "states": nz, "state_base": nz, "state_rates": nz, "half": 1,
        "signals": ni, "signal_G": (ni, 2, 6 + mmax), "commands": nu, "control_answer": (2, returned),
        "control_settling": (own + 1, own), "command_kept": nu, "command_slopes": (nu, ni), "command_force": (nu, nv),
        "command_rhs": nv if nu else 0, "command_none": nr if nu else 0, "command_x": (nu, nv),
        "command_change": (nu, nr), "sliding_force": nv if nf else 0, "sliding_none": nr if nf else 0,
        "sliding_x": (nf, nv),
        "sliding_change": (nf, nr), "sliding_rates": nf, "sliding_direction": nf, "sliding_slopes": (nf, 3),
        "seen": (ne + 1, 18 + int(flat.element_command[:, 1].max(initial=0))), "answer": (4, 7 + most), "given": 72,
        "stored": ne,
        "settling": (most + 1, most), "tangents": (ne, 6, 6), "unsymmetric": 1,
        "inverse_tangents": (ne, 6, 6),
        "U": int(flat.envelope_start[nr]) if ne else 0, "coupled": len(flat.row_place),
        "group_motion": (len(flat.group_marker), 6), "group_wrench": (len(flat.group_marker), 6), "group_energy": 2,
        "group_listed": (len(flat.group_marker), 3), "group_pairs": (int(flat.group_pair[-1]), 2),
        "group_count": len(flat.group_start) - 1,
        "wrenches": (len(flat.load_marker), 6), "bias": 6 + mmax, "Lrr": (6, 6), "six": (2, 6),
        "scratch": scratch_size(mmax), "E": nv, "chol": (nb, 6, 6), "chol0": (nb, 6, 6), "Z": flat.incident_size,
        "sixes": (max(flat.incident_most + 1, 3), 6),
        "S": int(flat.envelope_start[nr]), "L": int(flat.envelope_start[nr]),
        "scale": nr, "previous_multipliers": nr, "t": nr, "q": int(flat.q_start[-1]), "w": nv, "wdot": nv,
        "multipliers": flat.joint_rows, "unbalanced": nv, "x": nv, "change": nr, "row_rhs": nr, "compliance": nr,
        "energies": 5, "point_gap": points, "rim_limit": len(flat.contact_feature),
        "point_at": (points, 3), "touch_friction": touching,
        "touch_force": (touching, 3), "touch_rate": (touching, 3), "touch_G": (touching, 3, 2, 6 + mmax),
        "near": (NEAR, 8), "near_d": 3, "near_S": (3, 3), "skin_gap": nn, "skin_bare": (nk, 3),
        "skin_bent": (nk, 3), "skin_at": (nk, 3), "skin_seen": (nk, 3), "skin_before": (nk, 3),
        "skin_axes": (nn, 3, 3), "skin_soft": (nn, 2), "skin_force": (nk, 3), "skin_G": (nn, 3, 2, 6 + mmax),
        "skin_turn": (ns, 3, 3), "skin_normal": (nn, 3), "skin_share": nn, "skin_rise": nn, "skin_place": (nn, 3),
        "stencil_weight": entries,
        "skin_X": (nn, 3, nv), "skin_change": (nn, 3, nr), "skin_heat": 1,
        "lane_bias": (THREADS, 6 + mmax), "lane_Lrr": (THREADS, 6, 6), "lane_six": (THREADS, 2, 6),
        "lane_scratch": (THREADS, scratch_size(mmax)), "lane_sixes": (THREADS, max(flat.incident_most + 1, 3), 6),
        "body_energies": (nb, 3), "factors": 3, "products": int((terms * (terms + 1)).sum()),
        "branched": 1, "branch_x": nv if ne else 0,
        "link_outer": (len(flat.branch_row), 6), "link_inner": (len(flat.branch_row), 6),
        "link_own": (len(flat.branch_row), flat.branch_most),
    }  # fmt: skip
    arrays = {name: np.zeros(shape) for name, shape in shapes.items()}
    counts = {"skin_near": ns, "skin_known": nn, "skin_list": nk, "skin_marked": nk, "stencil_count": nn}
    counts |= {"stencil_node": entries, "skin_found": len(flat.facet_nodes)}
    for name, count in counts.items():
        arrays[name] = np.zeros(count, dtype=np.int64)
    counts = {"touch_count": 3, "touch_point": touching, "touch_turns": touching, "point_feature": points}
    for name, count in counts.items():
        arrays[name] = np.zeros(count, dtype=np.int64)
    arrays["pool"], arrays["shared"] = np.zeros(2, dtype=np.int64), np.zeros((len(LOOPS), LENGTH), dtype=np.int64)
    arrays["unsound"] = np.zeros(nb, dtype=np.int64)
    for name, sizes in (("Z_start", (6 + flat.modes) * (terms + 1)), ("product_start", terms * (terms + 1))):
        arrays[name] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    arrays["coupled"][flat.row_place[np.add.outer(flat.element_row, np.arange(6))]] = 1.0
    return pointed(Workspace(**arrays))
