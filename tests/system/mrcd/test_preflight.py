"""mrcctl preflight over the lab: all hosts probe each other, and what is broken is named."""
import json

import built
import files
from lab import Watched

# A failed path loses everything; late answers of a busy machine are irrelevant here.
PROBES = ("--count", 20, "--loss", "0.5")


def preflight(fabric, code):
    cases = [f"{host}) shift; exec env MRC_CONFIG={files.at(host)}.yaml {' '.join(fabric.lab.inside(number))} \"$@\";;"
             for number, host in ((1, "h1"), (2, "h2"))]
    script = files.write("on", "case $1 in " + "\n".join(cases) + "\nesac\n")
    done = fabric.ctl(1, "--json", "preflight", "--run", f"sh {script} {{host}}", "--program", built.path("MRCCTL"), *PROBES,
                      "h1", "h2", code=code)
    return json.loads(done.stdout)


def test_a_good_fabric_and_a_broken_t1():
    """[MRC-MON-3] Exit status 0 and 1; the fault is named from what both hosts have seen."""
    with Watched(hosts=()) as fabric:
        good = preflight(fabric, 0)
        assert good["good"] and good["faults"] == [] and good["paths"] == 2 * 2 * 16, good
        fabric.forget(2, "f203")
        bad = preflight(fabric, 1)
        assert [f["text"].partition(" (")[0] for f in bad["faults"]] == ["plane 2: T1 f203"], bad["faults"]


def test_one_ev_by_any_of_its_names():
    """As `show evs` and mrclog print it with the port of some process, as `probe` prints it, or by its label alone."""
    with Watched(hosts=()) as fabric:
        peer = fabric.lab.address(1, 2)
        for ev in ("0x0003:56938", "0x0003:0", "0x0003"):
            paths = fabric.json(1, "probe", peer, "--ev", ev, "--timeout-ms", 1, code=1)["peers"][0]["paths"]
            assert [(p["port"], p["ev"], p["t1"]) for p in paths] == [(1, "0x0003:0", "f103"), (2, "0x0003:0", "f203")]
        assert "is no EV: 49152, 0x0003" in fabric.ctl(1, "probe", peer, "--ev", "nosuch", code=2).stderr


def test_from_here_alone():
    with Watched(hosts=()) as fabric:
        fabric.forget(1, "f101")
        peer = fabric.lab.address(1, 2)
        done = fabric.ctl(1, "--json", "preflight", peer, *PROBES, code=1)
        # Host 2 does not answer, so that the only finding is that none of its paths is good.
        texts = [f["text"].partition(" (")[0] for f in json.loads(done.stdout)["faults"]]
        assert "plane 1: link between T0 e101 and T1 f101" in texts, texts
