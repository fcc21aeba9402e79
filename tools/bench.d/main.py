"""Measures MRC beside the raw limit of this machine's UDP sockets and TCP, and revisions of this tree beside each other.

Contenders stay up and are measured in slices of 100 to 200 ms, all of a round in random order. A ratio is the median of the
ratios within each round; its 95 % bootstrap interval is printed with it, and "faster" or "slower" only where the whole
interval is on one side of 1. Beside every bandwidth: processor seconds of both ends per GB (1e9 bytes) of payload, which differs
less from machine to machine. MRC uses the kernel's sockets unless a line names shared memory or another datapath.
"""
import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import applications  # noqa: E402
import compare  # noqa: E402
import fabric  # noqa: E402
import locks  # noqa: E402
import nccl  # noqa: E402
import needs  # noqa: E402
import paired  # noqa: E402
import places  # noqa: E402
import plan  # noqa: E402
import preflight  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
import slices  # noqa: E402
import srv6  # noqa: E402
import targets  # noqa: E402

MIB = 1 << 20
OWN_ROUNDS = ("loss", "recovery", "collectives", "fabric", "preflight", "applications")  # whole runs instead of slices
PARTS = (*plan.PARTS, "srv6", "idle", "locks", "nccl", *OWN_ROUNDS)
RUN_OVERHEAD_S = 2
IDLE_QPS, QUICK_IDLE_QPS, IDLE_SHARDS, IDLE_BYTES = 100000, 10000, 2, 8192
MIN_SLICES = 60

EPILOG = """
parts, by slices:
  bandwidth    1 MiB over one queue pair; 64 KiB and 8 KiB over four: raw limit, MRC, one and four TCP streams
  latency      half round trip of 2 B: p50, p99, p99.9; writes, and datagrams beside them
  sizes        4 KiB to 64 MiB over one queue pair, beside one TCP stream
  rate         messages of 64 B, beside raw packets
  qps          1 to 1024 queue pairs
  shards       two engines, each with a queue pair and a thread at both ends, beside one; 8 queue pairs over 1 to 8 engines
  srv6         across an SRv6 fabric in namespaces: encapsulated by the kernel beside plain UDP
  datapaths    raw frames and DPDK beside sockets, over veth, by short runs
  drivers      raw frames and DPDK beside bare AF_XDP and bare DPDK ports, over veth and memif
  nccl         NCCL without a GPU over its own sockets, a TCP plugin and MRC, also with losses; at most 20 slices (with --quick 12)
once:
  locks        that two engines take for packets
  idle         memory of each of 100,000 queue pairs over two engines, connected and used (with --quick of 10,000)
by rounds of whole runs (--rounds, --seconds):
  loss, recovery, collectives, fabric
  preflight    nccl-net-bench --hosts over 16 hosts in namespaces, all well, and with a slow host and a gray link
  applications ib_send_bw and MPI over the verbs shim, beside mrc-perf with messages of 64 KiB and 1 MiB, on loopback
all of bandwidth, latency, shards, drivers, locks, idle, srv6, nccl:
  targets
Of all targets a table in Markdown is printed at the end, with the revision and the machine.

examples:
  tools/bench --parts targets --nccl-sizes 8K,64M --nccl-losses 0
  tools/bench --parts bandwidth,latency --place loopback
  tools/bench --compare HEAD~1            is this tree faster than the last commit?
  tools/bench --compare v1.0 --slices 200 --json

Exit code 0: no target is missed. 1: one is, or it could not be measured, or a part or place was left out. 2: bad command line.
"""


def whole_runs(options, place):
    """What is measured in rounds of whole runs: (measurement, program, call)."""
    s, steps = options.seconds, []
    if "recovery" in options.parts:
        steps.append(("a plane dies and returns", "mrc", lambda: programs.mrc_dead_plane(place)))
    if "loss" in options.parts:
        for percent in (0, 0.1, 1):
            name = f"loss {percent} %"
            fault = f"loss={percent / 100:g};seed={options.seed}" if percent else None
            steps.append((name, "mrc", lambda fault=fault: programs.mrc(place, s, 4 * MIB, depth=8, fault=fault)))
            steps.append((name, "tcp", lambda percent=percent: tcp_with_loss(place, s, percent / 100)))
    if "collectives" in options.parts and place.name == "loopback":
        ring, memory, shared = "ring all-reduce, 4 ranks", place.datapaths["memory"], "mrc shared memory"
        steps += [(ring, shared, lambda: programs.all_reduce(s, programs.MRC_PLUGIN, over=memory)),
                  (ring, "tcp plugin", lambda: programs.all_reduce(s, programs.TCP_PLUGIN)),
                  (ring, "mrc", lambda: programs.all_reduce(s, programs.MRC_PLUGIN))]
        for way, over in ((shared, memory), ("mrc", None)):  # each rank draws for itself: with a seed all would lose alike
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


def planned_s(options, place):
    return (sum(slices.planned_s(group, options) for group in plan.groups(place, options)) +
            options.rounds * len(whole_runs(options, place)) * (options.seconds + RUN_OVERHEAD_S))


