"""The validation cases pass; each is long enough to be marked, and its table is complete."""

import pytest

from validation import CASES, Row, rows_of


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::flexmb.IllConditionedWarning")
@pytest.mark.parametrize("case", CASES)
def test_case(case):
    rows = rows_of(CASES[case]())
    assert rows
    for row in rows:
        assert row.case == case
        assert row.passed, row


def test_a_row_knows_when_it_fails():
    row = Row("case", "quantity", 1.0, "exact", 1.1, 0.1, 0.05)
    assert not row.passed
    assert not Row("case", "quantity", 1.0, "exact", float("nan"), float("nan"), 1.0).passed
    assert row.as_dict()["passed"] is False
    assert row.as_dict()["ours"] == 1.1
