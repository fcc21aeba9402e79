"""An operator's side of the lab: the monitor of mrcd names a gray link and denies its paths while a transfer runs, and takes
that back; mrcctl preflight names a link that is broken. How soon, and what is left of the throughput, is measured by
`tools/bench --parts fabric`."""
import json

from bench import FABRIC, Lab, Transfer

import built
import files
import process
import sixteen
from lab import environment, run
from limits import LIMIT_S, limit
from watch import Watch, settings

SOURCE, TARGET = "h0", "h3"  # below T0 0 and T0 1


def denied_paths(transfer):
    return transfer.stream.rows[-1].evs["denied"]


def gray_link(link, finding, near, far):
    """`near`, `far`: what the sender's and the receiver's daemon deny, as the uSIDs of the lab name it."""
    with Lab(FABRIC) as two, Watch(two.inside, built.path("MRC_MRCD"), built.path("MRC_MRCCTL"), files.at(),
                                   (SOURCE, TARGET), environment(), LIMIT_S) as watch, \
            Transfer(two, None, env=settings(), more=["--duration", "3600"]) as transfer:
        watch.until(lambda: len(watch.peers(SOURCE)) == 1, "the monitors do not hear each other")
        two("fault", "loss", link, "5%")
        # A host that stands still for a while loses probes to its own T0 as well; until they return no link is to blame.
        watch.until(lambda: watch.denies(SOURCE) == [near] and watch.denies(TARGET) == [far] and watch.findings(SOURCE) == [finding],
                    lambda: f"the link is not denied: {watch.denies(SOURCE)}, {watch.denies(TARGET)}, {watch.findings(SOURCE)}")
        # One of four ways to the target is denied; the transfer has been notified and continues without it.
        watch.until(lambda: denied_paths(transfer) == 4, lambda: f"denied are {denied_paths(transfer)} of 16 paths")
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
        mrcctl, launch = built.path("MRC_MRCCTL"), " ".join(two.inside("{host}"))

        def preflight(code):
            return json.loads(run([mrcctl, "--json", "preflight", "--run", launch, "--program", mrcctl, "--count", "8", "--loss", "0.5",
                                   "h0", "h1", "h2", "h3"], code).stdout)

        assert preflight(0)["good"]
        two("fault", "link", "p1-t0-1:t1-1", "down")
        bad = preflight(1)
        found = [f["text"].partition(" (")[0] for f in bad["faults"]]
        assert found == ["plane 2: link between T0 1401 and T1 1801"], bad["faults"]


def test_preflight_of_a_job_names_a_slow_host_and_a_gray_link():
    """On a machine that does much else a pair may be slow, too: only what must be named is asked for. How long it takes is measured by
    `tools/bench --parts preflight`."""
    built.path("MRC_INFO")  # on the hosts, beside nccl-net-bench: the addresses of the planes
    with Lab(sixteen.LAB) as lab16:
        for words in sixteen.FAULTS:
            lab16("fault", *words)
        lab16.run("h7", "ip", "link", "set", "p0", "mtu", "8000")
        path = files.at("preflight.json")
        process.run(sixteen.command(built.path("MRC_NCCL_BENCH"), built.path("MRC_NCCL_PLUGIN"), built.path("MRC_MRCCTL"), lab16.inside, path),
                    environment(), code=1, limit_s=limit(300))
        with open(path, encoding="utf-8") as text:
            report = json.load(text)
        assert len(report["pairs"]) == 16 * 15 / 2 and len(report["runs"]) == 1, report
        facts = [host["facts"] for host in report["hosts"]]
        assert len({json.dumps(f["addresses"]) for f in facts}) == 16 and len(facts[0]["addresses"]) == 2, facts
        found = [finding["text"] for finding in report["findings"]]
        assert not sixteen.unnamed(report), report["findings"]
        assert any(text.startswith("h7: mrc0 plane 1 MTU is 8000, ") and text.endswith(" on 15 of 16 hosts") for text in found), found
