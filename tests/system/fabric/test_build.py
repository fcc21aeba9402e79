"""Building and removing a lab, and what is left when the builder dies."""
import json
import os
import signal
import stat

import built
import files
from files import write
from lab import LIMIT_S, NAME, TWO, Lab, kill_all, namespaces, nothing_left, run, starts, tool, until


def test_up_and_down():
    with Lab() as two:
        assert len(namespaces(two.name)) == 13  # 4 hosts, 8 switches, the management network
        status = two.json("status")
        assert status["complete"] and status["missing"] == [] and status["faults"] == {}
        assert {link["state"] for link in status["links"]} == {"up"}
        assert json.loads(tool("list", "--json").stdout) == [{"lab": two.name, "fabric": "two", "complete": True}]
        assert two.json("down") == [{"lab": two.name, "removed": 13}]
    assert json.loads(tool("list", "--json").stdout) == []
    # A lab that is down may be taken down again.
    assert tool("down").stdout == "no lab is up\n" and json.loads(tool("down", "--json").stdout) == []


def test_options_on_either_side_of_the_command():
    with Lab() as two, Lab(name=NAME + "x") as other:
        assert json.loads(tool("--json", "-l", two.name, "status").stdout)["lab"] == two.name
        # Options take precedence over the environment, at any position.
        for words in (("-l", two.name, "status"), ("status", "-l", two.name)):
            assert json.loads(tool("--json", *words, env={"MRC_LAB": other.name}).stdout)["lab"] == two.name
        assert json.loads(tool("--json", "status", env={"MRC_LAB": other.name}).stdout)["lab"] == other.name
        # A program's own options stay its own.
        assert tool("-l", two.name, "exec", "h0", "--", "echo", "--json").stdout == "--json\n"
        assert json.loads(tool("-l", two.name, "--json", "down").stdout)[0]["lab"] == two.name


def test_up_again_changes_nothing():
    with Lab() as two:
        two.run("h0", "ip", "link", "set", "p0", "alias", "mine")
        assert two.up()["built"] is False
        assert "mine" in two.run("h0", "ip", "link", "show", "p0")
        other = write("other.yaml", TWO.replace("t1: 2", "t1: 1"))
        refused = tool("up", other, "--lab", two.name, code=1)
        assert "another fabric" in refused.stderr and "--replace" in refused.stderr, refused
        assert json.loads(tool("up", other, "--lab", two.name, "--replace", "--json").stdout)["built"] is True
        assert two.json("status")["t1"] == 1 and len(namespaces(two.name)) == 11


def test_a_lab_that_lost_a_node_is_built_again():
    with Lab() as two:
        run(["ip", "netns", "del", two.name + "-p0-t1-0"])
        assert two.json("status", code=1)["missing"] == ["p0-t1-0"]
        assert two.up()["built"] is True
        assert two.json("status")["missing"] == []


def test_labs_side_by_side():
    with Lab() as one, Lab(name=NAME + "-h0") as other:  # begins with a name of the first one's
        assert len(namespaces(other.name)) == 13
        one("fault", "switch", "p0-t1-0", "down")
        assert one("trace", "h0", "h2", "0/0", "--wait", "100", code=1)
        other("trace", "h0", "h2", "0/0")
        one("down")
        other("trace", "h0", "h2", "all")
        assert "several" not in other("status").stderr


def test_a_foreign_namespace_is_left_alone():
    two = Lab()
    theirs = two.name + "-h0"
    run(["ip", "netns", "add", theirs])
    try:
        refused = tool("up", two.fabric, "--lab", two.name, code=1)
        assert theirs in refused.stderr, refused
        assert namespaces(two.name) == [theirs]
    finally:
        run(["ip", "netns", "del", theirs])
        two("down")
    nothing_left(two.name)


def test_down_ends_programs():
    with Lab() as two:
        with two.starts("h1", "sleep", "1000") as program:
            until(lambda: b"sleep" in open(f"/proc/{program.pid}/comm", "rb").read(), "exec does not become the program")
            two("down")
            assert program.wait(LIMIT_S) == -signal.SIGTERM


def slow_programs():
    """A folder with a `tc` that reports its start, then waits: the lab is half built."""
    folder, started = files.at("slow"), files.at("started")
    os.makedirs(folder)
    path = write("slow/tc", f"#!/bin/sh\necho >> {started}\nsleep 1\nexec /sbin/tc \"$@\"\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return {"PATH": folder + ":" + os.environ["PATH"]}, started


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listed:
        return [int(child) for child in listed.read().split()]


def half_built():
    two = Lab()
    env, started = slow_programs()
    builder = starts("up", two.fabric, "--lab", two.name, env=env)
    until(lambda: os.path.exists(started), "the build does not begin")
    assert len(namespaces(two.name)) == 13
    return two, builder


def gone(two):
    until(lambda: not namespaces(two.name) and not os.path.exists(files.at("state", two.name)),
          "something is left")
    nothing_left(two.name)


def test_interrupted_in_the_middle():
    two, builder = half_built()
    builder.signal(signal.SIGTERM)
    assert builder.wait(LIMIT_S) == 1 and "interrupted" in builder.err, builder
    nothing_left(two.name)


def test_killed_in_the_middle():
    two, builder = half_built()
    builder.kill(LIMIT_S)
    gone(two)


def test_killed_with_its_guardian():
    """No process is left to clean up: the next command does it."""
    two, builder = half_built()
    kill_all([builder.pid, *children(builder.pid)])
    builder.wait(LIMIT_S)
    assert len(namespaces(two.name)) == 13
    assert two.up()["built"] is True
    two("trace", "h0", "h3", "all")
    two("down")
    gone(two)


def test_run_passes_the_exit_status_and_leaves_nothing():
    two = Lab()
    fabric = built.path("MRC_FABRIC")
    inside = f"{fabric} exec h0 -- cat /etc/hosts && {fabric} trace h0 h3 1/1 && exit 7"
    done = tool("run", two.fabric, "--lab", two.name, "--", "sh", "-c", inside, code=7)
    assert "fd00::4 h3" in done.stdout and "1 of 1 arrived" in done.stdout, done
    nothing_left(two.name)


def test_run_killed_with_its_guardian():
    """No process is left to clean up, and the lab is complete: it has no owner, so the next `run` and the next `up` may have it."""
    two = Lab()
    for follow in (["run", two.fabric, "--lab", two.name, "--", "true"], ["up", two.fabric, "--lab", two.name]):
        marker = files.at("marker-" + follow[0])
        runner = starts("run", two.fabric, "--lab", two.name, "--", "sh", "-c", f"touch {marker}; exec sleep 1000")
        until(lambda: os.path.exists(marker), "the program does not start")
        refused = tool("run", two.fabric, "--lab", two.name, "--", "true", code=1)
        assert "up already" in refused.stderr, refused
        kill_all([runner.pid, *children(runner.pid)])
        runner.wait(LIMIT_S)
        assert len(namespaces(two.name)) == 13
        done = tool(*follow)
        assert follow[0] == "run" or "is up:" in done.stdout, done
    two("down")
    gone(two)


def test_run_killed():
    two = Lab()
    marker = files.at("marker")
    runner = starts("run", two.fabric, "--lab", two.name, "--", "sh", "-c", f"touch {marker}; exec sleep 1000")
    until(lambda: os.path.exists(marker), "the program does not start")
    assert len(namespaces(two.name)) == 13
    two("fault", "link", "h0:p0", "down")  # the lab is not locked while the program runs
    runner.kill(LIMIT_S)
    gone(two)
