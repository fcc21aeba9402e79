"""The figures of the demonstrations, over throughput that is made up: how long a dip is, and when it is over."""
import dataclasses
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/lib/lab"))

import judge  # noqa: E402
from streams import ROW  # noqa: E402

STEP_S = 0.02


@dataclasses.dataclass
class Made:
    at: float
    gbps: float


def rows(*stretches):
    """(seconds, Gb/s) one after the other, from time 0."""
    made = []
    for seconds, gbps in stretches:
        made += [Made(0, gbps)] * round(seconds / STEP_S)
    return [Made((i + 1) * STEP_S, r.gbps) for i, r in enumerate(made)]


def near(seen, wanted):
    assert seen is not None and abs(seen - wanted) <= 2.5 * STEP_S, (seen, wanted)


def test_level():
    assert judge.level(rows((1, 2.0), (1, 1.0)), 0, 1) == 2.0
    assert judge.level(rows((1, 2.0)), 5, 6) == 0.0


def test_a_dip():
    dip = rows((1, 2.0), (0.1, 0.5), (2, 2.0))
    near(judge.until_steady(dip, 1.0, 2.0, 1.0), 0.1)
    near(judge.time_below(dip, 1.0, 2.0, 2.0), 0.1)


def test_no_dip():
    assert judge.until_steady(rows((3, 2.0)), 1.0, 2.0, 1.0) == 0.0
    assert judge.time_below(rows((3, 1.81)), 1.0, 2.0, 2.0) == 0.0


def test_a_second_dip_before_it_was_steady_counts():
    twice = rows((1, 2.0), (0.1, 0.0), (0.1, 2.0), (0.1, 0.0), (2, 2.0))
    near(judge.until_steady(twice, 1.0, 2.0, 1.0), 0.3)
    near(judge.time_below(twice, 1.0, 2.0, 2.0), 0.2)


def test_a_dip_after_it_was_steady_does_not():
    near(judge.until_steady(rows((1, 2.0), (0.1, 0.0), (0.4, 2.0), (0.1, 0.0), (1, 2.0)), 1.0, 2.0, 1.0), 0.1)


def test_a_fall_that_stays():
    fallen = rows((1, 2.0), (3, 1.0))
    assert judge.until_steady(fallen, 1.0, 2.0, 1.0) is None
    assert judge.until_steady(fallen, 1.0, 1.0, 1.0) == 0.0
    near(judge.time_below(fallen, 1.0, 2.0, 2.0), 1.0)


def test_lines_of_mrc_perf_are_read():
    line = "     120     1.93       2    1.0   0.9                  3  12/1/3/0"
    match = ROW.match(line)
    assert match and match["gbps"] == "1.93" and match["per_plane"].split() == ["1.0", "0.9"] and match["bad"] == "3", line
