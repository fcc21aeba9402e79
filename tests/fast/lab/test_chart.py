"""The chart of tools/demo --fabric, of rows that are made up."""
import dataclasses
import io
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/lib/lab"))

from chart import Chart  # noqa: E402


@dataclasses.dataclass
class Made:
    at: float
    gbps: float = 1.9
    per_plane: tuple = (1.0, 1.0)
    evs: dict = dataclasses.field(default_factory=lambda: {"good": 16, "bad": 0})


def lines(*rows):
    out = io.StringIO()
    chart = Chart(2.0, out)
    for row in rows:
        chart.add(row)
    return out.getvalue().splitlines()


def test_planes_count_from_1_as_in_the_picture():
    head = "\n".join(lines(Made(0.0)))
    assert "plane 1" in head and "plane 2" in head and "plane 0" not in head, head


def test_the_head_explains_paths_of_a_plane_whose_port_is_down():
    seen = lines(Made(0.0), Made(0.2), Made(0.3), Made(0.5))
    note = [i for i, line in enumerate(seen) if "whose port is down" in line]
    rows = [i for i, line in enumerate(seen) if line.endswith("  16/0")]
    assert len(note) == 1 and len(rows) == 2 and note[0] < rows[0], seen
