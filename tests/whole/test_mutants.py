"""The edits of the mutation campaign fit the code, and a sample of them is caught (`python -m tests.mutants` runs all)."""

import random

import pytest

from tests.edits import EDITS
from tests.mutants import campaign, problem


def test_every_edit_fits_the_code_once():
    assert not [f"{edit.what}: {why}" for edit in EDITS if (why := problem(edit))]
    assert len({edit.what for edit in EDITS}) == len(EDITS)
    assert all(edit.old != edit.new for edit in EDITS)


@pytest.mark.long
def test_a_sample_of_edits_is_caught():
    """`python -m tests.mutants --sample` takes others."""
    runs = [edit for edit in EDITS if not edit.equivalent and not edit.file.startswith("flexmb/kernels/")]
    assert not campaign(random.Random(1).sample(runs, 4))
