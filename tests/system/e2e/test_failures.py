"""Failing runs must end: in bounded time, with a message and exit code 1."""
import contextlib
import json
import signal
import socket
import time

import ports
from limits import limit
from pair import Pair, Perf, refused

LONG = ("--duration", limit(60))  # of a transfer that is to end before


def start_and_kill(args, kill):
    with Pair([*LONG, "--size", "1M", "--signal-every", "1", "--timeline", "100", *args], server_args=["--json", "-"]) as pair:
        pair.until_data_flows()
        assert not pair.client.ended() and not pair.server.ended(), "ended before it was killed"
        getattr(pair, kill).kill()
        survivor = pair.client if kill == "server" else pair.server
        assert survivor.wait(limit(40)) == 1, survivor
        assert "what to do" in survivor.err, survivor
        check_incomplete(json.loads(survivor.out), survivor)
        return survivor.err


def check_incomplete(report, survivor):
    """What the survivor had measured, and the error."""
    assert report["ok"] is False and report["error"] in survivor.err and report["advice"] in survivor.err, survivor
    (size,) = report["sizes"]
    assert size["incomplete"] and size["messages"] > 0 and size["gbps"] > 0, size
    assert report["counters"]["rx_packets"] > 0 and len(report["planes"]) == 4, report["counters"]
    assert "losses" not in report, report
    if report["role"] == "client":
        assert report["timeline"] and report["counters"]["retransmits"] >= report["counters"]["fast_retransmits"], report


def test_server_killed_finite_retries():
    # Gives up after 3 x 67 ms and 134 + 268 + 537 ms: longer than a busy machine keeps a process waiting, a sanitizer's
    # slow ones included.
    text = start_and_kill(["--timeout", "16", "--retry", "3,3"], "server")
    assert "retries exceeded" in text, text


def test_server_killed_infinite_retries():
    text = start_and_kill([], "server")
    assert "gone" in text or "closed" in text, text


def test_client_killed():
    text = start_and_kill(["--verify"], "client")
    assert "gone" in text or "closed" in text, text


def test_all_paths_dead_finite_retries():
    """The transport itself gives up, though TCP between the two still works."""
    pair = Pair(["--timeout", "8", "--retry", "3,3", *LONG], {"MRC_FAULT": "blackhole@300ms-"})
    assert pair.finish() == (1, 1), pair
    assert "retries exceeded" in pair.client.err, pair.client
    assert "other side failed" in pair.server.err, pair.server


def ends_with_the_time(args, fault):
    """Retries as they are by default: they go on for longer than the run may take."""
    pair = Pair(["--duration", "1", *args], {"MRC_FAULT": fault})
    assert pair.finish() == (1, 1), pair
    text = pair.client.err + pair.server.err
    assert "the time is over" in text, text  # of two that send, either finds out first


def test_duration_ends_with_all_paths_dead():
    ends_with_the_time(["--size", "1M"], "blackhole@300ms-")


def test_duration_ends_with_all_paths_dead_both_ways():
    ends_with_the_time(["--size", "1M", "--bidirectional", "--verify"], "blackhole@300ms-")


def test_duration_of_latency_ends_with_all_paths_dead():
    ends_with_the_time(["--test", "lat"], "blackhole@300ms-")


def test_datagram_latency_ends_with_all_paths_dead():
    """A round is repeated for ten seconds at most, with a number of rounds, too."""
    for args in (["--duration", "2"], ["--iters", "1000000"]):
        pair = Pair(["--transport", "ud", "--test", "lat", *args], {"MRC_FAULT": "blackhole@300ms-"})
        assert pair.finish() == (1, 1), pair
        assert "is not answered, although it was repeated" in pair.client.err, pair


def test_duration_ends_with_a_stopped_peer():
    with Pair(["--duration", "2", "--size", "1M", "--timeline", "100"]) as pair:
        pair.until_data_flows()
        pair.server.signal(signal.SIGSTOP)
        assert pair.client.wait() == 1, pair.client
        assert "the time is over" in pair.client.err, pair.client


def test_duration_ends_with_half_the_packets_lost():
    """Both ways, so that three of four packets have no answer. What matters is that it ends."""
    for args in (["--size", "64K"], ["--test", "lat"]):
        pair = Pair(["--duration", "1", *args], {"MRC_FAULT": "loss=0.5"})
        assert pair.finish() in ((0, 0), (1, 1)), pair


def test_no_server():
    with Perf(["localhost", "--port", ports.free(), "--wait", "0.3", "--json", "-"]) as client:
        assert client.wait() == 1, client
    assert "mrc-perf: cannot reach" in client.err and "what to do" in client.err, client
    report = json.loads(client.out)
    assert report["ok"] is False and report["error"].startswith("cannot reach") and report["sizes"] == [], report


def test_no_answer_from_the_host():
    """A host that drops the first packet, here because its queue of connections is full, does not block the
    client for longer than its time limit."""
    with socket.socket() as deaf, contextlib.ExitStack() as waiting:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(deaf.getsockname())
        start = time.monotonic()
        refused(["127.0.0.1", "--port", deaf.getsockname()[1], "--wait", "1"], words=["cannot reach", "timed out"])
        assert time.monotonic() - start < limit(15)


def test_bad_host_name():
    refused(["no-such-host.invalid", "--wait", "0.3"], words=["no-such-host.invalid", "what to do"])


def test_port_in_use():
    port = ports.free()
    with Perf(["--port", port]) as first:
        first.err_until("waiting for a client")
        refused(["--port", port], words=["cannot listen", "--port"])


def client_refused(words, *said):
    """A client that cannot open its device reports it before it connects: its server keeps waiting and serves the next one."""
    port = ports.free()
    with Perf(["--port", port, "--quiet"]) as server:
        server.err_until("waiting for a client")
        refused(["localhost", "--port", port, *words], words=said)
        with Perf(["localhost", "--port", port, "--quiet", "--iters", "10"]) as client:
            assert (client.wait(), server.wait()) == (0, 0), f"{client}\n{server}"


def test_unknown_device():
    client_refused(["--device", "nosuch0"], "nosuch0", "mrc-info")


def test_empty_gid_index():
    client_refused(["--gid-index", "99"], "GID index 99")