def measure_rounds(options, place, progress):
    runs = []
    for turn in range(options.rounds):
        for measurement, name, call in whole_runs(options, place):
            begin = time.monotonic()
            try:
                result = call()
            except (OSError, ValueError, KeyError, TypeError) as e:
                result = {"error": f"{type(e).__name__}: {e}"}
            runs.append((measurement, name, result))
            progress.took(options.seconds + RUN_OVERHEAD_S, time.monotonic() - begin)
            progress.show(f"{place.name}, round {turn + 1} of {options.rounds}: {measurement}, {name}: {report.figure(result)}", always=True)
    return report.medians(runs)


def measure_place(options, place, progress):
    """Prints each group when it is done."""
    result = {"groups": {}, "measurements": {}, "ratios": []}
    if not options.json:
        print(f"\n{place.name}")
    for group in plan.groups(place, options):
        done = slices.measure(group, options, progress, place.name)
        result["groups"][group.name] = done
        if not options.json:
            report.print_group(group.name, done)
            sys.stdout.flush()
    table = measure_rounds(options, place, progress)
    result["measurements"], result["ratios"] = table, report.ratios(table)
    if table and not options.json:
        report.print_table(table)
        report.print_ratios(result["ratios"])
    return result


def measure_idle(options):
    qps = QUICK_IDLE_QPS if options.quick else IDLE_QPS
    print(f"  idle: {qps} queue pairs", file=sys.stderr, flush=True)
    figures = programs.idle_qps(qps, IDLE_SHARDS)
    value = figures.get("idle_bytes")
    row = {"ratio": f"bytes of an idle queue pair, one of {qps:,} over {IDLE_SHARDS} engines", "value": value, "target": f"<= {IDLE_BYTES}",
           "met": value is not None and paired.meets(value, "<=", IDLE_BYTES)}
    if not options.json:
        print("\nmemory of a process with many idle queue pairs" + (f": {figures['error']}" if "error" in figures else ""))
        report.print_ratios([row])
    return {**figures, "ratios": [row]}


def shown(options, name, figures, show):
    """The figures of a part that is measured once: with their ratios printed, or the reason why it, or a piece of it, is left out."""
    if "error" in figures:
        print(f"tools/bench: {name} left out: {figures['error']}", file=sys.stderr)
    elif not options.json:
        show(figures)
        report.print_ratios(figures["ratios"])
    for piece, why in figures.get("left_out", {}).items():
        print(f"tools/bench: {name} without {piece}: {why}", file=sys.stderr)
    return figures


def measure_locks(options):
    return shown(options, "locks are", locks.measure(), locks.show)


def measure_fabric(options):
    figures = fabric.measure(programs.program("mrc-fabric"), programs.program("mrc-perf"), options.rounds,
                             programs.program("mrcd"), programs.program("mrcctl"))
    if "error" not in figures:
        figures = {"datapaths": figures, "ratios": fabric.judged(figures), "left_out": fabric.left_out(figures)}
    return shown(options, "the fabric is", figures, lambda measured: fabric.show(measured["datapaths"]))


def measure_preflight(options):
    figures = preflight.measure(options.rounds)
    if "error" not in figures:
        figures = {**figures, "ratios": preflight.judged(figures)}
    return shown(options, "the preflight is", figures, preflight.show)


def measure_srv6(options):
    why = srv6.missing()
    if why:
        print(f"tools/bench: srv6 is left out: {why}", file=sys.stderr)
        return {"error": why}
    lab = srv6.Lab()
    try:
        group = srv6.group(lab)
        done = slices.measure(group, options, slices.Progress(slices.planned_s(group, options)), lab.name)
    finally:
        lab.close()
    if not options.json:
        print("\nSRv6 fabric in namespaces")
        report.print_group(group.name, done)
    return done


def measure_nccl(options):
    return shown(options, "nccl is", nccl.measure(options), lambda measured: nccl.show(measured["places"]))


def measure_applications(options):
    figures = applications.measure(options, lambda text: print(f"  {text}", file=sys.stderr, flush=True))
    return shown(options, "applications are", figures, applications.show)


def compare_revisions(options):
    """Ratios of this tree to the other revision; none has a target."""
    place = places.Veth() if options.place == "veth" else places.Loopback()
    try:
        groups, stays_up = compare.groups(place, options.compare, options.no_build)
        how = (f"processes that are started {plan.COMPARED_STARTS} times" if stays_up else
               "short runs for both, because one of the revisions has no mrc-perf --slices: each slice starts its processes anew")
        if not stays_up:
            options.slice_ms = max(options.slice_ms, 200)
        progress = slices.Progress(sum(slices.planned_s(group, options) for group in groups))
        if not options.json:
            print(f"{plan.THIS} / {options.compare}, {place.name}, {options.slices} slices of {options.slice_ms} ms each, by {how}\n"
                  f"'faster' and 'less': {plan.THIS} is better than {options.compare}; of equal revisions, one line in twenty is called "
                  f"either by chance,\nand a claim that counts holds with another --seed as well")
        result = {"compare": options.compare, "slices": options.slices, "slice_ms": options.slice_ms, "place": place.name,
                  "stays_up": stays_up, "groups": {}}
        for group in groups:
            done = result["groups"][group.name] = slices.measure(group, options, progress, f"{plan.THIS} / {options.compare}")
            if not options.json:
                report.print_group(group.name, done)
                sys.stdout.flush()
    finally:
        place.close()
    if options.json:
        print(json.dumps(result, indent=1))
    return 0 if all(row["value"] is not None for group in result["groups"].values() for row in group["ratios"]) else 1


