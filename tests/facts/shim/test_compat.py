"""The table of programs over the shim (tests/compat.md) has a row for each, whatever became of it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../system/shim"))
import compat  # noqa: E402
import programs  # noqa: E402
import rows  # noqa: E402
from skip import Skipped, need  # noqa: E402


def results(judge, wanted):
    """The last cell of each row, with programs that only seem to run."""
    before, rows.judge = rows.judge, judge
    try:
        return [line.split(" | ")[-1].removesuffix(" |") for line in compat.table(wanted)[2:]]
    except Skipped as why:
        raise AssertionError(f"no table: {why}") from None  # and no skip of this test
    finally:
        rows.judge = before


def test_a_program_that_is_missing_and_one_that_fails_have_a_row():
    def judge(row):
        need(row.name != "missing", "the program x is missing (apt-get install y)")
        assert row.name != "failing", "exit 1"
        return "works"

    wanted = [programs.row(name, name, f"{name} -x") for name in ("missing", "failing", "working")]
    assert results(judge, wanted) == ["not run: the program x is missing (apt-get install y)", "FAILED", "works"]


def test_a_row_says_what_it_needs():
    absent = programs.row("absent", "", "x", needs=("no-program-of-this-name", "no-package"))
    assert results(rows.judge, [absent]) == ["not run: the program no-program-of-this-name is missing (apt-get install no-package)"]
