"""The part `fabric` of tools/bench: how soon a transfer across an SRv6 fabric in namespaces answers to the death and return of
its parts, over plain sockets and over frames of our own. The measuring itself is tools/lib/lab/measure.py, run beside a lab
that `mrc-fabric run` builds and removes."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MEASURE = os.path.join(HERE, "..", "lib", "lab", "measure.py")
LIMIT_S = 1800

# Part of the result, figure, relation, bound in seconds or parts.
TARGETS = (
    ("t1", "down_until_steady_s", 0.2, "T1 down: until steady at the rate before"),
    ("t0", "down_until_steady_s", 0.2, "T0 of the sender down: until steady at what the other plane carries"),
    ("far_t0", "down_until_steady_s", 0.2, "T0 of the receiver down: the same"),
    ("t1", "up_until_steady_s", 1.0, "T1 back: until steady at full rate"),
    ("t0", "up_until_steady_s", 1.0, "T0 of the sender back: the same"),
    ("far_t0", "up_until_steady_s", 1.0, "T0 of the receiver back: the same"),
)
MOST_SPREAD = 0.10
MOST_FOUND_S = 10  # until the monitor denies a gray link
LEAST_GOODPUT = 0.95  # of the rate before, with its paths denied


def missing(mrc_fabric, mrc_perf):
    """The reason why this cannot be measured here; empty: it can."""
    if os.geteuid() != 0:
        return "it needs root for network namespaces"
    if not shutil.which("ip") or not shutil.which("tc"):
        return "iproute2 is missing (apt-get install iproute2)"
    return "" if mrc_fabric and mrc_perf else "mrc-fabric is not built"


def measure(mrc_fabric, mrc_perf, rounds, mrcd=None, mrcctl=None):
    """The object that measure.py prints, or {"error": sentence}."""
    why = missing(mrc_fabric, mrc_perf)
    if why:
        return {"error": why}
    try:
        done = subprocess.run([mrc_fabric, "run", "tiny", "--scale", "0.01", "--lab", f"bench{os.getpid()}", "--", sys.executable, "-B",
                               MEASURE, mrc_fabric, mrc_perf, "--rounds", str(rounds),
                               *(["--mrcd", mrcd, "--mrcctl", mrcctl] if mrcd and mrcctl else [])],
                              stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": f"exit status {done.returncode}"}
    except (subprocess.TimeoutExpired, ValueError) as e:
        return {"error": str(e)}


def left_out(result):
    """{piece: why it could not be measured}"""
    return {f"{datapath}: gray link": "mrcd or mrcctl is not built" for datapath, figures in result.items() if "gray" not in figures}


def judged(result):
    """Rows in the shape of report.ratios."""
    rows = []
    for datapath, figures in result.items():
        spread = figures["spray"]["spread"]
        rows.append({"ratio": f"{datapath}: bytes over the T1 ports, largest difference", "value": round(spread, 3),
                     "target": f"<= {MOST_SPREAD}", "met": spread <= MOST_SPREAD})
        for fault, figure, bound, title in TARGETS:
            value = figures[fault]["median"][figure]
            rows.append({"ratio": f"{datapath}: {title}, s", "value": None if value is None else round(value, 3),
                         "target": f"<= {bound}", "met": value is not None and value <= bound})
        if "gray" in figures:
            g = figures["gray"]["median"]
            rows.append({"ratio": f"{datapath}: gray link of 5 %: until its paths are denied, s", "value": round(g["found_s"], 2),
                         "target": f"<= {MOST_FOUND_S}", "met": g["found_s"] <= MOST_FOUND_S})
            rows.append({"ratio": f"{datapath}: throughput with them denied / before", "value": round(g["goodput"], 3),
                         "target": f">= {LEAST_GOODPUT}", "met": g["goodput"] >= LEAST_GOODPUT})
    return rows


def show(result):
    print("\nfabric of 2 planes with 2 T0s and 2 T1s each, links of 1 Gb/s, one queue pair; medians")
    for datapath, figures in result.items():
        print(f"  {datapath}: spread over the T1 ports {figures['spray']['spread']:.1%}")
        for name, fault in figures.items():
            if name == "spray":
                continue
            f = fault["median"]
            if name == "gray":
                print(f"    {fault['fault']:<30} Gb/s before {f['before_gbps']:.2f}, not found yet {f['gray_gbps']:.2f}, denied "
                      f"{f['after_gbps']:.2f}; denied after {f['found_s']:.1f} s, allowed again {f['lifted_s']:.1f} s after the repair")
                continue
            times = ["never" if f[key] is None else f"{f[key] * 1000:.0f} ms" for key in ("down_below_s", "down_until_steady_s", "up_until_steady_s")]
            print(f"    {fault['fault']:<30} Gb/s before {f['before_gbps']:.2f}, dead {f['broken_gbps']:.2f}, after {f['after_gbps']:.2f}; "
                  f"dead: below for {times[0]}, steady after {times[1]}; back: full rate after {times[2]}")
