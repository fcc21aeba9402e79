"""mrc-perf --slices: one connection, a run for each line of the client's standard input, one JSON line for each."""
import json

import built
import ports
from limits import LIMIT_S
from pair import Perf, settings_of
from process import run

LINES = ("0.03", "", "0.02")


def answers(args, lines=LINES, code=0):
    """The client's lines of JSON; both sides must end with the expected code."""
    port = ports.free()
    with Perf(["--port", port, "--quiet"]) as server:
        client = run([built.path("MRC_PERF"), "localhost", "--port", port, "--slices", *args], settings_of({}), code, 2 * LIMIT_S,
                     input="".join(line + "\n" for line in lines))
        assert server.wait() == (0 if code == 0 else 1), f"{client}\n{server}"
    first, *rest = [json.loads(line) for line in client.stdout.splitlines()]
    assert first == {"ready": True}, first
    return rest, client.stderr


def transferred(args, size, lines=LINES):
    slices, _ = answers(["--size", str(size), *args], lines)
    assert len(slices) == len(lines), slices
    for s in slices:
        assert s["messages"] > 0 and s["bytes"] == s["messages"] * size and s["seconds"] > 0, s
        assert set(s["cpu_s"]) == {"client", "server"}, s
        assert s.get("mismatches", 0) == 0, s
    return slices


def test_bandwidth():
    transferred(["--qps", "4"], 65536)
    transferred(["--sleepy-server", "--bidirectional"], 1 << 20)


def test_threads():
    """New ones for each slice, with the queue pairs of the first."""
    transferred(["--qps", "4", "--threads", "2", "--verify"], 16384)


def test_rate():
    transferred(["--test", "rate"], 64)


def test_verified_data():
    """The numbering of messages, credits and receives continue from slice to slice."""
    for op in ("write", "write-imm"):
        for s in transferred(["--verify", "--qps", "3", "--op", op], 4096):
            assert s["mismatches"] == 0, s


def test_latency():
    for op in ("write", "write-imm"):
        slices, _ = answers(["--test", "lat", "--op", op])
        assert len(slices) == len(LINES), slices
        for s in slices:
            figures = s["latency"]
            assert figures["samples"] > 0 and 0 < figures["p50_us"] <= figures["p99_us"] <= figures["p999_us"], s
            assert set(s["cpu_s"]) == {"client", "server"} and s["seconds"] > 0, s


def test_datagrams():
    """Numbering goes on from slice to slice; rounds are half round trips, as without datagrams."""
    for s in transferred(["--transport", "ud", "--verify", "--qps", "3"], 1024):
        assert s["mismatches"] == 0 and s["lost"] >= 0, s
    slices, _ = answers(["--transport", "ud", "--test", "lat"])
    assert len(slices) == len(LINES), slices
    for s in slices:
        assert s["latency"]["samples"] > 0 and s["latency"]["lost"] >= 0, s


def test_no_line():
    slices, _ = answers([], lines=())
    assert slices == []


def test_a_line_that_is_no_length():
    slices, errors = answers(["--size", "4K"], lines=("0.02", "soon"), code=2)
    assert len(slices) == 1 and "'soon' is not the length of a slice" in errors, errors
