"""`tools/demo --fabric`: it ends with a verdict and a picture, and whichever part of it is killed at any moment,
nothing is left that keeps the next lab from being built."""
import json
import os
import signal
import subprocess
import time

from limits import SCALE

import lab
import programs
from bench import FABRIC, Lab, Transfer
from lab import environment, kill_all, namespaces, nothing_left

PLAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "demo.d", "fabric.py")
TINY = FABRIC.replace("nics_per_t0: 2", "nics_per_t0: 4")  # the play's hosts are h0 and h7
LIMIT_S = 100 * SCALE
NODES = 8 + 8 + 1


def start(two):
    os.makedirs(os.path.join(lab.FOLDER, "out"), exist_ok=True)
    return subprocess.Popen([lab.MRC_FABRIC, "run", two.fabric, "--lab", two.name, "--", "python3", "-B", PLAY, lab.MRC_FABRIC,
                             lab.MRC_PERF, programs.path("MRC_TIMELINE")],
                            env=environment(), cwd=lab.FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True)


def until_data_flows(play):
    """Reads the chart until bars grow in it."""
    said = ""
    for line in play.stdout:
        said += line
        if line.count("█") > 2 and line.strip()[:1].isdigit():
            return
    raise AssertionError(f"no data: {said}")


def gone(two):
    end = time.monotonic() + LIMIT_S
    while namespaces(two.name) or os.path.exists(os.path.join(lab.FOLDER, "state", two.name)):
        assert time.monotonic() < end, f"left: {namespaces(two.name)}"
        time.sleep(0.1)
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
    out, _ = play.communicate(timeout=LIMIT_S)
    nothing_left(two.name)
    # The recovery time is meaningful only on an idle machine; the correctness of every byte is not.
    assert "yes  every byte is right" in out and "is dead" in out and "is back" in out, out
    assert play.returncode == (0 if "PASSED" in out else 1), out
    with open(os.path.join(lab.FOLDER, "out", "demo-fabric.json"), encoding="utf-8") as report:
        assert json.load(report)["ok"] is True
    with open(os.path.join(lab.FOLDER, "out", "demo-fabric.svg"), encoding="utf-8") as picture:
        svg = picture.read()
    assert svg.count("T1 0 of plane 0 is dead") == 1 and svg.count("T0 1 of plane 1 is dead") == 1 and svg.endswith("</svg>\n"), svg[:500]


def test_interrupted():
    two = Lab(TINY)
    play = start(two)
    until_data_flows(play)
    os.killpg(play.pid, signal.SIGINT)  # as Ctrl-C in a terminal
    play.communicate(timeout=LIMIT_S)
    gone(two)


def test_killed():
    two = Lab(TINY)
    play = start(two)
    until_data_flows(play)
    play.kill()
    play.wait(LIMIT_S)
    gone(two)
    the_next_lab_works(two.name)


def test_everything_of_it_killed_at_once():
    two = Lab(TINY)
    play = start(two)
    until_data_flows(play)
    victims = processes_of(two.name)
    assert len(victims) >= 4, victims  # mrc-fabric, its guardian, the play, both ends
    kill_all(victims)
    play.communicate(timeout=LIMIT_S)
    assert len(namespaces(two.name)) == NODES
    the_next_lab_works(two.name)
