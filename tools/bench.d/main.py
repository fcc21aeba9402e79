"""tools/bench: side by side, alternating, in one run. The order within a round is fixed and rounds follow each other, so that
other load of the machine affects all programs alike; the median over the rounds is reported. The part nccl runs NVIDIA's NCCL
without a GPU, over MRC and over its own sockets, where libnccl.so.2 2.28.9 is present, as root."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fabric  # noqa: E402
import nccl  # noqa: E402
import places  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
PARTS = ("bandwidth", "latency", "sizes", "rate", "qps", "loss", "recovery", "collectives", "fabric", "nccl")
SIZES = [4 * KIB * 4**k for k in range(8)]


def size_name(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB" if size >= KIB else f"{size} B"


def plan(options, place):
    """The measurements of one round at one place: (measurement, program, call)."""
    s, mrc, limit = options.seconds, programs.mrc, programs.limit
    steps = []
    if "bandwidth" in options.parts:
        # The same span of memory for all: the raw limit copies into as many bytes as mrc-perf writes to.
        steps += [("bandwidth", "limit", lambda: limit(place, s, memory=16 * MIB)),
                  ("bandwidth", "mrc", lambda: mrc(place, s, MIB, depth=16)),
                  ("bandwidth", "tcp", lambda: programs.tcp(place, s)),
                  ("bandwidth", "fi_pingpong", lambda: programs.fi(place, MIB, 300 * round(s)))]
    if "latency" in options.parts:
        steps += [("latency", "limit", lambda: limit(place, s, latency=True)),
                  ("latency", "mrc", lambda: mrc(place, s, 2, latency=True)),
                  ("latency", "fi_pingpong", lambda: programs.fi(place, 2, 10000 * round(s)))]
    for name, over in place.datapaths.items():
        if "bandwidth" in options.parts:
            steps.append(("bandwidth", f"mrc {name}", lambda over=over: mrc(place, s, MIB, depth=16, over=over)))
        if "latency" in options.parts:
            steps.append(("latency", f"mrc {name}", lambda over=over: mrc(place, s, 2, latency=True, over=over)))
    if "rate" in options.parts:
        # 64 bytes of payload beside 48 of headers; one packet per send is what the raw sockets can do for packets of
        # their own.
        steps += [("messages of 64 B", "limit", lambda: limit(place, s, size=112, burst=1)),
                  ("messages of 64 B", "mrc", lambda: mrc(place, s, 64, depth=256))]
    if "sizes" in options.parts:
        # A stream has no messages: iperf3's size is that of its writes, and past 1 MiB it is the same.
        sizes = SIZES[::2] if options.quick else SIZES
        for size in sizes:
            name, depth = f"writes of {size_name(size)}", max(2, min(256, 16 * MIB // size))
            steps += [(name, "mrc", lambda size=size, depth=depth: mrc(place, s, size, depth=depth)),
                      (name, "tcp", lambda size=size: programs.tcp(place, s, size))]
    if "qps" in options.parts:
        for qps in (1, 16, 1024) if options.quick else (1, 4, 16, 64, 256, 1024):
            depth = 4 if qps > 16 else 16
            steps += [(f"{qps} QPs", "mrc", lambda qps=qps, depth=depth: mrc(place, s, 64 * KIB, depth=depth, qps=qps)),
                      (f"{qps} QPs, messages of 64 B", "mrc", lambda qps=qps, depth=depth: mrc(place, s, 64, depth=depth, qps=qps))]
    if "recovery" in options.parts:
        steps.append(("a plane dies and returns", "mrc", lambda: programs.mrc_dead_plane(place)))
    if "loss" in options.parts:
        for percent in (0, 0.1, 1):
            name = f"loss {percent} %"
            fault = f"loss={percent / 100:g};seed={options.seed}" if percent else None
            steps.append((name, "mrc", lambda fault=fault: mrc(place, s, 4 * MIB, depth=8, fault=fault)))
            steps.append((name, "tcp", lambda percent=percent: tcp_with_loss(place, s, percent / 100)))
    if "collectives" in options.parts and place.name == "loopback":
        ring, memory = "ring all-reduce, 4 ranks", place.datapaths["memory"]
        steps += [(ring, "mrc memory", lambda: programs.all_reduce(s, programs.MRC_PLUGIN, over=memory)),
                  (ring, "tcp plugin", lambda: programs.all_reduce(s, programs.TCP_PLUGIN)),
                  (ring, "mrc", lambda: programs.all_reduce(s, programs.MRC_PLUGIN))]
        for way, over in (("mrc memory", memory), ("mrc", None)):  # each rank draws for itself: with a seed all would lose alike
            steps.append((f"{ring}, loss 0.1 %", way, lambda over=over: programs.all_reduce(
                s, programs.MRC_PLUGIN, fault="loss=0.001", over=over)))
    return steps


def tcp_with_loss(place, seconds, probability):
    """One TCP stream whose packets are dropped at random by nftables: only where we have a namespace of our own."""
    if not hasattr(place, "tcp_loss"):
        return {"error": "loss for TCP is shown over veth only: dropping on the host's own loopback would hit everything else"}
    error = place.tcp_loss(probability)
    try:
        return {"error": error} if error else programs.tcp(place, seconds)
    finally:
        place.no_tcp_loss()


def measure(options, place):
    runs = []

    def step(measurement, name, call):
        try:
            result = call()
        except (OSError, ValueError, KeyError, TypeError) as e:
            result = {"error": f"{type(e).__name__}: {e}"}
        runs.append((measurement, name, result))
        print(f"  {place.name}: {measurement}, {name}: {report.figure(result)}", file=sys.stderr, flush=True)

    for _ in range(options.rounds):
        for measurement, name, call in plan(options, place):
            step(measurement, name, call)
    return report.medians(runs)


def measure_fabric(options):
    figures = fabric.measure(programs.program("mrc-fabric"), programs.program("mrc-perf"), options.rounds,
                             programs.program("mrcd"), programs.program("mrcctl"))
    if "error" in figures:
        print(f"tools/bench: the fabric is left out: {figures['error']}", file=sys.stderr)
        return figures
    rows = fabric.judged(figures)
    if not options.json:
        fabric.show(figures)
        report.print_ratios(rows)
    return {"datapaths": figures, "ratios": rows}


def measure_nccl(options):
    figures = nccl.measure(options)
    if "error" in figures:
        print(f"tools/bench: nccl is left out: {figures['error']}", file=sys.stderr)
    elif not options.json:
        nccl.show(figures["places"])
        report.print_ratios(figures["ratios"])
    return figures


def main():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 rounds of 1 s and half the sweeps instead of 5 of 2 s")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output instead of tables")
    parser.add_argument("--place", choices=("loopback", "veth", "all"), default="all", help="veth needs root (default: all)")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of " + ",".join(PARTS))
    parser.add_argument("--rounds", type=int, help="alternating runs, of which the median counts")
    parser.add_argument("--seconds", type=float, help="length of each run")
    parser.add_argument("--seed", type=int, default=1, help="of the random losses")
    parser.add_argument("--nccl-sizes", type=nccl.sizes_of, help="of the part nccl, in bytes, for example 8..256M: by fours "
                        "(default: 8,4K,64K,1M,16M,64M, and with --quick 8,64K,16M)")
    parser.add_argument("--nccl-losses", type=nccl.losses_of, default=[0, 0.1, 1], help="of the part nccl, in percent (default: 0,0.1,1)")
    parser.add_argument("--nccl-ranks", type=int, default=2, help="of the part nccl on loopback; over veth 2 (default: 2)")
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--no-build", action="store_true", help="measure what is built already")
    parser.add_argument("--verbose", action="store_true", help="show every command")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 5)
    options.seconds = options.seconds or (1 if options.quick else 2)
    options.nccl_sizes = options.nccl_sizes or nccl.sizes_of("8,64K,16M" if options.quick else "8,4K,64K,1M,16M,64M")
    options.nccl_seconds = options.seconds / 4  # of each size of each collective
    options.parts = options.parts.split(",")
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    programs.build, programs.verbose = options.build, options.verbose

    result = {"rounds": options.rounds, "seconds": options.seconds, "cpus": os.cpu_count(), "kernel": os.uname().release, "places": {}}
    if "fabric" in options.parts:
        result["fabric"] = measure_fabric(options)
    if "nccl" in options.parts:
        result["nccl"] = measure_nccl(options)
    if not set(options.parts) - {"fabric", "nccl"}:
        options.place = "none"
    wanted = [places.Loopback] if options.place in ("loopback", "all") else []
    if options.place in ("veth", "all"):
        if os.geteuid() == 0:
            wanted.append(places.Veth)
        else:
            print("tools/bench: veth is left out, it needs root for network namespaces", file=sys.stderr)
    for kind in wanted:
        place = kind()
        try:
            table = measure(options, place)
        finally:
            place.close()
        result["places"][place.name] = {"measurements": table, "ratios": report.ratios(table)}
        if not options.json:
            report.print_place(place.name, table)
    if options.json:
        print(json.dumps(result, indent=1))
    missed = [r for p in result["places"].values() for r in p["ratios"] if r["met"] is False]
    missed += [r for part in ("fabric", "nccl") for r in result.get(part, {}).get("ratios", ()) if not r["met"]]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
