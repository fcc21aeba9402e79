"""`mrcctl show` and `mrcctl probe` on the loopback device of this host: all paths answer, and injected losses show.

usage: test_probe.py MRCCTL
"""
import json
import os
import sys
import time

import process
from limits import limit
from wait import until


def run(mrcctl, *args, **settings):
    environment = {"PATH": os.environ["PATH"], "MRC_CTL_GROUP": str(os.getegid()), **settings}
    done = process.run([mrcctl, *args], environment, code=None)
    return done.returncode, done.stdout, done.stderr


def main():
    mrcctl = sys.argv[1]
    status, out, err = run(mrcctl, "show", "--json")
    assert status == 0, err
    device = json.loads(out)["devices"][0]
    assert [p["port"] for p in device["ports"]] == [1, 2, 3, 4] and all(p["up"] for p in device["ports"]), out
    assert device["ev"]["formats"] == ["UDP"] and device["ev"]["modes"] == ["AUTO", "EXPLICIT", "GENERATED"], out
    status, out, err = run(mrcctl, "show")
    assert status == 0 and out.startswith("mrc0\n") and "1 up 2 up 3 up 4 up" in out, out + err

    for peer in ("not-a-gid", "2001:db8::99"):
        status, _, err = run(mrcctl, "probe", peer)
        assert status == 2 and "mrcctl: " in err and peer in err, err
    assert run(mrcctl, "probe")[0] == 2
    assert run(mrcctl, "probe", "::1", "--timeout-ms", "5000")[0] == 2
    status, _, err = run(mrcctl, "probe", "::1", "--device", "mrc99")
    assert status == 2 and "mrc99" in err, err
    status, _, err = run(mrcctl, "show", MRC_EV_COUNT="0")
    assert status == 2 and "MRC_EV_COUNT" in err, err

    # Process slot 0 of the device answers: this process itself, which may be too busy once.
    gid = next(g for g in device["gids"] if g)

    timeout_ms = min(4000, round(limit(2000)))  # mrcctl takes no more

    def all_answer():
        status, out, err = run(mrcctl, "probe", gid, "--max", "3", "--timeout-ms", str(timeout_ms), "--json")
        assert status in (0, 1), out + err
        return out if status == 0 else None
    out = until(all_answer, "some paths are silent")
    result = json.loads(out)
    paths = result["peers"][0]["paths"]
    assert result["silent"] == 0, out
    assert sorted(p["port"] for p in paths) == sorted([1, 2, 3, 4] * 3), out
    assert all(p["answered"] and 0 < p["rtt_ns"] < timeout_ms * 1e6 for p in paths), out
    status, out, err = run(mrcctl, "probe", gid)
    assert out.count("paths answer, round trip") >= 1, out + err

    # With every packet dropped there is no answer.
    status, out, err = run(mrcctl, "probe", gid, "--max", "2", "--port", "2", "--timeout-ms", "50", "--json",
                           MRC_FAULT="blackhole")
    assert status == 1, out + err
    result = json.loads(out)
    assert result["silent"] == 2 and [p["port"] for p in result["peers"][0]["paths"]] == [2, 2], out

    # A failed path is abandoned after as many losses in a row as mrcd requires, to all peers in the same rounds: 8
    # times 400 ms and not 2 peers times 100 rounds of that. Unsent probes count as lost.
    begin = time.monotonic()
    status, out, err = run(mrcctl, "probe", gid, gid, "--max", "2", "--port", "2", "--count", "100", "--timeout-ms",
                           "400", "--json", MRC_FAULT="blackhole")
    assert status == 1 and time.monotonic() - begin < 2 * 100 * 0.4, out + err
    assert [[(p["sent"], p["received"]) for p in peer["paths"]] for peer in json.loads(out)["peers"]] == \
        [[(100, 0)] * 2] * 2, out
    assert "of 100 probes over each path; 0 of 4 paths are dead" in err, err

    # Among several peers the one that cannot be probed is named.
    status, _, err = run(mrcctl, "probe", gid, "2001:db8::99", gid)
    assert status == 2 and "cannot probe 2001:db8::99" in err, err

    # preflight from here runs this very program: there is no mrcctl in the PATH.
    status, out, err = run(mrcctl, "preflight", gid, "--count", "2", "--json", PATH="/usr/bin:/bin")
    assert json.loads(out)["hosts"][0]["peers"][0]["peer"] == gid, out + err


if __name__ == "__main__":
    main()
