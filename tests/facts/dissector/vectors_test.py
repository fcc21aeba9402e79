"""The dissector over the golden vectors, whose path a function gets.

Every packet of spec/vectors/wire_headers.json must be decoded as by the library, every header as in the vector, and
every packet that the decoder refuses must be flagged with the same words [MRC-WIRE-1..6].
"""
import json

import files
import packets
import shark
from packets import Flow, V4, V6

# An opcode whose packets have the header, and the headers before it, for the vectors of single headers.
HOSTS = {"METH": (0xC6, ""), "TSETH": (0xC6, "00070009"), "RETH": (0xC6, "00070009"), "ImmDt": (0xCB, "00070009" + "00" * 16),
         "AETH": (0xD1, ""), "SETH": (0xDC, ""), "CC_STATE": (0xDC, "00" * 28), "NETH": (0xDD, ""), "PETH": (0xDE, ""),
         "ERTH": (0xD8, ""), "EETH": (0xD9, ""), "PLTH": (0xDA, ""),
         "DETH": (0x65, ""), "SPTH": (0xDB, "01" + "00" * 31 + "40000000")}
TAILS = {"METH": "00" * 12 + "00000008" + "00" * 4, "TSETH": "00" * 12 + "00000008" + "00" * 4, "RETH": "00" * 4, "DETH": "00" * 4, "SETH": "00" * 8}


def load(vectors):
    with open(vectors, encoding="utf-8") as source:
        return json.load(source)


def golden(vectors):
    return [(Flow(p["src"], p["dst"], p["src_port"], p["dst_port"]), bytes.fromhex(p["hex"])) for p in vectors["packets"]]


def shown(records, *options, frames=None):
    """One list of packets per record."""
    path = files.at("test.pcap")
    packets.write(path, frames or [packets.frame(flow, payload) for flow, payload in records])
    found = shark.dissect(path, *options)
    assert len(found) == len(records), (len(found), len(records))
    return found


def compare(records, trimmed=False):
    """Dissector against decoder; returns the decoder's answers."""
    answers = shark.decode([(flow, payload, trimmed) for flow, payload in records])
    for (flow, payload), ours, trees in zip(records, answers, shown(records)):
        assert len(trees) == 1, (payload.hex(), trees)
        found = shark.differences(ours, trees[0])
        assert not found, f"{payload.hex()} of {flow}: decoder / dissector:\n" + "\n".join(found) + f"\n{trees[0]}"
    return answers


def packets_as_the_library(path):
    records = golden(load(path))
    answers = compare(records)
    assert {a["error"] for a in answers} == {"ok"} and {a["icrc"] for a in answers} == {"good"}, answers


def headers_as_the_vectors_say(path):
    vectors = load(path)["headers"]
    records = []
    for v in vectors:
        if v["header"] == "BTH":
            records.append((V6, packets.with_icrc(V6, bytes.fromhex(v["hex"]))))
            continue
        opcode, before = HOSTS[v["header"]]
        dqp = "000002" if opcode in (0xD8, 0xD9, 0xDA, 0xDB) else "000123"
        bth = f"{opcode:02x}00ffff00{dqp}{'10' if v['header'] == 'TSETH' else '00'}000000"
        records.append((V6, packets.with_icrc(V6, bytes.fromhex(bth + before + v["hex"] + TAILS.get(v["header"], "")))))
    assert {v["header"] for v in vectors} == {"BTH", *HOSTS}
    for v, trees in zip(vectors, shown(records)):
        header, tree = v["header"].lower(), trees[0]
        for name, value in v["fields"].items():
            if header == "seth" and name == ("ack_psn_offset" if v["fields"]["pr"] else "probe_id"):
                continue  # these two share their bytes; the other one is not shown
            if name in ("va", "nonce", "sack_bitmap"):
                value = int(value, 0)
            if header == "spth" and name == "ports":
                value = ":".join(f"{byte:02x}" for port in value for byte in port.to_bytes(2, "big"))
            got = tree.get(f"mrc.{header}.{name}")
            if name == "addr":
                got, value = packets.ipaddress.ip_address(got), packets.ipaddress.ip_address(value)
            assert got == value, f"{v['name']}: {name} is {got}, not {value}\n{tree}"


def cut_at_every_byte(path):
    """[MRC-WIRE-2] Each shorter packet is flagged with the header that is missing, as the decoder does."""
    records = [(flow, payload[:n]) for flow, payload in golden(load(path)) for n in range(1, len(payload))]
    answers = compare(records)
    errors = {a["error"] for a in answers}
    assert {f"short {h}" for h in ("BTH", *HOSTS)} <= errors and "no ICRC" in errors, errors


