"""The play of `tools/demo --nccl`: nccl.py BUILD_FOLDER."""
import json
import os
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench.d"))
sys.path.append(os.path.join(HERE, "..", "lib"))

import machine_load  # noqa: E402
import nccl  # noqa: E402
import places  # noqa: E402
import programs  # noqa: E402

REPORT, PICTURE = "out/nccl-fault.json", "out/nccl-fault.svg"
BYTES = 4 << 20
DIES, RETURNS, SECONDS = 4.0, 8.0, 16.0  # after the first collective
LIMIT_S = 45  # of one run; NCCL's Socket transport may take longer to come back
RUNS = 4  # between two checks
GAP_S = 1.0  # by so much a batch may take longer with the fault than the longest one before it
SETTLED_S = 1.5


def sent(site):
    """Bytes that rank 0 has sent, by plane."""
    names = [f"/sys/class/net/{name}/statistics/tx_bytes" for name in site.place.interfaces]
    text = subprocess.run(["ip", "netns", "exec", site.place.namespaces[0], "cat", *names], capture_output=True, text=True, check=True)
    return [int(word) for word in text.stdout.split()]


def begun(child):
    """Waits for the first collective."""
    end = time.monotonic() + 30
    while "# all_reduce" not in child.text():
        if child.wait(0.02) or time.monotonic() > end:
            raise SystemExit("no collective began:\n" + (child.text() + child.text("err"))[-2000:])
    return time.monotonic()


def shares_of(before, after):
    carried = [b - a for a, b in zip(before, after)]
    return [one / max(1, sum(carried)) for one in carried]


def kill_plane(site, plane):
    for ns in site.place.namespaces:
        error = site.place.drop(ns, f"iifname {site.place.interfaces[plane]}")
        assert not error, error


def play(site, transport, arguments, variables, plane):
    """A run with the fault. `plane`: the one that dies; None: the busiest one but the first, over which NCCL's bootstrap goes."""
    path = os.path.join(site.files.name, "report.json")
    how = ["-t", "all_reduce", "--sizes", str(BYTES), "-n", str(RUNS), "-w", "1", "-D", str(SECONDS), "--timeline"]
    command = site.command([*arguments, *how], variables, LIMIT_S)
    print(f"\n{transport}:\n  {shlex.join(command)}", flush=True)
    child = programs.Child([*command, "--json", path])
    try:
        start = begun(child)
        before = sent(site)
        time.sleep(max(0, start + DIES - time.monotonic()))
        shares = shares_of(before, sent(site))
        if plane is None:
            plane = max(range(1, places.PLANES), key=lambda p: shares[p])
            if shares[plane] < 0.02:
                plane = 0
        died = time.monotonic()
        kill_plane(site, plane)
        time.sleep(max(0, start + RETURNS - time.monotonic()))
        site.place.lose_nothing()
        returned = time.monotonic()
        ended = child.wait(LIMIT_S + 30)
    finally:
        child.stop()
        site.place.lose_nothing()
    print("  planes carried before the fault: " + ", ".join(f"{share:.0%}" for share in shares) + f"; plane {plane + 1} died")
    steps = []
    if ended and os.path.exists(path):
        with open(path, encoding="utf-8") as text:
            for line in json.load(text)["lines"]:
                steps += [[a - died + DIES, b - died + DIES, 8 * BYTES * runs / (b - a) / 1e9] for a, b, runs in line["timeline"]]
    return {"transport": transport, "plane": plane, "ok": ended and child.code == 0, "shares": shares, "command": shlex.join(command),
            "returned": returned - died + DIES, "steps": steps, "output": (child.text("err") + child.text())[-3000:]}


def rate(steps, begin, end):
    """Gb/s of the steps that lie in a stretch of time."""
    seconds = sum(max(0.0, min(b, end) - max(a, begin)) for a, b, _ in steps)
    return sum(max(0.0, min(b, end) - max(a, begin)) * gbps for a, b, gbps in steps) / seconds if seconds else 0.0


