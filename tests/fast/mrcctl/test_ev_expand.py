"""`mrcctl ev expand` on changed copies of the vectors: differences are exit 1, what cannot be understood exit 2.

usage: test_ev_expand.py MRCCTL VECTORS
"""
import copy
import json
import sys
import tempfile

import process

WHOLE = {"width": 16, "init_val": 0, "min_val": 0, "max_val": 0xffff, "mask": 0xffff}
MANY = {"name": "many", "format": "STEV", "mode": "Generated", "fmt_field_widths": [16, 16], "fields": [WHOLE, WHOLE]}


def run(mrcctl, document, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(document if isinstance(document, str) else json.dumps(document))
        file.flush()
        done = process.run([mrcctl, "ev", "expand", file.name, *options], code=None)
        return done.returncode, done.stdout, done.stderr


def check_differences(mrcctl, vectors):
    """One wrong expectation, of either kind, shows."""
    for key, value in (("expanded", "00" * 32), ("expanded_fields", ["0x0001", "0x0002"])):
        changed = copy.deepcopy(vectors)
        changed[1]["evs"][3][key] = value
        status, out, _ = run(mrcctl, changed)
        assert status == 1 and "1 differences" in out and "differs: " + key in out, out


def check_equal_values(mrcctl, vectors):
    """Values are compared, not their zeros: before a number, and behind the bytes. Nothing expected, nothing to differ."""
    rewritten = copy.deepcopy(vectors)
    for profile in rewritten:
        for ev in profile["evs"]:
            ev["expanded_fields"] = [["0x%x", "0x%08x", "%d", "%012d"][i % 4] % int(f, 16) for i, f in enumerate(ev["expanded_fields"])]
            stripped = ev["expanded"].rstrip("0").upper()
            ev["expanded"] = stripped + "0" * (len(stripped) % 2)
    assert rewritten != vectors
    status, out, _ = run(mrcctl, rewritten)
    assert status == 0 and " 0 differences" in out, out
    bare = copy.deepcopy(vectors[2])
    bare["evs"] = [{"value": "43ba48d6a43de086"}]
    status, out, _ = run(mrcctl, [bare])
    assert status == 0 and "0xcafecafe 0x43ba 0x48d6 0xa43d 0xe086  cafecafe43ba48d6a43de086" in out, out


def check_counts(mrcctl, counted):
    """A generated profile may say only how many, up to as many as a device takes in one profile."""
    status, out, _ = run(mrcctl, [{**counted, "count": 225}], "--json")
    values = {ev["value"] for ev in json.loads(out)["profiles"][0]["evs"]}
    assert status == 0 and len(values) == 225, out
    status, out, _ = run(mrcctl, [{**MANY, "count": 65536}])
    assert status == 0 and "65536 EVs, 0 differences" in out, out[-200:]
    for count in (65537, 0xffffffff):
        status, _, err = run(mrcctl, [{**MANY, "count": count}])
        assert status == 2 and "profile 'many': needs 'evs', or if generated a 'count' from 1 to 65536" in err, err


def check_numbers(mrcctl):
    """A number is whole and of 32 bits, and the error names profile and key."""
    for wrong in (1.5, True, -1, None, 1 << 32, 1 << 64, "1.5", "0x", "0x100000000", "-1"):
        for key, changed in (("count", {**MANY, "count": wrong}), ("mask", {**MANY, "count": 1, "fields": [{**WHOLE, "mask": wrong}, WHOLE]}),
                             ("fmt_field_widths", {**MANY, "count": 1, "fmt_field_widths": [16, wrong]})):
            status, _, err = run(mrcctl, [changed])
            expected = f"profile 'many': {key} is {json.dumps(wrong)}, allowed: 0 to 4294967295, as a whole number or text such as \"0xf\""
            assert status == 2 and (expected in err or wrong == 1 << 64), err
    for text in ("0xFFFF", "65535"):
        status, out, _ = run(mrcctl, [{**MANY, "count": "0x2", "fields": [{**WHOLE, "mask": text}, WHOLE]}])
        assert status == 0 and "2 EVs" in out, out


def check_broken_documents(mrcctl, profile, counted):
    for broken in ("not json", {}, [{**counted, "count": 226}], [{**counted, "count": 0}], [counted],
                   [{**profile, "format": "UDP"}], [{**profile, "format": "IPX"}], [{**profile, "mode": "Auto"}],
                   [{**profile, "fmt_field_widths": [16]}], [{**profile, "fmt_field_widths": [16, 8]}],
                   [{**profile, "fields": [{"width": 16, "init_val": "0x10000", "min_val": 0, "max_val": 0, "mask": 0}]}],
                   [{**profile, "evs": [{"value": "a480"}]}], [{**profile, "evs": [{"value": "a4z0"}]}],
                   [{**profile, "evs": [{"value": "a48"}]}], [{**profile, "evs": [{"value": "00" * 33}]}],
                   [{**profile, "evs": [{"value": 4}]}]):
        status, out, err = run(mrcctl, broken)
        assert status == 2 and err.startswith("mrcctl: "), (broken, out, err)


def main():
    mrcctl, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    status, out, _ = run(mrcctl, vectors, "--json")
    result = json.loads(out)
    assert status == 0 and result["differences"] == 0, out
    assert [p["evs"] for p in result["profiles"]] == [p["evs"] for p in vectors], out
    counted = {k: v for k, v in vectors[1].items() if k != "evs"}
    check_differences(mrcctl, vectors)
    check_equal_values(mrcctl, vectors)
    check_counts(mrcctl, counted)
    check_numbers(mrcctl)
    check_broken_documents(mrcctl, vectors[1], counted)
    process.run([mrcctl, "ev", "expand", "/nonexistent"], code=2)
    process.run([mrcctl], code=2)
    process.run([mrcctl, "--help"])


if __name__ == "__main__":
    main()
