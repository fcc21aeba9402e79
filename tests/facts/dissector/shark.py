"""The output of tshark with the dissector and that of the library's decoder, in one form for comparison."""
import json
import os

import built
from limits import limit
from process import run
from skip import need_program

LIMIT_S = limit(100)  # the dissector in Lua is slow
DISSECTOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "dissector", "mrc.lua")
TEXTS = ("mrc.malformed", "mrc.icrc.status", "mrc.plth.addr")


def tshark(path, *options):
    """tshark's standard output over a capture file."""
    program = need_program("tshark", "tshark")
    done = run([program, "-n", "-X", f"lua_script:{DISSECTOR}", "-r", path, *options], limit_s=LIMIT_S)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Running as user")]
    assert not lines, "tshark complains:\n" + "\n".join(lines[:20])
    assert "Lua Error" not in done.stdout, [line for line in done.stdout.splitlines() if "Lua Error" in line][:5]
    return done.stdout


def number(name, text):
    if name in TEXTS or ":" in text or "expert" in name or name.startswith("_ws"):
        return text
    try:
        return int(text, 0)
    except ValueError:
        return text


def flatten(tree, into):
    """Leaves by name; names of expert information become a set under "expert"."""
    for name, value in tree.items():
        for v in value if isinstance(value, list) else [value]:
            if name.startswith("mrc.expert."):
                into.setdefault("expert", set()).add(name[len("mrc.expert."):])
            elif name == "_ws.expert.severity":
                into.setdefault("severity", set()).add(int(v))
            elif isinstance(v, dict):
                into.setdefault("headers", []).append(name)
                flatten(v, into)
            else:
                into[name] = number(name, v)
    return into


def dissect(path, *options):
    """For each frame the list of its MRC packets, each as name -> value."""
    frames = json.loads(tshark(path, "-T", "json", "--no-duplicate-keys", "-J", "mrc", *options))
    found = []
    for frame in frames:
        layers = frame["_source"]["layers"]
        trees = layers.get("mrc", [])
        found.append([flatten(tree, {}) for tree in (trees if isinstance(trees, list) else [trees])])
    return found


def decode(records):
    """The library's word on (flow, payload, trimmed)."""
    lines = "".join(f"{f.src} {f.dst} {f.src_port} {f.dst_port} {f.label} {int(trimmed)} {payload.hex()}\n" for f, payload, trimmed in records)
    done = run([built.path("DECODER")], limit_s=LIMIT_S, input=lines)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(records) and not any("usage" in a for a in answers), done.stdout[:1000]
    return answers


def differences(ours, theirs):
    """Where the decoder (`ours`) and the dissector (`theirs`) differ on one packet."""
    found = []
    refused = None if ours["error"] == "ok" else ours["error"]
    if theirs.get("mrc.malformed") != refused:
        found.append(f"malformed: {refused} / {theirs.get('mrc.malformed')}")
    if refused and 8388608 not in theirs.get("severity", ()):
        found.append(f"{refused} is no expert error")
    if not refused and ours["icrc"] != theirs.get("mrc.icrc.status", "none"):
        found.append(f"ICRC: {ours['icrc']} / {theirs.get('mrc.icrc.status')}")
    if theirs.get("mrc.ev") != ours["ev"]:
        found.append(f"EV: {ours['ev']} / {theirs.get('mrc.ev')}")
    for name, value in ours.get("fields", {}).items():
        if theirs.get(name) != value:
            found.append(f"{name}: {value} / {theirs.get(name)}")
    return found
