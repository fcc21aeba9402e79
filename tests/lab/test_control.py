"""An operator's side of the lab: the monitor of mrcd names a gray link and denies its paths while a transfer runs, and takes
that back; mrcctl preflight names a link that is broken. How soon, and what is left of the throughput, is measured by
`tools/bench --parts fabric`."""
import json

import lab
import programs
from bench import FABRIC, Lab, Transfer
from lab import environment
from watch import Watch, settings

SOURCE, TARGET = "h0", "h3"  # below T0 0 and T0 1


def denied_paths(transfer):
    return transfer.stream.rows[-1].evs["denied"]


def gray_link(link, finding, near, far):
    """`near`, `far`: what the sender's and the receiver's daemon deny, as the uSIDs of the lab name it."""
    with Lab(FABRIC) as two, Watch(two.inside, programs.path("MRC_MRCD"), programs.path("MRC_MRCCTL"), lab.FOLDER,
                                   (SOURCE, TARGET), environment()) as watch, \
            Transfer(two, None, env=settings(), more=["--duration", "3600"]) as transfer:
        watch.until(lambda: len(watch.peers(SOURCE)) == 1, "the monitors do not hear each other")
        two("fault", "loss", link, "5%")
        watch.until(lambda: watch.denies(SOURCE) == [near] and watch.denies(TARGET) == [far], "the link is not denied")
        assert watch.findings(SOURCE) == [finding], watch.findings(SOURCE)
        # One of four ways to the target is denied; the transfer has been notified and continues without it.
        watch.until(lambda: denied_paths(transfer) == 4, f"denied are {denied_paths(transfer)} of 16 paths")
        transfer.run_for(0.5)
        two("fault", "clear")
        watch.until(lambda: watch.denies(SOURCE) == [] and denied_paths(transfer) == 0, "it is not taken back")
        assert any(row.gbps > 0 for row in transfer.stream.rows[-25:]), "nothing moves"


def test_gray_link_of_the_senders_t0():
    gray_link("p0-t0-0:t1-0", "plane 1: link between T0 0400 and T1 0800", (1, "0800"), (1, "0800:0400"))


def test_gray_link_of_the_receivers_t0():
    """The sender's own probes are well; it is told."""
    gray_link("p0-t0-1:t1-0", "plane 1: link between T0 0401 and T1 0800", (1, "0800:0401"), (1, "0800"))


def test_preflight_names_a_broken_link():
    with Lab(FABRIC) as two:
        # A failed path loses everything; late answers of a busy machine are irrelevant here.
        run = " ".join(two.inside("{host}"))

        def preflight(code):
            done = lab.run([programs.path("MRC_MRCCTL"), "--json", "preflight", "--run", run, "--program",
                            programs.path("MRC_MRCCTL"), "--count", "8", "--loss", "0.5",
                            "h0", "h1", "h2", "h3"], code)
            return json.loads(done)

        assert preflight(0)["good"]
        two("fault", "link", "p1-t0-1:t1-1", "down")
        bad = preflight(1)
        found = [f["text"].partition(" (")[0] for f in bad["faults"]]
        assert found == ["plane 2: link between T0 1401 and T1 1801"], bad["faults"]
