"""A local user who knows everything about a connection and can bind any free port moves nothing [MRC-SEC-9]."""
import json
import re
import socket
import struct
import threading
import zlib

import files
import ports
from limits import LIMIT_S
from pair import Perf, config
from test_info import mrc_info
from test_invalid_clients import connect
from wait import until

ADDRESS = "127.0.0.1"
DEVICE = f"devices:\n  - name: mrc0\n    planes:\n      - {{address: '{ADDRESS}'}}\n"
WRITE_ONLY, PROBE = 0xCA, 0xDE
FORGED = 50


def read_message(s):
    raw, wanted = b"", 4
    while len(raw) < wanted:
        part = s.recv(wanted - len(raw))
        if not part:
            return None
        raw += part
        if len(raw) == 4:
            wanted += struct.unpack(">I", raw)[0]
    return json.loads(raw[4:]), raw


class Between:
    """Passes on what mrc-perf's two sides say over TCP, and knows what they told each other. The client's first message
    after that waits for `released`: both queue pairs are up by then, and no data has been sent."""

    def __init__(self, server_port):
        self.listener = socket.create_server((ADDRESS, 0))
        self.port = self.listener.getsockname()[1]
        self.server_port = server_port
        self.told = {}
        self.up, self.released = threading.Event(), threading.Event()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        client, _ = self.listener.accept()
        server = connect(self.server_port)
        back = threading.Thread(target=self.pass_on, args=("server", server, client), daemon=True)
        back.start()
        self.pass_on("client", client, server)
        back.join()

    def pass_on(self, side, source, sink):
        while message := read_message(source):
            value, raw = message
            if side == "client" and "client" in self.told:
                self.up.set()
                self.released.wait(LIMIT_S)
            if "qpns" in value:
                self.told[side] = value
            sink.sendall(raw)
        sink.shutdown(socket.SHUT_WR)


def icrc(port, to, packet):
    """Over IPv4 of this host to itself [MRC-ICRC-1..5]."""
    udp, address = len(packet) + 12, socket.inet_aton(ADDRESS)
    head = b"\xff" * 8 + b"\x45\xff" + struct.pack(">H", udp + 20) + b"\0\0\x40\0\xff\x11\xff\xff" + address * 2
    head += struct.pack(">HHH", port, to, udp) + b"\xff\xff"
    return struct.pack("<I", zlib.crc32(head + packet[:4] + b"\xff" + packet[5:]))


def forge(told, slot_port):
    """Packets that only the server's peer should be able to send: the first message of the connection, with a key
    that opens the server's memory, and a probe. From a socket of our own."""
    qpn, psn = told["server"]["qpns"][0], told["client"]["psns"][0]
    length = 64
    bth = struct.pack(">BBHII", WRITE_ONLY, 0, 0xFFFF, qpn, psn)
    write = bth + struct.pack(">HHQII", 0, 0, told["server"]["addr"], told["server"]["rkey"], length) + b"\xa5" * length
    probe = struct.pack(">BBHII", PROBE, 0, 0xFFFF, qpn, 0) + struct.pack(">HBBHHHHI", 0, 0, 0, 7, 0, 0, 0, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((ADDRESS, 0))
        port = s.getsockname()[1]
        for _ in range(FORGED):
            for packet in (write, probe):
                s.sendto(packet + icrc(port, slot_port, packet), (ADDRESS, slot_port))
    return 2 * FORGED


def knows_the_clients_ports(server, env):
    for report in re.split(r"(?=\bprocess \d+ )", mrc_info("--stats", env=env)):  # the client learns the server's, too
        if report.startswith(f"process {server.pid} "):
            return re.search(r"port_sets_learnt +[1-9]", report)
    return None


def test_packets_from_a_port_of_ones_own_move_nothing():
    env, server_port = {**config(DEVICE), "MRC_PUBLISH": files.at()}, ports.free()
    between = Between(server_port)
    with Perf(["--port", server_port, "--quiet", "--json", "-"], env) as server, \
            Perf([ADDRESS, "--port", between.port, "--quiet", "--json", "-", "--verify", "--size", "64K", "--iters", "2000"],
                 env) as client:
        try:
            assert between.up.wait(LIMIT_S), f"{client}\n{server}"
            slot = between.told["server"]["qpns"][0] >> 16
            until(lambda: knows_the_clients_ports(server, env), "the server does not learn the client's ports")
            sent = forge(between.told, 4791 if slot == 0 else 20000 + slot)
        finally:
            between.released.set()
        assert (client.wait(), server.wait()) == (0, 0), f"{client}\n{server}"
    mine, theirs = json.loads(client.out), json.loads(server.out)
    assert mine["ok"] and theirs["ok"] and mine["sizes"][0]["mismatches"] == 0, f"{client}\n{server}"
    counters = theirs["counters"]
    assert counters["drop_source_port"] == sent, counters
    assert counters["contradictions"] == 0 and counters["qp_errors"] == 0, counters
    assert counters["port_sets_learnt"] >= 1 and mine["counters"]["drop_source_port"] == 0, (counters, mine["counters"])
