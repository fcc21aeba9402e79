"""Failing runs must end: in bounded time, with a message and exit code 1."""
import contextlib
import signal
import socket
import time

from pair import Pair, Process, free_port, refused


def start_and_kill(args, kill):
    pair = Pair(["--duration", "60", "--size", "1M", "--timeline", "100", *args])
    try:
        pair.until_data_flows()
        assert pair.client.process.poll() is None and pair.server.process.poll() is None, "ended before it was killed"
        getattr(pair, kill).process.kill()
        survivor = pair.client if kill == "server" else pair.server
        assert survivor.wait(40) == 1, survivor
        assert "what to do" in survivor.err, survivor
        return survivor.err
    finally:
        pair.client.kill()
        pair.server.kill()


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
    pair = Pair(["--timeout", "8", "--retry", "3,3", "--duration", "60"], {"MRC_FAULT": "blackhole@300ms-"})
    codes = pair.finish()
    assert codes == (1, 1), f"{pair.client}\n{pair.server}"
    assert "retries exceeded" in pair.client.err, pair.client
    assert "other side failed" in pair.server.err, pair.server


def ends_with_the_time(args, fault):
    """Retries as they are by default: they go on for longer than the run may take."""
    pair = Pair(["--duration", "1", *args], {"MRC_FAULT": fault})
    codes = pair.finish()
    assert codes == (1, 1), f"{pair.client}\n{pair.server}"
    text = pair.client.err + pair.server.err
    assert "the time is over" in text, text  # of two that send, either finds out first


def test_duration_ends_with_all_paths_dead():
    ends_with_the_time(["--size", "1M"], "blackhole@300ms-")


def test_duration_ends_with_all_paths_dead_both_ways():
    ends_with_the_time(["--size", "1M", "--bidirectional", "--verify"], "blackhole@300ms-")


def test_duration_of_latency_ends_with_all_paths_dead():
    ends_with_the_time(["--test", "lat"], "blackhole@300ms-")


def test_duration_ends_with_a_stopped_peer():
    pair = Pair(["--duration", "2", "--size", "1M", "--timeline", "100"])
    try:
        pair.until_data_flows()
        pair.server.process.send_signal(signal.SIGSTOP)
        assert pair.client.wait() == 1, pair.client
        assert "the time is over" in pair.client.err, pair.client
    finally:
        pair.server.process.send_signal(signal.SIGCONT)
        pair.client.kill()
        pair.server.kill()


def test_duration_ends_with_half_the_packets_lost():
    """Both ways, so that three of four packets have no answer. What matters is that it ends."""
    for args in (["--size", "64K"], ["--test", "lat"]):
        pair = Pair(["--duration", "1", *args], {"MRC_FAULT": "loss=0.5"})
        codes = pair.finish()
        assert codes in ((0, 0), (1, 1)), f"{pair.client}\n{pair.server}"


def test_no_server():
    text = refused(["localhost", "--port", free_port(), "--wait", "0.3"], words=["cannot reach", "what to do"])
    assert "mrc-perf" in text


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
        assert time.monotonic() - start < 15


def test_bad_host_name():
    refused(["no-such-host.invalid", "--wait", "0.3"], words=["no-such-host.invalid", "what to do"])


def test_port_in_use():
    port = free_port()
    first = Process(["--port", port])
    try:
        first.err_until("waiting for a client")
        refused(["--port", port], words=["cannot listen", "--port"])
    finally:
        first.kill()
        first.wait()


def client_refused(words, *said):
    """A client that cannot open its device reports it before it connects: its server keeps waiting and serves the next one."""
    port = free_port()
    server = Process(["--port", port, "--quiet"])
    try:
        server.err_until("waiting for a client")
        refused(["localhost", "--port", port, *words], words=said)
        client = Process(["localhost", "--port", port, "--quiet", "--iters", "10"])
        assert (client.wait(), server.wait()) == (0, 0), f"{client}\n{server}"
    finally:
        server.kill()


def test_unknown_device():
    client_refused(["--device", "nosuch0"], "nosuch0", "mrc-info")


def test_empty_gid_index():
    client_refused(["--gid-index", "99"], "GID index 99")
