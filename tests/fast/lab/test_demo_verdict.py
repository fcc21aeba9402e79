"""The verdict of tools/demo, on reports that are made up."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/lib"))

import demo_verdict  # noqa: E402
import machine_load  # noqa: E402
import merge_rows  # noqa: E402

DOWN, UP, END = 2.0, 4.0, 6.0
STEP_S = 0.1
FULL_GBPS = 4.0


def made(gbps=lambda i, t: FULL_GBPS if not DOWN < t <= UP else 3.0, dead_share=0.0, back_share=1.0, retransmits=lambda i: 0):
    """A report in which every plane carries 1 Gb/s, plane 2 `dead_share` of that while it is dead and `back_share` from then on."""
    rows = []
    for i in range(round(END / STEP_S)):
        t = (i + 1) * STEP_S
        plane_2 = 1.0 if t <= DOWN else dead_share if t <= UP else back_share
        rows.append({"t": t, "gbps": gbps(i, t), "plane_gbps": [1.0, plane_2, 1.0, 1.0], "planes_in_use": 3 + (plane_2 > 0.02),
                     "retransmits": retransmits(i)})
    return {"timeline": rows, "mtu": 4096, "sizes": [{"bytes": 3 << 30, "checked": 3000, "mismatches": 0}]}


def failed(report):
    return [words for words, good in demo_verdict.judge(report, DOWN, UP)[1] if not good]


def test_all_is_well():
    assert failed(made()) == []


def test_a_slow_transfer_went_on_though_few_rows_end_a_message():
    assert failed(made(gbps=lambda i, t: 0.08 if i % 5 == 0 else 0.0)) == []


def test_a_transfer_that_stopped():
    assert failed(made(gbps=lambda i, t: 0.0 if DOWN < t <= UP else FULL_GBPS)) == ["the transfer went on without it"]


def test_few_packets_sent_again_without_a_fault_are_allowed():
    # 4 Gb/s in packets of 4096 bytes for 3 s: 366,211 packets; one of 10,000 may go twice.
    assert failed(made(retransmits=lambda i: 36 if i == 5 else 0)) == []
    words = failed(made(retransmits=lambda i: 37 if i == 5 else 0))
    assert words == ["hardly anything was sent again without a fault: 37 of 366,211 packets (at most 1 of 10,000)"], words


def test_a_plane_that_stays_away():
    assert failed(made(back_share=0.0)) == ["the plane was used again within 1 s of its return"]


def test_a_dead_plane_that_is_still_used():
    assert failed(made(dead_share=1.0)) == ["the dead plane was left"]


def rows_of_10_ms(dip_s):
    return [{"t": (i + 1) / 100, "gbps": 4.0 if i < 200 else 1.0 if i < 200 + 100 * dip_s else 3.0,
             "plane_gbps": [1.0, 1.0 if i < 200 else 0.0, 1.0, 1.0]} for i in range(600)]


def test_the_time_below_the_share_of_the_other_planes():
    assert demo_verdict.below_share_ms(rows_of_10_ms(0), DOWN, UP) == 0
    dip = demo_verdict.below_share_ms(rows_of_10_ms(0.2), DOWN, UP)
    assert abs(dip - 200) <= 40, dip  # a mean of 40 ms with one row of the dip is below
    assert demo_verdict.below_share_ms(made()["timeline"], DOWN, UP) is None


def test_ten_rows_become_one():
    rows = [{"t": (i + 1) / 100, "gbps": float(i), "plane_gbps": [1.0, 0.0], "planes_in_use": 1, "retransmits": 2, "good": i}
            for i in range(15)]
    first, last = merge_rows.merge(rows, 10)
    first["gbps"], last["gbps"] = round(first["gbps"], 9), round(last["gbps"], 9)
    assert round(first.pop("seconds"), 9) == 0.1
    first["plane_gbps"] = [round(g, 9) for g in first["plane_gbps"]]
    assert first == {"t": 0.1, "gbps": 4.5, "plane_gbps": [1.0, 0.0], "planes_in_use": 1, "retransmits": 20, "good": 9}, first
    assert last["t"] == 0.15 and last["gbps"] == 12.0 and last["retransmits"] == 10, last


def test_a_late_row_counts_by_its_length():
    rows = [{"t": t, "gbps": g, "plane_gbps": [g], "planes_in_use": 1, "retransmits": 0} for t, g in ((0.01, 4.0), (0.04, 8.0))]
    assert round(merge_rows.merge(rows, 2)[0]["gbps"], 9) == 7.0


def test_a_busy_machine_is_told_above_its_processors_only():
    assert machine_load.hint(2.0, 2) == ""
    told = machine_load.hint(2.1, 2)
    assert "2.1 on 2 processors" in told and "other work has the processors: run it again when the machine is idle" in told, told
