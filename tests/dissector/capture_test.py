"""The dissector over traffic of mrc-perf: usage: capture_test.py DECODER FUNCTION MRC_PERF

dumpcap records in a namespace of the test's own, so there is nothing else on the wire. Every packet must be named, none
may be malformed, and every field must be what the library's decoder reads in the same bytes.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

import packets
import shark
import pair
from namespaces import Planes, ip, remove_orphans


class Recording:
    """dumpcap on one interface, within a namespace, from the moment that it listens."""

    def __init__(self, prefix, interface, path, what="udp", env=None):
        if not shutil.which("dumpcap"):
            raise shark.Skipped("the program dumpcap is missing (apt-get install tshark)")
        self.path = path
        self.process = subprocess.Popen([*prefix, "dumpcap", "-q", "-P", "-B", "64", "-i", interface, "-f", what, "-w", path],
                                        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True)
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if line.startswith("File:"):
                return
        self.process.wait()
        raise shark.Skipped(f"dumpcap may not capture here: {self.said.strip()}")

    def stop(self):
        time.sleep(0.5)  # what the kernel holds is handed over every so often; the end of the traffic must be in the file
        self.process.send_signal(signal.SIGINT)
        self.said += self.process.communicate(timeout=30)[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


class Loopback:
    """A namespace with nothing but a loopback interface."""

    def __init__(self):
        if os.geteuid() != 0:
            raise shark.Skipped("network namespaces need root")
        self.name = f"mrc-dissect-{os.getpid()}"

    def __enter__(self):
        remove_orphans()
        ip("netns", "add", self.name)
        ip("-n", self.name, "link", "set", "lo", "up")
        return ["ip", "netns", "exec", self.name]

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, timeout=20, check=False)


def recorded(perf, args, env=None):
    """Runs a pair of mrc-perf on a loopback of its own; returns the capture as [(flow, payload)]."""
    pair.MRC_PERF = perf
    with tempfile.TemporaryDirectory(prefix="mrc-dissector-") as folder, Loopback() as inside:
        path = os.path.join(folder, "lo.pcap")
        with Recording(inside, "lo", path):
            pair.succeed(args, env, prefixes=(inside, inside), host="127.0.0.1")
        records = packets.read(path)
        return records, shark.dissect(path), path


def same(records, frames):
    """Every packet as the decoder reads it; returns all packets, joined ones taken apart."""
    assert len(records) == len(frames), (len(records), len(frames))
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


def traffic_one_by_one(path):
    records, frames, _ = recorded(path, ["--size", "20003", "--iters", "25", "--op", "write-imm", "--verify"], {"MRC_GSO": "off", "MRC_GRO": "off"})
    assert all(len(trees) == 1 for trees in frames)
    shown = same(records, frames)
    assert {0xC6, 0xC7, 0xC9, 0xD1, 0xDC} <= opcodes(shown), opcodes(shown)
    assert sum(tree["mrc.bth.opcode"] == 0xC9 and tree["mrc.bth.rtx"] == 0 for tree in shown) >= 25
    assert all(tree["mrc.icrc.status"] == "good" for tree in shown)


def traffic_in_bursts(path):
    records, frames, _ = recorded(path, ["--size", "100000", "--iters", "10"], {"MRC_GSO": "on"})
    assert any(len(trees) > 1 for trees in frames), "no burst was seen: what this test is for"
    shown = same(records, frames)
    assert {0xC6, 0xC7, 0xC8, 0xD1, 0xDC} <= opcodes(shown), opcodes(shown)


def traffic_with_loss_and_trimming(path):
    """NACKs, probes, retransmissions and trimmed packets on the wire."""
    faults = {"MRC_FAULT": "seed=5;loss=0.05,trim=0.05,ecn=0.05", "MRC_TRIMMING": "true", "MRC_GSO": "off"}
    records, frames, _ = recorded(path, ["--size", "64K", "--iters", "40", "--bidirectional"], faults)
    shown = same(records, frames)
    assert {0xC6, 0xC7, 0xC8, 0xD1, 0xDC, 0xDD} <= opcodes(shown), opcodes(shown)
    assert any(tree["mrc.bth.rtx"] and tree["mrc.bth.opcode"] < 0xCC for tree in shown)
    assert any("nack" in tree.get("expert", ()) for tree in shown)


def damaged_traffic(path):
    """Packets that the sender damages on purpose: the dissector flags those, and only those, that the decoder refuses."""
    records, frames, _ = recorded(path, ["--size", "8K", "--iters", "60", "--bidirectional"], {"MRC_FAULT": "seed=2;corrupt=0.1", "MRC_GSO": "off"})
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


def traffic_between_hosts(path):
    """Two namespaces and three planes, learnt over the first [MRC-EXT-1]: the questions and answers are on the wire of plane 1."""
    if os.geteuid() != 0:
        raise shark.Skipped("network namespaces need root")
    pair.MRC_PERF = path
    planes = Planes([(f"fd00:6d72:{p}::1/64", f"fd00:6d72:{p}::2/64") for p in (1, 2, 3)])
    with tempfile.TemporaryDirectory(prefix="mrc-dissector-") as folder, planes:
        pair.FOLDER = folder
        capture = os.path.join(folder, "plane1.pcap")
        env = [pair.config("devices:\n  - name: mrc0\n    planes:\n" +
                           "".join(f"      - {{address: '{planes.address(p, side)}'}}\n" for p in (1, 2, 3)) +
                           "    peers: {learn: true}\n", f"side{side}.yaml") for side in (0, 1)]
        # 5 ms pass between a question and the next: 40 ping-pongs of 4 ms and more outlast several on any machine.
        for side in env:
            side["MRC_FAULT"] = "delay=2ms"
        with Recording(planes.inside(0), "plane1", capture):
            pair.succeed(["--test", "lat", "--size", "4K", "--iters", "40"], env[1], server_env=env[0],
                         prefixes=(planes.inside(0), planes.inside(1)), host=planes.address(1, 0))
        shown = same(packets.read(capture), shark.dissect(capture))
    assert {0xDA, 0xDB} <= opcodes(shown), opcodes(shown)
    assert any(tree.get("mrc.plth.ready") == 1 for tree in shown)


if __name__ == "__main__":
    try:
        shark.run({f.__name__: f for f in (traffic_one_by_one, traffic_in_bursts, traffic_with_loss_and_trimming, damaged_traffic,
                                           traffic_between_hosts)})
    except pair.Skipped as reason:
        print(f"skipped: {reason}")
        sys.exit(shark.SKIPPED)
