"""A sample of CalculiX's own test decks: read with every keyword accounted for, and solved as CalculiX does."""

import shutil
from dataclasses import replace

import pytest

from validation import decks

NAMES = [
    "achtel2",
    "aniso",
    "beam8f",
    "beamf",
    "beampo2",
    "beamptied1",
    "beamt3",
    "disk2",
    "distcoup",
    "segment2",
    "spring5",
]


@pytest.mark.skipif(
    not decks.FOLDER.is_dir() or shutil.which("ccx") is None, reason="CalculiX and its decks are not installed"
)
def test_a_sample_of_decks_agrees():
    outcomes = decks.campaign(names=NAMES)
    assert [o.name for o in outcomes] == NAMES
    for outcome in outcomes:
        assert outcome.agrees, outcome
        assert outcome.silent == ()
        assert max(s.error for s in outcome.steps) < 1e-6


def test_the_decks_of_the_sample_agree_and_others_do_not(monkeypatch):
    assert all(row.passed for row in decks.sample())
    monkeypatch.setattr(decks, "SAMPLE", {"C3D8": decks.SAMPLE["C3D20"]})
    assert not any(row.passed for row in decks.sample())


def test_the_table_counts_what_is_read_refused_and_silent():
    step = decks.Compared(1, "STATIC", 1e-7)
    good = decks.Outcome("good", True, steps=(step,))
    bad = replace(good, name="bad", steps=(replace(step, error=0.5),), silent=("MPC, line 3",))
    told = decks.table(
        [good, bad, decks.Outcome("no", False, "ELEMENT TYPE=CAX8, line 12 of no.inp"), decks.Outcome("x", False, "no")]
    )
    for words in (
        "4  decks",
        "2  read",
        "1  refused by keyword and line",
        "1  refused otherwise",
        " 50.0%",
        "differs: bad",
        "silent: bad: MPC, line 3",
    ):
        assert words in told
