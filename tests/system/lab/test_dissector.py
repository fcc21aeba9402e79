"""The lab's own SRv6 traffic, as a T1 and the receiving host see it, read by tshark with our dissector: every header has its
name, nothing is malformed, and every ICRC fits, also where the destination still holds uSIDs of switches [MRC-SR-7]
[MRC-SR-11]. A gray link puts retransmissions on the wire."""
from bench import FABRIC, UNTIL_FINISHED, Lab, Transfer

import files
import shark
from capture_test import DISCARD, Recording
from lab import environment

# One plane, so that the receiver's one port sees all retransmissions.
ONE_PLANE = FABRIC.replace("planes: 2", "planes: 1").replace("nics_per_t0: 2", "nics_per_t0: 1")
SENT_AGAIN = 4  # how many the sender has counted before it ends: some arrive, whichever the link drops
FIELDS = ("frame.protocols", "ipv6.dst", "mrc.bth.opcode", "mrc.bth.rtx", "mrc.icrc.status", "mrc.icrc.dst", "mrc.malformed",
          "_ws.malformed")
DATA = {0xC6, 0xC7, 0xC8}  # first, middle and last packet of a write
HOSTS = {"fcbb:bb00:c00::", "fcbb:bb00:c01::"}


def read(path):
    """tshark's output for each packet of MRC, by field; the dissector in Lua is slow, so it runs once."""
    options = ["-T", "fields", "-E", "separator=|", *[word for name in FIELDS for word in ("-e", name)],
               "-Y", f"not icmpv6 and not udp.port == {DISCARD}"]
    return [dict(zip(FIELDS, line.split("|"))) for line in shark.tshark(path, *options).splitlines()]


def recorded(datapath):
    """The packets at a T1's port to the receiver's T0, and at the receiver's port."""
    paths = [files.at(name) for name in ("t1.pcap", "host.pcap")]
    with Lab(ONE_PLANE) as two:
        recordings = []
        try:
            for (node, port), path in zip((("p0-t1-0", "t0-1"), ("h1", "p0")), paths):
                recordings.append(Recording(two.inside(node), port, path, "ip6", environment()))
            two("fault", "loss", "p0-t0-0:t1-0", "5%", "--direction", "up")
            # Captures on the interface do not contain frames of AF_XDP.
            plain = {"MRC_GSO": "off", "MRC_GRO": "off", "MRC_RAW_IO": "packet"}
            with Transfer(two, UNTIL_FINISHED, datapath, (), plain, target="h1") as transfer:
                transfer.run_until("packets sent again", lambda rows: sum(row.retransmits for row in rows) >= SENT_AGAIN)
                transfer.finish()
        finally:
            for recording in recordings:
                recording.stop()
    return [read(path) for path in paths]


def check(packets, layers):
    assert packets
    for packet in packets:
        assert packet["frame.protocols"] in layers and packet["mrc.icrc.status"] == "good", packet
        assert not packet["mrc.malformed"] and not packet["_ws.malformed"], packet
    opcodes = {int(packet["mrc.bth.opcode"], 0) for packet in packets}
    assert DATA <= opcodes, opcodes


def sent_again(packets):
    return [packet for packet in packets
            if packet["mrc.bth.rtx"] in ("1", "True") and int(packet["mrc.bth.opcode"], 0) in DATA]


def test_addresses_that_are_shifted():
    t1, host = recorded("udp")
    for packets in (t1, host):
        check(packets, ("eth:ethertype:ipv6:udp:mrc",))
    assert sent_again(host), "5 % are lost, and nothing is sent again"
    for packet in t1:
        assert packet["mrc.icrc.dst"] in HOSTS and packet["ipv6.dst"] not in HOSTS, packet
    arrived = {packet["ipv6.dst"] for packet in host if not packet["mrc.icrc.dst"]}
    assert arrived == {"fcbb:bb00:c01::"}, arrived


def test_frames_within_frames():
    t1, host = recorded("raw")
    for packets in (t1, host):
        check(packets, ("eth:ethertype:ipv6:ipv6:udp:mrc",))
    assert sent_again(host), "5 % are lost, and nothing is sent again"
    for packet in t1:
        outer, inner = packet["ipv6.dst"].split(",")
        assert outer not in HOSTS and inner in HOSTS and not packet["mrc.icrc.dst"], packet
