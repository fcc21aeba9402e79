"""The parts that are measured by slices: the groups of contenders of each, and the ratios that count, with their targets. Memory
is the same for all contenders of a group: that of one message of each queue pair or stream, at both ends."""
import os

import contenders
import paired
from slices import Group, Row, with_cpu

KIB, MIB = 1 << 10, 1 << 20
RAW, MRC, ASLEEP, SHARED, TCP, TCP4 = ("raw limit", "MRC", "MRC, server asleep", "MRC, shared memory", "TCP", "TCP, 4 streams")
DATAGRAMS = "MRC datagrams"
SIZES = [4 * KIB * 4**k for k in range(8)]
SHORT_RUNS, SHORT_START_S = 15, 1.5
SHARD_COUNTS = (1, 2, 4, 8)
PARTS = ("bandwidth", "latency", "sizes", "rate", "qps", "shards", "datapaths", "drivers")


def size_name(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB" if size >= KIB else f"{size} B"


def depth_of(size, qps=1):
    """Messages in flight of each queue pair: some MiB in all, so that a slice ends soon after its time."""
    return max(2, min(128, 16 * MIB // size // qps))


def mrc_of(place, **test):
    """MRC over the kernel's sockets, and over shared memory where both processes are on one host without further ado."""
    made = {MRC: lambda: contenders.mrc(place, **test)}
    if "memory" in place.datapaths:
        made[SHARED] = lambda: contenders.mrc(place, over=place.datapaths["memory"], **test)
    return made


def shared_rows(made, rows):
    return rows if SHARED in made else []


def bandwidth(place, _):
    made = {RAW: lambda: contenders.limit(place), **mrc_of(place, size=MIB, depth=16),
            ASLEEP: lambda: contenders.mrc(place, size=MIB, depth=16, asleep=True),
            TCP: lambda: contenders.tcp(place), TCP4: lambda: contenders.tcp(place, streams=4)}
    rows = [*with_cpu("one QP over sockets / raw limit", MRC, RAW, ">=", 0.95),
            *with_cpu("one QP over sockets / one TCP stream", MRC, TCP, ">=", 1.2, cpu_relation="<=", cpu_bound=0.9),
            *with_cpu("one QP, server asleep / one TCP stream", ASLEEP, TCP),
            *shared_rows(made, with_cpu("shared memory / sockets", SHARED, MRC))]
    groups = [Group("messages of 1 MiB, one QP", made, rows)]
    for size in (64 * KIB, 8 * KIB):
        made = {**mrc_of(place, size=size, qps=4, depth=depth_of(size, 4)), TCP: lambda size=size: contenders.tcp(place, size),
                TCP4: lambda size=size: contenders.tcp(place, size, 4)}
        rows = [*with_cpu(f"{size_name(size)}, 4 QPs / one TCP stream", MRC, TCP, ">=", 1.3),
                *with_cpu(f"{size_name(size)}, 4 QPs / four TCP streams", MRC, TCP4, ">=", 1.3),
                *shared_rows(made, with_cpu("shared memory / sockets", SHARED, MRC))]
        groups.append(Group(f"messages of {size_name(size)}, 4 QPs", made, rows))
    return groups


def latency(place, _):
    made = {RAW: lambda: contenders.limit(place, latency=True), **mrc_of(place, size=2, latency=True),
            DATAGRAMS: lambda: contenders.mrc(place, size=2, latency=True, datagrams=True),
            TCP: lambda: contenders.tcp(place, latency=True)}
    rows = [Row("half round trip / raw ping-pong, p50", MRC, RAW, "p50_us", "<=", 1.2),
            Row("half round trip / raw ping-pong, p99", MRC, RAW, "p99_us", "<=", 1.5),
            Row("half round trip / raw ping-pong, p99.9", MRC, RAW, "p999_us", "<=", 1.5),
            Row("half round trip / TCP ping-pong, p50", MRC, TCP, "p50_us"),
            Row("datagrams / writes, p50", DATAGRAMS, MRC, "p50_us", "<=", 1.2),
            *shared_rows(made, [Row("shared memory / sockets, p50", SHARED, MRC, "p50_us")])]
    return [Group("half round trip of 2 B", made, rows)]


def rate(place, _):
    # 64 bytes of payload beside 48 of headers; one packet per send is what the raw sockets can do for packets of their own.
    made = {RAW: lambda: contenders.limit(place, size=112, burst=1), **mrc_of(place, size=64, depth=256)}
    return [Group("messages of 64 B", made, [*with_cpu("messages of 64 B / raw packets of 112 B", MRC, RAW, figure="rate"),
                                             *shared_rows(made, with_cpu("shared memory / sockets", SHARED, MRC, figure="rate"))])]


def sizes(place, options):
    groups = []
    for size in SIZES[::2] if options.quick else SIZES:
        made = {**mrc_of(place, size=size, depth=depth_of(size)), TCP: lambda size=size: contenders.tcp(place, size)}
        groups.append(Group(f"writes of {size_name(size)}", made,
                            [*with_cpu(f"{size_name(size)}, one QP / one TCP stream", MRC, TCP),
                             *shared_rows(made, with_cpu("shared memory / sockets", SHARED, MRC))]))
    return groups


def qps(place, options):
    counts = (1, 16, 1024) if options.quick else (1, 4, 16, 64, 256, 1024)
    groups = []
    for size, figure in ((64 * KIB, "gbps"), (64, "rate")):
        made = {f"{n} QPs": lambda n=n, size=size: contenders.mrc(place, size=size, qps=n, depth=4 if n > 16 else 16) for n in counts}
        rows = [row for n in counts[1:] for row in with_cpu(f"{n} QPs / one", f"{n} QPs", "1 QPs", figure=figure)]
        groups.append(Group(f"queue pairs, messages of {size_name(size)}", made, rows))
    return groups


def processors():
    return len(os.sched_getaffinity(0))


def sharded(place, qps, engines, **test):
    """A device of so many engines at both ends, each used by one thread."""
    return contenders.mrc(place, over={"MRC_SHARDS": str(engines)}, qps=qps, threads=engines, **test)


def shards(place, options):
    """Both ends of two engines need four processors; with fewer, a loss by several engines must not be shown."""
    one, two = "one engine, one QP", "two engines, a QP each"
    test = {"size": MIB, "depth": 16}
    alone = Group("engines of a device, messages of 1 MiB", {one: lambda: sharded(place, 1, 1, **test), two: lambda: sharded(place, 2, 2, **test)},
                  with_cpu("two engines, each with a QP / one", two, one, *((">=", 1.8) if processors() >= 4 else (paired.NO_LOSS, 1.0))))
    counts = [n for n in SHARD_COUNTS if n <= max(2, 2 if options.quick else processors())]
    groups = [alone]
    for size in (64 * KIB, 4 * KIB):
        made = {f"{n} engines": lambda n=n, size=size: sharded(place, 8, n, size=size, depth=depth_of(size, 8)) for n in counts}
        rows = [row for n in counts[1:] for row in with_cpu(f"8 QPs, {size_name(size)}: {n} engines / one", f"{n} engines", "1 engines")]
        groups.append(Group(f"8 queue pairs over the engines of a device, messages of {size_name(size)}", made, rows))
    return groups


def datapaths(place, _):
    """Datapaths that take whole interfaces, so that only one contender runs at a time."""
    others = {name: over for name, over in place.datapaths.items() if name != "memory"}
    if not others:
        return []
    groups = []
    for title, test, figures in (("bandwidth", {"size": MIB, "depth": 16}, ("gbps", "cpu_s_per_gb")),
                                 ("half round trip of 2 B", {"size": 2, "latency": True}, ("p50_us", "p99_us"))):
        made = {MRC: lambda test=test: contenders.mrc_short(place, **test)}
        made.update({f"MRC, {name}": lambda over=over, test=test: contenders.mrc_short(place, over=over, **test)
                     for name, over in others.items()})
        rows = [Row(f"{name} / sockets, {figure}", f"MRC, {name}", MRC, figure) for name in others for figure in figures]
        groups.append(Group(f"other datapaths, short runs: {title}", made, rows, SHORT_RUNS, SHORT_START_S))
    return groups


def drivers(place, _):
    """The drivers of frames beside what their way carries without MRC: the same frames, one copy by the program at each end."""
    if not hasattr(place, "bare_interfaces"):
        return []
    test = {"size": MIB, "depth": 16}
    xdp = {"MRC_DATAPATH": "raw", "MRC_RAW_IO": "xdp"}
    return [Group("AF_XDP over veth", {"bare AF_XDP": lambda: contenders.xdp_limit(place), MRC: lambda: contenders.mrc(place, over=xdp, **test)},
                  with_cpu("raw datapath / bare AF_XDP", MRC, "bare AF_XDP", ">=", 0.7)),
            Group("DPDK over memif", {"bare rte_eth": lambda: contenders.rte_limit(place), MRC: lambda: contenders.mrc_over_memif(place, **test)},
                  with_cpu("DPDK datapath / bare rte_eth", MRC, "bare rte_eth", ">=", 0.6))]


def groups(place, options):
    makers = {"bandwidth": bandwidth, "latency": latency, "sizes": sizes, "rate": rate, "qps": qps, "shards": shards,
              "datapaths": datapaths, "drivers": drivers}
    return [group for part, make in makers.items() if part in options.parts for group in make(place, options)]


THIS = "this tree"
LATENCIES = ("p50_us", "p99_us", "p999_us")


COMPARED_STARTS = 12  # two processes of one program differ by up to 8 % for as long as they stay up


def comparison(place, old, new, rev, stays_up):
    """Groups of tools/bench --compare: the programs of two revisions, in the same way for both."""
    make = contenders.mrc if stays_up else contenders.mrc_short
    tests = (("1 MiB, one QP", {"size": MIB, "depth": 16}, "gbps"),
             ("1 MiB, one QP, server asleep", {"size": MIB, "depth": 16, "asleep": True}, "gbps"),
             ("64 KiB, 4 QPs", {"size": 64 * KIB, "qps": 4, "depth": depth_of(64 * KIB, 4)}, "gbps"),
             ("8 KiB, 4 QPs", {"size": 8 * KIB, "qps": 4, "depth": depth_of(8 * KIB, 4)}, "gbps"),
             ("64 B, one QP", {"size": 64, "depth": 256}, "rate"),
             ("half round trip of 2 B", {"size": 2, "latency": True}, None))
    made = []
    for title, test, figure in tests:
        both = {rev: lambda test=test: make(place, old, **test), THIS: lambda test=test: make(place, new, **test)}
        rows = ([Row(f"{title}: p{key[1:-3].replace('999', '99.9')}", THIS, rev, key) for key in LATENCIES] if figure is None else
                with_cpu(title, THIS, rev, figure=figure))
        made.append(Group(title, both, rows, start_s=0 if stays_up else 0.8, starts=COMPARED_STARTS if stays_up else 1))
    return made
