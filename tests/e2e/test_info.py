"""mrc-info --stats: what other processes count, and that nothing stands in the way of those that ask."""
import json
import os
import signal
import subprocess

import pair
from pair import clean_environment


def ran(*args, env):
    tool = os.path.join(os.path.dirname(os.path.dirname(pair.MRC_PERF)), "mrc-info", "mrc-info")
    return subprocess.run([tool, *args], env=clean_environment(env), capture_output=True, text=True, timeout=30, check=False)


def mrc_info(*args, env):
    done = ran(*args, env=env)
    assert done.returncode == 0, done
    return done.stdout


def test_stats_of_killed_processes():
    """A killed process leaves its name behind; the next reader removes it."""
    env = {"MRC_PUBLISH": pair.FOLDER}
    run = pair.Pair(["--size", "1M", "--duration", "60"], env)
    try:
        processes = []
        while len(processes) < 2:
            assert run.client.process.poll() is None and run.server.process.poll() is None, f"{run.client}\n{run.server}"
            processes = json.loads(mrc_info("--json", "--device", "mrc0", env=env))["processes"]
        assert {p["pid"] for p in processes} == {run.client.process.pid, run.server.process.pid}
        for process in processes:
            assert process["program"] == "mrc-perf" and process["name"] == "mrc0", process
            assert {c["name"] for c in process["counters"]} >= {"tx_packets", "retransmits", "driver.tx_calls"}, process
            assert len(process["planes"]) == 4, process
        while str(run.client.process.pid) not in mrc_info("--stats", env=env):  # each is queried again, and may be too busy
            assert run.client.process.poll() is None, run.client
        assert json.loads(mrc_info("--json", env={**env, "MRC_PUBLISH": ""}))["processes"] == []
    finally:
        for side in (run.client, run.server):
            side.kill()
            side.process.communicate()
    folder = os.path.join(pair.FOLDER, f"mrc-{os.geteuid()}")
    assert len(os.listdir(folder)) == 2, os.listdir(folder)
    assert json.loads(mrc_info("--json", env=env))["processes"] == []
    assert os.listdir(folder) == []


def test_stats_while_it_runs():
    """Counters of both sides of a transfer, one of them asleep in its library's helper thread."""
    env = {"MRC_PUBLISH": pair.FOLDER}
    run = pair.Pair(["--size", "1M", "--duration", "60", "--sleepy-server"], env)
    busy = set()
    while len(busy) < 2 and run.client.process.poll() is None:
        for process in json.loads(mrc_info("--json", env=env))["processes"]:
            counters = {c["name"]: c["value"] for c in process["counters"]}
            if counters["rx_packets"] > 0:
                busy.add(process["pid"])
    run.client.process.send_signal(signal.SIGINT)
    assert run.finish() == (0, 0), f"{run.client}\n{run.server}"
    assert busy == {run.client.process.pid, run.server.process.pid}, busy
    assert os.listdir(os.path.join(pair.FOLDER, f"mrc-{os.geteuid()}")) == [], "closing takes the name away"


def test_publishing_is_no_condition():
    """Another user's folder, or none: the device starts nevertheless."""
    os.mkdir(os.path.join(pair.FOLDER, f"mrc-{os.geteuid()}"), 0o755)
    for folder in (pair.FOLDER, "/nonexistent", ""):
        env = {"MRC_PUBLISH": folder}
        pair.verified(["--size", "64K", "--iters", "20"], env)
        assert json.loads(mrc_info("--json", env=env))["processes"] == []


def test_line_rate():
    """As configured, or measured where no plane has a network card."""
    told = {"0": (0, "line rate measured while it runs"), "50": (50, "line rate 50 Gb/s\n"), "2.5": (2.5, "line rate 2.5 Gb/s\n")}
    for gbps, (number, text) in told.items():
        env = {"MRC_LINE_RATE_GBPS": gbps}
        (device,) = json.loads(mrc_info("--json", env=env))["devices"]
        assert device["line_rate_gbps"] == number, device["line_rate_gbps"]
        assert text in mrc_info(env=env), mrc_info(env=env)


TWO_DEVICES = """
ev_min_active: 3
devices:
  - {name: a0, planes: [{address: 127.0.0.1}, {address: 127.0.0.2}], ev_count: 12, retry_exp: 4}
  - {name: b0, planes: [{address: 127.0.1.1}], ev_count: 24, icrc: false, line_rate_gbps: 2.5}
"""


def test_params_of_each_device():
    env = pair.config(TWO_DEVICES)

    def values(*args):
        lines = [line for line in mrc_info("--params", *args, env=env).split("\n") if line and not line.startswith(" ")]
        return {line.split()[0]: line.split(None, 1)[1] for line in lines if len(line.split()) > 1}

    first, second, both = values("-d", "a0"), values("-d", "b0"), values()
    assert first["ev_count"].split() == ["12", "(default", "64)"] and first["icrc"] == "true", first
    assert second["ev_count"].split() == ["24", "(default", "64)"] and second["retry_exp"] == "15", second
    assert second["icrc"].startswith("false") and second["line_rate_gbps"].startswith("2.5 "), second
    assert both["ev_count"].split("   ")[0] == "a0: 12, b0: 24" and both["ev_min_active"].startswith("3 "), both
    for args, count in ((["-d", "b0"], 24), ([], 12)):
        rows = {row["name"]: row for row in json.loads(mrc_info("--json", *args, env=env))["params"]}
        assert rows["ev_count"]["value"] == count, rows["ev_count"]


def test_unknown_device():
    """In every mode; with --stats as well, though it opens none."""
    for mode in ([], ["--params"], ["--stats"], ["--json"], ["--evs"]):
        done = ran("-d", "nosuch0", *mode, env={"MRC_PUBLISH": pair.FOLDER})
        assert done.returncode == 1 and "'nosuch0'" in done.stderr, done
    assert ran("-d", "mrc0", "--stats", env={"MRC_PUBLISH": pair.FOLDER}).returncode == 0


def test_advice_once():
    text = mrc_info(env={"MRC_RCVBUF": "1073741824"})
    assert text.count("receive buffers are") == text.count("to raise: receive buffers are") <= 1, text


def test_refusal_once():
    for level in ("error", "off"):
        done = ran(env={"MRC_EV_COUNT": "many", "MRC_LOG": level})
        assert done.returncode == 1 and done.stderr.count("'many'") == 1, done
        assert "mrc-info: the configuration is refused" in done.stderr, done


def test_manual_has_what_help_has():
    """The manual page holds the library's text on the grammar of faults, and the sections that a reader looks for."""
    path = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "man", "mrc-info.1")
    with open(path, encoding="utf-8") as page:
        manual = page.read().replace("\\-", "-")
    said = {line.strip() for line in manual.split("\n")}
    text = mrc_info("--help", env={})
    grammar = text[text.index("MRC_FAULT damages"):].split("\n")
    missing = [line.strip() for line in grammar[1:] if line.strip() and line.strip() not in said]
    assert not missing, missing
    for section in ("ENVIRONMENT", "FILES", "EXIT STATUS"):
        assert f"\n.SH {section}\n" in manual, section