def changed_in_every_byte(path):
    """Each byte of each header and trailer flipped: same verdict, same fields."""
    records = []
    for flow, payload in golden(load(path)):
        for i in [*range(min(len(payload), 52)), *range(len(payload) - 4, len(payload))]:
            records.append((flow, payload[:i] + bytes([payload[i] ^ 0xFF]) + payload[i + 1:]))
            records.append((flow, payload[:i] + bytes([payload[i] ^ 0x01]) + payload[i + 1:]))
    answers = compare(records)
    assert sum(a["icrc"] == "good" for a in answers) == 2 * len(golden(load(path))), "only byte 4 of the BTH is not covered [MRC-ICRC-4]"


def lengths_and_pads(path):
    """Pad counts, payload lengths and bytes behind control headers that do not fit [MRC-BTH-3] [MRC-WIRE-4] [MRC-WIRE-5]."""
    records = []
    for flow, payload in golden(load(path)):
        for more in (1, 2, 3, 4, 20, 60, 63, 64, 1000):  # 20 and 64 on are padding of endpoint requests [MRC-EVP-6..7]
            records.append((flow, packets.with_icrc(flow, payload[:-4] + b"\0" * more)))
        for pad in range(4):
            records.append((flow, packets.with_icrc(flow, payload[:1] + bytes([pad << 4]) + payload[2:-4])))
        records.append((flow, packets.with_icrc(flow, payload[:5] + b"\0\0\x02" + payload[8:-4])))
        records.append((flow, packets.with_icrc(flow, payload[:5] + b"\0\x01\x02" + payload[8:-4])))
    errors = {a["error"] for a in compare(records)}
    assert errors == {"ok", "pad count does not fit", "payload length contradicts opcode or RETH", "bytes behind a control header",
                      "endpoint operation to an ordinary QPN"}, errors


def every_opcode_and_version(path):
    """[MRC-BTH-1] [MRC-BTH-2] All 256 opcodes, each transport version; every known opcode has a golden packet (packet_test.cc)."""
    known = len({payload[0] for _, payload in golden(load(path))})
    records = [(V4, packets.with_icrc(V4, bytes([op, tver]) + bytes.fromhex("ffff0000000200000000") + bytes(48)))
               for op in range(256) for tver in (0, 1)] + [(V6, bytes([0xD1, tver]) + bytes(20)) for tver in range(16)]
    errors = [a["error"] for a in compare(records)]
    assert errors.count("unknown opcode") == 256 - known and errors.count("transport version not 0") == 256 + 15


def trimmed_packets(path):
    """[MRC-CHOICE-Q24] By DSCP alone; whatever is left behind METH and TSETH is not looked at."""
    for dscp in (12, 16):
        records = [(flow.with_(traffic_class=dscp << 2), payload[:n]) for flow, payload in golden(load(path))
                   for n in (4, 12, 14, 16, 18, 20, 40) if n < len(payload)]
        answers = compare(records, trimmed=True)
        assert {"ok", "short BTH", "short METH", "short TSETH", "trimmed packet is no request"} == {a["error"] for a in answers}


def what_deserves_a_look(path):
    """Expert information of packets that are no errors: retransmission, rejection, marks, reserved bits, odd values."""
    by_name = {v["name"]: (Flow(v["src"], v["dst"], v["src_port"], v["dst_port"]), bytes.fromhex(v["hex"])) for v in load(path)["packets"]}

    def look(name, change=None, **flow_changes):
        flow, payload = by_name[name]
        flow = flow.with_(**flow_changes)
        tree = shown([(flow, packets.with_icrc(flow, change(payload[:-4]) if change else payload[:-4]))])[0][0]
        assert tree["mrc.icrc.status"] == "good" and "mrc.malformed" not in tree, tree
        return tree.get("expert", set())

    def byte(at, value):
        return lambda p: p[:at] + bytes([value]) + p[at + 1:]

    assert look("WRITE First, timestamp, IPv6") == set()
    assert look("WRITE Last with immediate, retransmitted") == {"rtx"}
    assert look("WRITE First, timestamp, IPv6", traffic_class=3) == {"marked"}
    assert look("WRITE First, timestamp, IPv6", byte(8, 0x51)) == {"reserved_bits"}
    assert look("WRITE First, timestamp, IPv6", byte(6, 0), label=5) == set()
    assert look("SACK of data") == {"marked"}
    assert look("SACK of data", byte(11, 0)) == {"marked", "repeated_psn"}
    assert look("SACK of a probe", byte(13, 0x62)) == {"value"}
    assert look("NACK TRIMMED") == {"nack"}
    assert look("NACK TRIMMED", byte(14, 0x55)) == {"nack", "value"}
    assert look("ACK", byte(12, 0x62)) == {"nak"}
    assert look("ACK", lambda p: p[:5] + b"\0\0\1" + p[8:]) == {"reserved_qpn"}
    assert look("EV probe request", byte(13, 3)) == {"value"}


