"""The dissector over traffic of mrc-perf.

dumpcap records in a namespace of the test's own, so there is nothing else on the wire. Every packet must be named, none
may be malformed, and every field must be what the library's decoder reads in the same bytes.
"""
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "..", "facts", "dissector")]

import files
import packets
import pair
import shark
from namespaces import Namespaces, Planes, inside
from process import Process, run
from skip import need, need_program
from wait import until

DISCARD = 9  # the port of the packet that ends a recording
END = packets.frame(packets.Flow("fe80::1", "fe80::2", DISCARD, DISCARD), b"the end of the recording")
SEND = """import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
    s.bind((sys.argv[1], 0))
    s.send(bytes.fromhex(sys.argv[2]))
"""


class Recording:
    """dumpcap on one interface, within a namespace, from the moment that it listens."""

    def __init__(self, prefix, interface, path, what="udp", env=None):
        self.send_end = [*prefix, sys.executable, "-c", SEND, interface, END.hex()]
        self.path, self.env = path, env
        self.process = Process([*prefix, need_program("dumpcap", "tshark"), "-q", "-P", "-B", "64", "-i", interface, "-f", what,
                                "-w", path], env)
        try:
            self.process.err_until("^File:")
        except AssertionError:
            self.process.kill()
            # "You don't have permission to capture", "Operation not permitted". All else is a fault of ours.
            need("permi" not in self.process.err, f"dumpcap may not capture here: {self.process.err.strip()}")
            raise

    def ends(self):
        with open(self.path, "rb") as capture:
            return END in capture.read()

    def stop(self):
        """The kernel hands packets over every so often: the file is whole when it has the one that is sent now."""
        run(self.send_end, self.env)
        until(self.ends, f"{self.path} does not get the last packet")
        self.process.signal(signal.SIGINT)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure is None:
            self.stop()
        self.process.kill()


def recorded(args, env=None):
    """Runs a pair of mrc-perf on a loopback of its own; returns the capture as [(flow, payload)] and the dissector's word on each."""
    path = files.at("lo.pcap")
    with Namespaces(["mrc-dissect"]):
        own = inside("mrc-dissect")
        with Recording(own, "lo", path):
            pair.succeed(args, env, prefixes=(own, own), host="127.0.0.1")
    return captured(path)


def captured(file):
    """[(flow, payload)] and the trees of each, without the packet that ends it."""
    both = [(record, trees) for record, trees in zip(packets.read(file), shark.dissect(file), strict=True)
            if not record or record[0].dst_port != DISCARD]
    return [record for record, _ in both], [trees for _, trees in both]


def same(records, frames):
    """Every packet as the decoder reads it; returns all packets, joined ones taken apart."""
    wanted, shown = [], []
    for record, trees in zip(records, frames):
        assert record, "a datagram that is neither IPv4 nor IPv6, or a fragment"
        flow, payload = record
        if not trees and not any(payload[:32]):
            continue  # the self-test that looks for segmentation offload talks to itself; 0 is no opcode
        if not trees and flow.dst_port != 4791 and len(payload) <= 12:
            continue  # cut to its BTH, on the port of a process slot: nothing distinguishes it from other traffic
        assert trees, (flow, payload[:80].hex())
        at = 0
        for tree in trees:  # where they are joined, the ICRC of each part shows whether the dissector cut at the right places
            n = tree["mrc.nominal_size"] - 48
            wanted.append((flow, payload[at:at + n], tree.get("mrc.trimmed", 0) == 1))
            shown.append(tree)
            at += n
        assert at == len(payload), (at, len(payload))
    for (flow, payload, _), ours, theirs in zip(wanted, shark.decode(wanted), shown):
        found = shark.differences(ours, theirs)
        assert ours["error"] == "ok" and not found, f"{payload[:80].hex()} of {flow}: {ours['error']}\n" + "\n".join(found) + f"\n{theirs}"
    return shown


def opcodes(shown):
    return {tree["mrc.bth.opcode"] for tree in shown}


