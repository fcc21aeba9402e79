"""tools/dev/calm: its verdicts on both sides of each floor, with reports that are made up, and its refusals."""
import importlib.machinery
import importlib.util
import os
import sys

import process
from environment import clean

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/dev/calm")
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("calm", TOOL)
calm = importlib.util.module_from_spec(importlib.util.spec_from_loader("calm", loader))
loader.exec_module(calm)
CELL = calm.Cell("loopback", 4, 1, 4096)


def report(packets=1000, needlessly=0, spurious=0, evs=0, planes=0, lossy=0, gbps=2.0):
    """The parts of mrc-perf's JSON that are read."""
    return {"losses": [{"packets": packets, "sent_again": max(needlessly, spurious), "needlessly": needlessly}],
            "counters": {"spurious_retransmits": spurious, "ev_assumed_bad": evs, "plane_suspensions": planes,
                         "plane_lossy": lossy}, "sizes": [{"gbps": gbps}]}


def verdicts(packets_per_needless, *slices):
    """Of a cell with these slices: of needless packets, EVs, planes and failed slices."""
    return [one["verdict"] for one in calm.calm_floors([calm.summary(CELL, list(slices))], packets_per_needless)]


def figures(**more):
    return calm.figures(report(**more))


def test_one_needless_packet_of_the_limit_is_allowed():
    for limit in (calm.QUIET, calm.LOADED):
        half = figures(packets=limit // 2)
        assert verdicts(limit, half, figures(packets=limit // 2, needlessly=1)) == [calm.MET] * 4
        assert verdicts(limit, half, figures(packets=limit // 2, needlessly=2)) == [calm.MISSED, *[calm.MET] * 3]
        assert verdicts(limit, half, figures(packets=limit // 2 - 1)) == [calm.TOO_FEW, *[calm.MET] * 3]
        assert verdicts(limit, figures(packets=limit - 1, needlessly=1))[0] == calm.MISSED


def test_needless_is_what_either_end_knows():
    assert figures(needlessly=3, spurious=2)["needless"] == 3
    assert figures(needlessly=2, spurious=3)["needless"] == 3


def test_one_retired_path_suspended_plane_or_failed_slice_misses():
    good = figures(packets=calm.QUIET)
    assert verdicts(calm.QUIET, good) == [calm.MET] * 4
    assert verdicts(calm.QUIET, good, figures(evs=1)) == [calm.MET, calm.MISSED, calm.MET, calm.MET]
    for plane in (figures(planes=1), figures(lossy=1)):
        assert verdicts(calm.QUIET, good, plane) == [calm.MET, calm.MET, calm.MISSED, calm.MET]
    assert verdicts(calm.QUIET, good, {"error": "timeout"}) == [calm.MET, calm.MET, calm.MET, calm.MISSED]


def test_every_cell_is_judged_alone():
    calm_cell = calm.summary(CELL, [figures(packets=10 * calm.QUIET)])
    other = calm.summary(CELL._replace(qps=8), [figures(packets=calm.QUIET, needlessly=2)])
    first = calm.calm_floors([calm_cell, other], calm.QUIET)[0]
    assert first["verdict"] == calm.MISSED and first["cells"] == ["loopback, 4 planes, 8 QPs, 4 KiB"], first
    assert calm.sentence(first, 2).endswith("missed in 1 of 2 cells: loopback, 4 planes, 8 QPs, 4 KiB")


def with_loss(ratio, pairs=calm.paired.MIN_PAIRS, size=4096, share=0.01):
    row = calm.comparison(CELL._replace(size=size), [figures(gbps=2.0)] * pairs, [figures(gbps=2.0 * ratio)] * pairs)
    return [one["verdict"] for one in calm.loss_floors([row], share)]


def test_goodput_with_loss():
    assert with_loss(0.8) == [calm.MET, calm.MET]
    assert with_loss(0.79) == [calm.MISSED, calm.MET]
    assert with_loss(0.8, pairs=calm.paired.MIN_PAIRS - 1) == [calm.TOO_FEW, calm.MET]
    assert with_loss(0.1, size=1 << 20) == [calm.MET]  # of failed slices alone
    assert with_loss(0.1, share=0.02) == [calm.MET]


def test_a_row_for_each_cell():
    rows = [calm.summary(CELL, [figures(packets=7, needlessly=n, gbps=1.0 + n) for n in (0, 0, 3)])]
    assert rows[0]["median_needless"] == 0 and rows[0]["slices_with_needless"] == 1 and rows[0]["packets"] == 21, rows
    assert len(list(calm.table(rows))) == 2
    assert len(list(calm.table([calm.comparison(CELL, [figures()], [{"error": "timeout"}])]))) == 2  # without a pair


def test_refusals():
    for words, says in ((["--place", "moon"], "loopback, veth"), (["--planes", "5"], "at most 4"), (["--qps", "0"], "--qps"),
                        (["--loss", "1"], "--loss"), (["--build", "/nonexistent"], "--target mrc-perf")):
        ran = process.run([TOOL, *words], clean({}), code=None)
        assert ran.returncode == 2 and says in ran.stderr and not ran.stdout, ran
