"""Connections to mrc-perf's TCP port that are no client's: the server reports them and keeps waiting."""
import json
import socket
import struct

import ports
from limits import LIMIT_S
from pair import Pair, Perf
from wait import until

TEST = {"op": "write", "test": "bw", "sizes": [4096], "qps": 1, "bidirectional": False, "inline": 0, "iters": 8,
        "verify": False, "seed": 1, "sleepy_server": False}
# Values that the command line would have refused, and shapes that no client sends.
BAD_TESTS = [None, 7, [], {}, {**TEST, "op": 0}, {**TEST, "op": "read"}, {**TEST, "test": True}, {**TEST, "sizes": []},
             {**TEST, "sizes": [-1]}, {**TEST, "sizes": [(1 << 30) + 1]}, {**TEST, "sizes": 4096}, {**TEST, "qps": 0},
             {**TEST, "qps": 60001}, {**TEST, "qps": 1.5}, {**TEST, "qps": (1 << 32) + 1}, {**TEST, "depth": 8193},
             {**TEST, "signal_every": 0}, {**TEST, "iters": 0}, {**TEST, "duration_s": 1}, {**TEST, "mtu": 1500},
             {**TEST, "inline": 1025}, {**TEST, "verify": 1}, {**TEST, "seed": "x"}, {**TEST, "timeout": 25},
             {**TEST, "retry": [8, 1]}, {**TEST, "retry": "3,4"}, {**TEST, "test": "lat", "verify": True},
             {**{k: v for k, v in TEST.items() if k != "iters"}, "duration_s": 1e9}, {**TEST, "slices": 1}, {**TEST, "slices": True}]


def message(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return struct.pack(">I", len(text)) + text


def connect(port):
    """As soon as a server listens there."""
    def connected():
        try:
            return socket.create_connection(("localhost", port), timeout=LIMIT_S)
        except ConnectionRefusedError:
            return None
    return until(connected, f"no server listens on port {port}")


def answer(port, said):
    """The server's answer to this before it closes."""
    with connect(port) as s:
        s.sendall(said)
        data = b""
        while part := s.recv(65536):
            data += part
    assert len(data) >= 4 and len(data) == 4 + struct.unpack(">I", data[:4])[0], data
    return json.loads(data[4:])


def test_one_shot_server_waits_for_a_client():
    with Pair([], server_args=["--json", "-"]) as run:
        run.client.kill()
        connect(run.port).close()
        hello = {"mrc_perf": 4}
        for said in (b"GET / HTTP/1.1\r\n\r\n", message(b"{"), message(b"\xff\xff"), message(3), message({}), message(hello),
                     message({"mrc_perf": "x"}), message({"mrc_perf": 3, "test": TEST}), message({"error": {}})):
            assert answer(run.port, said)["error"], said
        for test in BAD_TESTS:
            assert answer(run.port, message({**hello, "test": test}))["error"], test
        assert not run.server.ended()
        run.client = Perf(["localhost", "--port", run.port, "--iters", "8", "--json", "-", "--quiet"])
        assert run.finish() == (0, 0), run
        assert run.server.err.count("no client's") >= len(BAD_TESTS), run.server


def test_persistent_server_outlives_its_clients():
    """After a hello that is right, too: what comes then may be of any shape."""
    port = ports.free()
    with Perf(["--port", port, "--persistent", "--quiet"]) as server:
        hello = message({"mrc_perf": 4, "test": TEST})
        for then in ({}, {"gid": 1}, {"gid": "zz", "qpns": [1], "psns": [1], "mtu": 1024, "addr": 0, "rkey": 0}, {"error": 5}):
            with connect(port) as s:
                s.sendall(hello + message(then))
                while s.recv(65536):
                    pass
        serves_the_next_client(server, port)


def serves_the_next_client(server, port):
    with Perf(["localhost", "--port", port, "--iters", "8", "--quiet"]) as client:
        assert client.wait() == 0, client
    assert not server.ended(), server


def test_datagram_clients_that_are_refused_leave_nothing():
    """Neither one that wants too many queue pairs nor one that wants datagrams of megabytes, for which it would take gigabytes."""
    port = ports.free()
    with Perf(["--port", port, "--persistent", "--quiet"], {"MRC_MAX_QPS": "40"}) as server:
        for _ in range(2):
            for words, error in ((["--qps", "60"], "mrc_soft_create_ud_qp, number 41"), (["--qps", "30"], None)):
                with Perf(["localhost", "--port", port, "--transport", "ud", "--iters", "8", "--quiet", *words]) as client:
                    client.wait()
                if error is None:
                    assert client.code == 0, f"{client}\n{server}"
                else:
                    assert client.code == 1 and error in client.err, f"{client}\n{server}"
        with connect(port) as s:
            s.sendall(message({"mrc_perf": 4, "test": {**TEST, "op": "send", "transport": "ud", "sizes": [8 << 20]}}))
            exchange = received(s)
            s.sendall(message(exchange))  # as if this client had the server's own queue pair
            assert "larger than the path MTU" in str(received(s)["error"]), exchange
            with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
                peak = next(line for line in status if line.startswith("VmHWM:"))
            assert int(peak.split()[1]) < 1 << 20, peak  # KiB
        serves_the_next_client(server, port)


def received(s):
    """The next message of the server."""
    length = struct.unpack(">I", exactly(s, 4))[0]
    return json.loads(exactly(s, length))


def exactly(s, count):
    data = b""
    while len(data) < count:
        part = s.recv(count - len(data))
        assert part, data
        data += part
    return data


def test_slices_of_no_length():
    """A client that is connected asks for a slice that no line of its input could."""
    port = ports.free()
    test = {**{k: v for k, v in TEST.items() if k != "iters"}, "duration_s": 0.1, "slices": True}
    with Perf(["--port", port, "--persistent", "--quiet"]) as server:
        for wrong in ({"slice": -1}, {"slice": 0.009}, {"slice": 61}, {"slice": "0.1"}, {"slice": None}, {}):
            with connect(port) as s:
                s.sendall(message({"mrc_perf": 4, "test": test}))
                s.sendall(message(received(s)))  # as if this client had the server's own queue pair
                assert received(s) == {"barrier": "slices"}
                s.sendall(message({"barrier": "slices"}) + message(wrong))
                assert "error" in received(s), wrong
        serves_the_next_client(server, port)


def test_other_clients_do_not_prolong_the_wait_for_a_clients_threads():
    """A client that promises two threads and opens one connection: the server gives it up, however many others come."""
    port = ports.free()
    with Perf(["--port", port, "--quiet"]) as server, connect(port) as s:
        def listens_no_more():
            try:
                socket.create_connection(("localhost", port), timeout=LIMIT_S).close()
            except OSError:
                return True
            return server.ended()

        s.sendall(message({"mrc_perf": 5, "session": "1", "test": {**TEST, "qps": 2, "threads": 2}}))
        until(listens_no_more, "it still waits for the second thread", every_s=0.2)
        assert server.wait() == 1, server
        assert "a connection for each thread" in server.err, server
