"""Deliberately broken builds are caught by named validation cases: the cases would tell if the code went wrong like this."""

from dataclasses import replace

import numpy as np
import pytest

from fem.errors import FlexmbError
from fem.mesh.mesh import CellBlock
from fem.mesh.structured_meshes import block
from flexmb.bodies.invariants import inertia_invariants
from validation import CASES, rows_of

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


def sign_of_the_coriolis_integrals(model, basis, second=None):
    found = inertia_invariants(model, basis, second)
    return replace(found, h=-found.h)


def sign_of_the_coupling_with_rotation(model, basis, second=None):
    found = inertia_invariants(model, basis, second)
    return replace(found, h0=-found.h0)


def without_the_moments_of_the_second_order_field(model, basis, second=None):
    found = inertia_invariants(model, basis, second)
    return replace(found, PG=np.zeros_like(found.PG))


def without_the_second_order_field(model, basis, second=None):
    return inertia_invariants(model, basis, None)


BROKEN = {
    sign_of_the_coriolis_integrals: ("two-link-beam", "rotating-cantilever"),
    sign_of_the_coupling_with_rotation: ("two-link-beam", "rotating-cantilever", "moving-base-cantilever", "spin-up"),
    without_the_moments_of_the_second_order_field: ("rotating-cantilever", "spin-up"),
    without_the_second_order_field: ("rotating-cantilever", "spin-up"),
}


def caught(case):
    """Whether a case fails, or stops with an error of ours."""
    try:
        return not all(row.passed for row in rows_of(CASES[case]()))
    except FlexmbError:
        return True


@pytest.mark.parametrize(("broken", "case"), [(b, case) for b, cases in BROKEN.items() for case in cases])
def test_a_wrong_integral_is_caught(monkeypatch, broken, case):
    monkeypatch.setattr("flexmb.bodies.body.inertia_invariants", broken)
    assert caught(case)


def test_a_wrong_node_order_is_caught(monkeypatch):
    """Upper and vertical mid-side nodes of hex20 exchanged: Abaqus against VTK."""

    def exchanged(kind, size, divisions):
        mesh = block(kind, size, divisions)
        order = [*range(12), *range(16, 20), *range(12, 16)]
        return replace(mesh, cells=tuple(CellBlock(b.kind, b.connectivity[:, order]) for b in mesh.cells))

    monkeypatch.setattr("validation.four_bar.block", exchanged)
    assert caught("four-bar")
