"""`tools/demo --fabric`: it ends with a verdict and a picture, and whichever part of it is killed at any moment,
nothing is left that keeps the next lab from being built."""
import json
import os
import signal

from bench import FABRIC, Lab, Transfer

import built
import files
from lab import kill_all, namespaces, nothing_left, starts, until
from limits import limit

PLAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "demo.d", "fabric.py")
TINY = FABRIC.replace("nics_per_t0: 2", "nics_per_t0: 4")  # the play's hosts are h0 and h7
LIMIT_S = limit(100)
NODES = 8 + 8 + 1


def start(two):
    os.makedirs(files.at("out"), exist_ok=True)
    return starts("run", two.fabric, "--lab", two.name, "--", "python3", "-B", PLAY, built.path("MRC_FABRIC"), built.path("MRC_PERF"),
                  built.path("MRC_TIMELINE"), merged=True, cwd=files.at(), start_new_session=True)


def until_data_flows(play):
    """Reads the chart until a row has throughput, however low."""
    play.out_until(r"^ *\d+\.\d +(?!0\.00 )\d+\.\d\d ", LIMIT_S)


def gone(two):
    until(lambda: not namespaces(two.name) and not os.path.exists(files.at("state", two.name)), lambda: f"left: {namespaces(two.name)}")
    nothing_left(two.name)


def the_next_lab_works(name):
    """Another fabric under the same name."""
    with Lab(FABRIC, name) as two, Transfer(two, 0.5) as transfer:
        transfer.finish()


def processes_of(name):
    """All that have the lab's name among their words or in their environment, but for this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/environ", "rb") as variables:
                text = words.read() + variables.read()
        except OSError:
            continue
        if name.encode() in text and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def test_verdict_and_picture():
    two = Lab(TINY)
    play = start(two)
    play.wait(LIMIT_S)
    nothing_left(two.name)
    out = play.out
    # The recovery time is meaningful only on an idle machine; the correctness of every byte is not.
    assert "yes  every byte is right" in out and "is dead" in out and "is back" in out, out
    assert play.code == (0 if "PASSED" in out else 1), out
    with open(files.at("out", "demo-fabric.json"), encoding="utf-8") as report:
        assert json.load(report)["ok"] is True
    with open(files.at("out", "demo-fabric.svg"), encoding="utf-8") as picture:
        svg = picture.read()
    assert svg.count("a T1 of plane 1 is dead") == 1 and svg.count("a T0 of plane 2 is dead") == 1 and svg.endswith("</svg>\n"), svg[:500]


def test_interrupted():
    two = Lab(TINY)
    play = start(two)
    until_data_flows(play)
    os.killpg(play.pid, signal.SIGINT)  # as Ctrl-C in a terminal
    play.wait(LIMIT_S)
    gone(two)


def test_killed():
    two = Lab(TINY)
    play = start(two)
    until_data_flows(play)
    play.kill(LIMIT_S)
    gone(two)
    the_next_lab_works(two.name)


def test_everything_of_it_killed_at_once():
    two = Lab(TINY)
    play = start(two)
    until_data_flows(play)
    victims = processes_of(two.name)
    assert len(victims) >= 4, victims  # mrc-fabric, its guardian, the play, both ends
    kill_all(victims)
    play.wait(LIMIT_S)
    assert len(namespaces(two.name)) == NODES
    the_next_lab_works(two.name)