def parse():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", metavar="REV", help="measure this tree and that revision by turns, over loopback unless --place "
                        "is veth; the revision is built in build/compare")
    parser.add_argument("--parts", help="some of " + ",".join(PARTS) + " (default: all)")
    parser.add_argument("--place", choices=("loopback", "veth", "all"), help="veth needs root (default: all)")
    parser.add_argument("--quick", action="store_true", help="slices of 100 ms, as many as else; half the points of sizes, qps and shards; "
                        "3 rounds of 1 s")
    parser.add_argument("--slices", type=int, default=MIN_SLICES, help=f"of each contender (default: {MIN_SLICES})")
    parser.add_argument("--slice-ms", type=int, help="length of each (default: 150, with --quick 100)")
    parser.add_argument("--rounds", type=int, help="of whole runs, of which the median counts (default: 5, with --quick 3)")
    parser.add_argument("--seconds", type=float, help="length of a whole run (default: 2, with --quick 1)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of slices, the intervals and the losses")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output instead of tables: every slice, too")
    parser.add_argument("--nccl-sizes", type=nccl.sizes_of, help="of the part nccl, in bytes, for example 8..256M: by fours "
                        "(default: 8,4K,8K,64K,1M,16M,64M, and with --quick 8,64K,16M)")
    parser.add_argument("--nccl-losses", type=nccl.losses_of, default=[0, 0.1, 1], help="of the part nccl, in percent (default: 0,0.1,1)")
    parser.add_argument("--nccl-ranks", type=int, default=2, help="of the part nccl on loopback; over veth 2 (default: 2)")
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--no-build", action="store_true", help="measure what is built already")
    parser.add_argument("--list-targets", action="store_true", help=argparse.SUPPRESS)  # what tools/bench has to build
    parser.add_argument("--verbose", action="store_true", help="show every command")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 5)
    options.seconds = options.seconds or (1 if options.quick else 2)
    options.slice_ms = options.slice_ms or (100 if options.quick else 150)
    options.nccl_sizes = options.nccl_sizes or nccl.sizes_of("8,64K,16M" if options.quick else "8,4K,8K,64K,1M,16M,64M")
    if options.compare and (options.parts or options.place == "all"):
        parser.error("--compare has parts of its own, and takes one place")
    options.parts = options.parts.split(",") if options.parts else list(PARTS)
    if "targets" in options.parts:
        options.parts += targets.PARTS
    options.place = options.place or "all"
    unknown = set(options.parts) - {*PARTS, "targets"}
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}, targets")
    if options.slices < 1 or not 10 <= options.slice_ms <= 60000:
        parser.error("--slices is at least 1, --slice-ms 10 to 60000")
    if options.rounds < 1 or not 0.1 <= options.seconds <= 3600:
        parser.error("--rounds is at least 1, --seconds 0.1 to 3600")
    programs.build, programs.verbose = options.build, options.verbose
    return options


def wanted_places(options, left_out):
    """Those that can be had; the others are put into `left_out` with the reason."""
    if not set(options.parts) - {*targets.ONCE, "targets"}:
        return []
    wanted = [places.Loopback] if options.place in ("loopback", "all") else []
    if options.place in ("veth", "all"):
        if os.geteuid() == 0:
            wanted.append(places.Veth)
        else:
            left_out["veth"] = "it needs root for network namespaces"
            print(f"tools/bench: veth is left out, {left_out['veth']}", file=sys.stderr)
    return wanted


def measure_all(options):
    result = {"slices": options.slices, "slice_ms": options.slice_ms, "seed": options.seed, "rounds": options.rounds,
              "seconds": options.seconds, **targets.machine(), "places": {}, "left_out": {}}
    for part, call in (("idle", measure_idle), ("locks", measure_locks), ("srv6", measure_srv6), ("fabric", measure_fabric),
                       ("preflight", measure_preflight), ("nccl", measure_nccl), ("applications", measure_applications)):
        if part in options.parts:
            result[part] = call(options)
    made = []
    try:
        for kind in wanted_places(options, result["left_out"]):
            made.append(kind())
        progress = slices.Progress(sum(planned_s(options, place) for place in made))
        for place in made:
            result["places"][place.name] = measure_place(options, place, progress)
    finally:
        for place in made:
            place.close()
    return result


def main():
    options = parse()
    if options.list_targets:
        print(*needs.targets([] if options.compare else options.parts))
        return 0
    if options.compare:
        try:
            return compare_revisions(options)
        except compare.CannotCompare as e:
            print(f"tools/bench: {e}", file=sys.stderr)
            return 2
    result = measure_all(options)
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print("", *targets.table(result), sep="\n")
    return 1 if targets.failed(result) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("tools/bench: interrupted")