def longest_batch(steps, begin, end):
    """Seconds of the longest step that overlaps a stretch of time; None without any."""
    return max((b - a for a, b, _ in steps if a < end and b > begin), default=None)


def kept_completing(steps, returned):
    """A sentence and whether it holds. On a slow machine a batch takes seconds without any fault, so that only what the fault
    adds counts."""
    before = longest_batch([step for step in steps if step[1] <= DIES], 0, DIES)
    dead = longest_batch(steps, DIES, returned + SETTLED_S)
    words = f"MRC was never without a completed batch for {GAP_S:g} s longer than before the fault"
    if before is None or dead is None:
        return words + ": no batch to compare", False
    return words + f": {dead:.2f} s, {before:.2f} s before", dead < before + GAP_S


def told(result):
    """What was seen of one transport, and prints it."""
    steps, returned = result["steps"], result["returned"]
    seen = {"before_gbps": rate(steps, 0.5, DIES), "dead_gbps": rate(steps, DIES + SETTLED_S, returned),
            "after_gbps": rate(steps, returned + SETTLED_S, SECONDS), "longest_s": max((b - a for a, b, _ in steps), default=None),
            "back_s": None}
    if not steps:
        print(f"{result['transport']}: the run did not end well, and has no timeline; its last words:\n{result['output']}")
        return seen
    longest = max(steps, key=lambda step: step[1] - step[0])
    if DIES - 1 < longest[0] < returned < longest[1]:
        seen["back_s"] = longest[1] - returned
    print(f"{result['transport']}: {seen['before_gbps']:.2f} Gb/s before, {seen['dead_gbps']:.2f} while plane {result['plane'] + 1} was dead, "
          f"{seen['after_gbps']:.2f} after its return; the longest batch took {seen['longest_s']:.2f} s, from {longest[0]:.1f} to {longest[1]:.1f} s"
          + ("" if seen["back_s"] is None else f", {seen['back_s']:.1f} s after the plane's return")
          + ("" if result["ok"] else "; THE RUN FAILED: " + result["output"][-300:]))
    return seen


def main():
    programs.build = sys.argv[1]
    why = nccl.missing(("nccl-net-mrc",))
    if why:
        print(f"Left out: {why}")
        return 0
    site = nccl.Site(places.Veth, 2)
    results, plane = [], None
    try:
        transports = site.transports({"NCCL_SOCKET_IFNAME": site.interfaces[-1]})
        for name in (nccl.SOCKET, nccl.MRC):
            results.append(play(site, name, *transports[name], plane))
            plane = results[-1]["plane"]
    finally:
        site.close()
    print()
    seen = [told(result) for result in results]
    title = f"NCCL's AllReduce of {BYTES >> 20} MiB between 2 hosts of 4 planes"
    panels = [{"title": f"{result['transport']}, Gb/s", "steps": result["steps"]} for result in results]
    with open(REPORT, "w", encoding="utf-8") as out:
        json.dump({"title": title, "panels": panels, "runs": [{**r, "seen": s} for r, s in zip(results, seen)]}, out)
    timeline = os.path.join(programs.build, "tools", "dev", "timeline", "mrc-timeline")
    subprocess.run([timeline, REPORT, PICTURE, str(DIES), str(results[-1]["returned"]), f"plane {plane + 1} dead"], check=True)
    mrc, figures = results[-1], seen[-1]
    checks = (("MRC: every element is right, and no error", mrc["ok"]),
              ("MRC went on while the plane was dead", figures["dead_gbps"] > 0.25 * figures["before_gbps"]),
              kept_completing(mrc["steps"], mrc["returned"]))
    for words, good in checks:
        print(f"  {'yes' if good else 'NO '}  {words}")
    good = all(result for _, result in checks)
    machine_load.print_result(good)
    print(f"Picture: {PICTURE}, numbers: {REPORT}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
