"""mrc-info --stats: what other processes count, and that nothing stands in the way of those that ask."""
import json
import os
import signal

import built
import files
from limits import LIMIT_S
from pair import Pair, config, settings_of, verified
from process import run
from wait import until


def ran(*args, env, code=0):
    return run([built.path("MRC_INFO"), *args], settings_of(env), code)


def mrc_info(*args, env):
    return ran(*args, env=env).stdout


def test_stats_of_killed_processes():
    """A killed process leaves its name behind; the next reader removes it."""
    env = {"MRC_PUBLISH": files.at()}
    with Pair(["--size", "1M", "--duration", LIMIT_S], env) as pair:
        def both():
            assert not pair.client.ended() and not pair.server.ended(), pair
            found = json.loads(mrc_info("--json", "--device", "mrc0", env=env))["processes"]
            return found if len(found) == 2 else None

        processes = until(both, "one of the two is not there")
        assert {p["pid"] for p in processes} == {pair.client.pid, pair.server.pid}
        for process in processes:
            assert process["program"] == "mrc-perf" and process["name"] == "mrc0", process
            assert {c["name"] for c in process["counters"]} >= {"tx_packets", "retransmits", "driver.tx_calls"}, process
            assert len(process["planes"]) == 4, process
        # Each is queried again, and may be too busy.
        until(lambda: pair.client.ended() or str(pair.client.pid) in mrc_info("--stats", env=env), "no answer of the client")
        assert not pair.client.ended(), pair
        assert json.loads(mrc_info("--json", env={**env, "MRC_PUBLISH": ""}))["processes"] == []
    folder = files.at(f"mrc-{os.geteuid()}")
    assert len(os.listdir(folder)) == 2, os.listdir(folder)
    assert json.loads(mrc_info("--json", env=env))["processes"] == []
    assert os.listdir(folder) == []


def test_stats_while_it_runs():
    """Counters of both sides of a transfer, one of them asleep in its library's helper thread."""
    env = {"MRC_PUBLISH": files.at()}
    with Pair(["--size", "1M", "--duration", LIMIT_S, "--sleepy-server"], env) as pair:
        busy = set()

        def both_receive():
            for process in json.loads(mrc_info("--json", env=env))["processes"]:
                counters = {c["name"]: c["value"] for c in process["counters"]}
                if counters["rx_packets"] > 0:
                    busy.add(process["pid"])
            return len(busy) == 2 or pair.client.ended()

        until(both_receive, lambda: f"only {busy} receive packets: {pair}")
        pair.client.signal(signal.SIGINT)
        assert pair.finish() == (0, 0), pair
    assert busy == {pair.client.pid, pair.server.pid}, busy
    assert os.listdir(files.at(f"mrc-{os.geteuid()}")) == [], "closing takes the name away"


def test_publishing_is_no_condition():
    """Another user's folder, or none: the device starts nevertheless."""
    os.mkdir(files.at(f"mrc-{os.geteuid()}"), 0o755)
    for folder in (files.at(), "/nonexistent", ""):
        env = {"MRC_PUBLISH": folder}
        verified(["--size", "64K", "--iters", "20"], env)
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
    env = config(TWO_DEVICES)

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
        assert "'nosuch0'" in ran("-d", "nosuch0", *mode, env={"MRC_PUBLISH": files.at()}, code=1).stderr, mode
    ran("-d", "mrc0", "--stats", env={"MRC_PUBLISH": files.at()})


def test_advice_once():
    text = mrc_info(env={"MRC_RCVBUF": "1073741824"})
    assert text.count("receive buffers are") == text.count("to raise: receive buffers are") <= 1, text


def test_refusal_once():
    for level in ("error", "off"):
        done = ran(env={"MRC_EV_COUNT": "many", "MRC_LOG": level}, code=1)
        assert done.stderr.count("'many'") == 1, done
        assert "mrc-info: the configuration is refused" in done.stderr, done


def test_manual_has_what_help_has():
    """The manual page holds the library's text on the grammar of faults, and the sections that a reader looks for."""
    path = os.path.join(os.path.dirname(__file__), "..", "..", "..", "tools", "man", "mrc-info.1")
    with open(path, encoding="utf-8") as page:
        manual = page.read().replace("\\-", "-")
    said = {line.strip() for line in manual.split("\n")}
    text = mrc_info("--help", env={})
    grammar = text[text.index("MRC_FAULT damages"):].split("\n")
    missing = [line.strip() for line in grammar[1:] if line.strip() and line.strip() not in said]
    assert not missing, missing
    for section in ("ENVIRONMENT", "FILES", "EXIT STATUS"):
        assert f"\n.SH {section}\n" in manual, section