def traffic_one_by_one():
    records, frames = recorded(["--size", "20003", "--iters", "25", "--op", "write-imm", "--verify"], {"MRC_GSO": "off", "MRC_GRO": "off"})
    assert all(len(trees) == 1 for trees in frames)
    shown = same(records, frames)
    assert {0xC6, 0xC7, 0xC9, 0xD1, 0xDC} <= opcodes(shown), opcodes(shown)
    assert sum(tree["mrc.bth.opcode"] == 0xC9 and tree["mrc.bth.rtx"] == 0 for tree in shown) >= 25
    assert all(tree["mrc.icrc.status"] == "good" for tree in shown)


def traffic_in_bursts():
    records, frames = recorded(["--size", "100000", "--iters", "10"], {"MRC_GSO": "on"})
    assert any(len(trees) > 1 for trees in frames), "no burst was seen: what this test is for"
    shown = same(records, frames)
    assert {0xC6, 0xC7, 0xC8, 0xD1, 0xDC} <= opcodes(shown), opcodes(shown)


def traffic_with_loss_and_trimming():
    """NACKs, probes, retransmissions and trimmed packets on the wire."""
    faults = {"MRC_FAULT": "seed=5;loss=0.05,trim=0.05,ecn=0.05", "MRC_TRIMMING": "true", "MRC_GSO": "off"}
    records, frames = recorded(["--size", "64K", "--iters", "40", "--bidirectional"], faults)
    shown = same(records, frames)
    assert {0xC6, 0xC7, 0xC8, 0xD1, 0xDC, 0xDD} <= opcodes(shown), opcodes(shown)
    assert any(tree["mrc.bth.rtx"] and tree["mrc.bth.opcode"] < 0xCC for tree in shown)
    assert any("nack" in tree.get("expert", ()) for tree in shown)


def damaged_traffic():
    """Packets that the sender damages on purpose: the dissector flags those, and only those, that the decoder refuses."""
    records, frames = recorded(["--size", "8K", "--iters", "60", "--bidirectional"], {"MRC_FAULT": "seed=2;corrupt=0.1", "MRC_GSO": "off"})
    wanted = [(flow, payload, bool(trees) and trees[0].get("mrc.trimmed", 0) == 1) for (flow, payload), trees in zip(records, frames)]
    bad = 0
    for (flow, payload, _), ours, trees in zip(wanted, shark.decode(wanted), frames):
        if not trees:  # on the port of a process slot a damaged packet is no MRC packet: only its ICRC could show that
            assert flow.dst_port not in (4791, 4971) and ours["icrc"] != "good", (flow, payload.hex())
            continue
        found = shark.differences(ours, trees[0])
        assert not found, f"{payload[:80].hex()} of {flow}:\n" + "\n".join(found)
        if ours["error"] != "ok" or ours["icrc"] == "bad":
            bad += 1
            assert 8388608 in trees[0]["severity"], trees[0]
    assert bad > 0, "nothing was damaged"


def traffic_between_hosts():
    """Two namespaces and three planes, learnt over the first [MRC-EXT-1]: the questions and answers are on the wire of plane 1."""
    capture = files.at("plane1.pcap")
    with Planes([(f"fd00:6d72:{p}::1/64", f"fd00:6d72:{p}::2/64") for p in (1, 2, 3)]) as planes:
        env = [pair.config("devices:\n  - name: mrc0\n    planes:\n" +
                           "".join(f"      - {{address: '{planes.address(p, side)}'}}\n" for p in (1, 2, 3)) +
                           "    peers: {learn: true}\n", f"side{side}.yaml") for side in (0, 1)]
        # 5 ms pass between a question and the next: 40 ping-pongs of 4 ms and more outlast several on any machine.
        for side in env:
            side["MRC_FAULT"] = "delay=2ms"
        with Recording(planes.inside(0), "plane1", capture):
            pair.succeed(["--test", "lat", "--size", "4K", "--iters", "40"], env[1], server_env=env[0],
                         prefixes=(planes.inside(0), planes.inside(1)), host=planes.address(1, 0))
    shown = same(*captured(capture))
    assert {0xDA, 0xDB} <= opcodes(shown), opcodes(shown)
    assert any(tree.get("mrc.plth.ready") == 1 for tree in shown)
