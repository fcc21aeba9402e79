"""The play of `tools/demo --fabric`: fabric.py MRC_FABRIC MRC_PERF MRC_TIMELINE, run beside a lab of the fabric `tiny`."""
import json
import os
import subprocess
import sys

LIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")
sys.path[:0] = [os.path.join(LIB, "lab"), LIB]

import judge  # noqa: E402
import machine_load  # noqa: E402
from chart import Chart  # noqa: E402
from fabric import Fabric  # noqa: E402
from play import Break, Play  # noqa: E402

LINK_GBPS = 1.0  # tiny with --scale 0.01
PLANES = 2
SECONDS = 16
REPORT, PICTURE = "out/demo-fabric.json", "out/demo-fabric.svg"
T1 = Break("a T1 of plane 1 is dead", ("switch", "p0-t1-0"), 3.0, 6.0)
T0 = Break("a T0 of plane 2 is dead", ("switch", "p1-t0-1"), 9.0, 12.0, left=0.5)
SEEN_GBPS = 0.02  # of probes: a plane that is left carries no more


def plane_share(rows, plane):
    total = sum(sum(r.per_plane) for r in rows)
    return sum(r.per_plane[plane] for r in rows) / total if total else 0.0


def told(seconds):
    return "not within 3 s" if seconds is None else f"{seconds * 1000:.0f} ms"


def verdict(play):
    """Prints what was seen and what of it had to be; true when all is as it had to be."""
    rows, size = play.stream.rows, play.report["sizes"][-1]
    t1, t0 = play.figures(T1), play.figures(T0)
    dead = judge.between(rows, T0.given["down"][0] + 1, T0.given["up"][0])
    after = judge.between(rows, T0.given["up"][0] + 1.5, rows[-1].at)
    print(f"\n{size['bytes'] / 2**30:.1f} GiB written, {size['checked']} messages compared byte for byte, {size['mismatches']} wrong; "
          f"{play.report['counters']['retransmits']} packets sent again")
    for name, f in (("T1", t1), ("T0", t0)):
        print(f"{name}: {f['before_gbps']:.2f} Gb/s before, {f['broken_gbps']:.2f} while it was dead, {f['after_gbps']:.2f} after its return; "
              f"steady {told(f['down_until_steady_s'])} after its death, at full rate {told(f['up_until_steady_s'])} after its return")
    checks = [
        ("every byte is right", size["mismatches"] == 0 and size["checked"] > 0),
        ("with a T1 dead, its plane went on over the other", t1["broken_gbps"] > judge.SHARE * t1["before_gbps"]),
        ("with a T0 dead, its plane was left", bool(dead) and plane_share(dead, 1) < SEEN_GBPS),
        ("the transfer went on over the other plane", t0["broken_gbps"] > judge.SHARE * 0.5 * t0["before_gbps"]),
        ("both planes were used again after its return", bool(after) and 0.3 < plane_share(after, 1) < 0.7),
    ]
    for words, good in checks:
        print(f"  {'yes' if good else 'NO '}  {words}")
    good = all(result for _, result in checks)
    machine_load.print_result(good)
    return good


def main():
    fabric_program, perf, timeline = sys.argv[1:]
    print("The fabric is up: 2 planes, each with 2 T0s and 2 T1s, links of 1 Gb/s; host h0 writes to host h7 over all 4 paths.")
    chart = Chart(PLANES * LINK_GBPS)
    play = Play(Fabric(fabric_program), perf, [T1, T0], SECONDS)
    play.run(chart.add, lambda one, state: chart.say(one.name if state == "down" else one.name.replace("is dead", "is back")))
    with open(REPORT, "w", encoding="utf-8") as out:
        json.dump(play.report, out)
    marks = [str(word) for one in (T1, T0)
             for word in (play.seconds_of(one.given["down"][0]), play.seconds_of(one.given["up"][0]), one.name)]
    subprocess.run([timeline, REPORT, PICTURE, *marks], check=True)
    good = verdict(play)
    print(f"Picture: {PICTURE}, numbers: {REPORT}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