def other_ports_and_encapsulation(path):
    """A process slot's port is recognised by the ICRC alone; other traffic there is left alone; with an outer header the inner counts."""
    flow, payload = golden(load(path))[0]
    slot = flow.with_(dst_port=20001, label=0x54321)
    right = packets.with_icrc(slot, payload[:-4])
    records = [(slot, right), (slot, payload), (slot, b"GET / HTTP/1.1\r\n" * 4), (flow, payload)]
    frames = [packets.frame(f, p) for f, p in records[:3]] + [packets.encapsulated(flow, payload, "fd00:5::1", "fd00:6:7:8::")]
    trees = shown(records, frames=frames)
    assert [len(t) for t in trees] == [1, 0, 0, 1], trees
    manolito = slot.with_(src_port=41170)  # an EV that is the port of another protocol
    assert [len(t) for t in shown([(manolito, packets.with_icrc(manolito, payload[:-4]))])] == [1]
    quake = flow.with_(dst_port=27960)  # and a port of both: MRC's packets are MRC, the others stay what they were
    capture = files.at("both.pcap")
    frames = [packets.frame(quake, p) for p in (packets.with_icrc(quake, payload[:-4]), b"\xff\xff\xff\xffgetstatus\n")]
    packets.write(capture, frames)
    assert shark.tshark(capture, "-T", "fields", "-e", "_ws.col.Protocol").split() == ["MRC", "QUAKE3"]
    assert trees[0][0]["mrc.ev"] == 0x4321 << 16 | slot.src_port, trees[0]
    assert all(t[0]["mrc.icrc.status"] == "good" for t in (trees[0], trees[3])), trees


def joined_packets(path):
    """A burst as a capture on the host sees it: each packet is shown by itself, and so is the last, shorter one."""
    burst = []
    for i in range(5):
        last = i == 4
        head = bytes([0xC8 if last else 0xC6 if i == 0 else 0xC7, 0x30 if last else 0]) + bytes.fromhex("ffff00000123") + bytes([0x80 if last else 0])
        body = (1000 + i).to_bytes(3, "big") + bytes.fromhex("00070009") + (0x10000 + 256 * i).to_bytes(8, "big") + bytes.fromhex("aabbccdd")
        data = (1024 + 5).to_bytes(4, "big") + (bytes.fromhex("ffff00000123") * 42)[:8 if last else 256].ljust(8 if last else 256, b"\0")
        burst.append(packets.with_icrc(V6, head + body + data))
    trees = shown([(V6, b"".join(burst))])[0]
    assert [t["mrc.bth.psn"] for t in trees] == [1000, 1001, 1002, 1003, 1004], trees
    answers = shark.decode([(V6, p, False) for p in burst])
    for ours, theirs in zip(answers, trees):
        assert ours["error"] == "ok" and not shark.differences(ours, theirs), (ours, theirs)
    answers = [payload for flow, payload in golden(load(path)) if payload[0] in (0xDC, 0xD1) and flow == V6]
    trees = shown([(V6, answers[1] + answers[0] + answers[0])])[0]  # SACK, ACK, ACK: control packets are joined as well
    assert [t["mrc.bth.opcode"] for t in trees] == [0xDC, 0xD1, 0xD1] and {t["mrc.icrc.status"] for t in trees} == {"good"}, trees


def capture_that_cuts(path):
    """Bytes cut off by the capture are no fault of the packet."""
    records = golden(load(path))
    name = files.at("cut.pcap")
    packets.write(name, [packets.frame(flow, payload) for flow, payload in records], snap=14 + 40 + 8 + 20)
    found = shark.dissect(name)
    for (_, payload), trees in zip(records, found):
        assert "mrc.malformed" not in trees[0] and trees[0]["mrc.bth.opcode"] == payload[0], trees
        assert "cut" in trees[0].get("expert", ()) or trees[0]["mrc.icrc.status"] == "good", trees
