"""The part `nccl` of tools/bench: NVIDIA's own libnccl.so.2 in nccl-rig, over NCCL's Socket transport, a plain TCP plugin and MRC. The
runs of nccl-rig, one for each transport, stay up, and each collective of each size is measured by slices of all of them. Where
packets are lost, nftables drops them at the inputs of the namespaces, whatever they carry; segmentation offload is off then, else a
drop would take up to 64 KiB. That alone costs MRC, whose packets are smaller than TCP's, half of its bandwidth and more:
--nccl-losses 0.001,1 shows what the loss costs."""
import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

import paired
import places
import programs
import slices
from rig import ANSWER_S, Measurement, Rig

TESTS = ("all_reduce", "all_gather", "alltoall", "sendrecv")
PLUGINS = {"nccl-net-mrc": programs.MRC_PLUGIN, "nccl-net-tcp-baseline": programs.TCP_PLUGIN}  # by their targets
SMALL, LARGE = 64 << 10, 16 << 20  # the bounds of the classes of sizes
SOCKET, TCP, MRC, MRC_DEFAULT = "NCCL Socket", "TCP plugin", "MRC sockets", "MRC default"
# NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD; None: what NCCL chooses.
SOCKET_COUNTS = ((None, None), (1, 4), (2, 2), (4, 1), (4, 4))
TUNED_FOR = {"small": 8, "large": 4 << 20}
SLICES, QUICK_SLICES, TUNING_SLICES = 20, 12, 5  # of each contender, for one collective of one size
RUNS = 3  # of a large size in a slice, at least: timed, and in the first one filled and compared
TIME_LIMIT_FACTOR = 1.25  # of the time planned for the slices of a measurement: when their runs take longer, it ends with fewer slices
LEAST_GBPS_FOR_CPU = 1.0  # below it, runs are so short that processor time per byte says nothing
WHOLE_RUN_S = 86400  # of a rig that stays up: what does not answer is ended by its slice
SLOWEST = 24 << 20  # bytes in a second, of TCP whose packets are lost
FLOORS = (  # title, loss in percent, class of sizes or the size itself, relation, bound
    ("large all_reduce, no loss: bandwidth of MRC sockets / NCCL Socket", 0, "large", ">=", 1.0),
    ("large all_reduce, 1 % loss: bandwidth of MRC sockets / NCCL Socket", 1, "large", ">=", 3.0),
    ("all_reduce of 8 B, no loss: time of MRC sockets / NCCL Socket", 0, "small", "<=", 1.2),
    ("all_reduce of 64 MiB, no loss: bandwidth of MRC sockets / NCCL Socket", 0, 64 << 20, ">=", 1.2),
    ("all_reduce of 8 KiB, no loss: time of MRC sockets / NCCL Socket", 0, 8 << 10, "<=", 1.0),
)


def program():
    path = os.path.join(programs.build, "tests", "system", "nccl-real", "nccl-rig")
    return os.path.abspath(path) if os.path.isfile(path) else None


def missing(plugins=tuple(PLUGINS)):
    """The reason why this cannot be measured here, with these plugins; empty: it can."""
    if program() is None:
        return "nccl-rig is not built (it needs an x86-64 machine)"
    for target in plugins:
        if programs.library(*PLUGINS[target]) is None:
            return f"{target} is not built"
    found = subprocess.run([program(), "--library"], capture_output=True, text=True, check=False)
    if found.returncode:
        return found.stdout.strip().removeprefix("skipped: ") or f"nccl-rig --library: exit code {found.returncode}"
    if os.geteuid() != 0:
        return "it needs root for network namespaces"
    return next((f"{tool} is missing (apt-get install {package})" for tool, package in (("ip", "iproute2"), ("nft", "nftables"))
                 if not shutil.which(tool)), "")


def size_in_bytes(text):
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(float(text[:-1]) * units[text[-1].upper()]) if text[-1:].upper() in units else int(text)


def sizes_of(text):
    """"8,64K" or "8..256M", by fours and with the last."""
    sizes = []
    for item in text.split(","):
        first, dots, last = item.partition("..")
        size = size_in_bytes(first)
        if size <= 0:
            raise ValueError
        sizes.append(size)
        while dots and size < size_in_bytes(last):
            size = min(size * 4, size_in_bytes(last))
            sizes.append(size)
    return sizes


def losses_of(text):
    """"0,0.1,1", in percent."""
    losses = [float(item) for item in text.split(",")]
    if not all(0 <= percent <= 100 for percent in losses):
        raise ValueError
    return losses


def size_name(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def runs_of(size):
    """(runs between two looks at the clock, runs to warm up in each slice): short runs need many, long ones one."""
    return (20, 3) if size <= SMALL else (4, 1) if size < LARGE else (1, 1)


def classes(sizes):
    """name -> sizes, which NCCL's Socket transport is tuned for."""
    parts = {"small": [size for size in sizes if size <= SMALL], "large": [size for size in sizes if size > SMALL]}
    return {name: part for name, part in parts.items() if part}


class Site:
    """A place, as the ranks and the transports see it."""

    def __init__(self, kind, ranks):
        self.place = kind()
        self.files = tempfile.TemporaryDirectory(prefix="mrc-bench-nccl-")
        self.loopback = kind is places.OwnLoopback
        self.ranks = ranks if self.loopback else 2
        self.launch = "ip netns exec mrcbench-" + ("0" if self.loopback else "{rank}")
        self.interfaces = ("lo",) if self.loopback else ("p1", ",".join(self.place.interfaces))
        self.mrc = {"MRC_CONFIG": "/dev/null"}
        self.tcp = {"NCCL_SOCKET_IFNAME": self.interfaces[0], **({} if self.loopback else {"MRC_TCP_NET_ADDRESS": "10.114.1.1{rank}"})}
        if not self.loopback:
            self.mrc = {"MRC_CONFIG": os.path.join(self.files.name, "{rank}.yaml")}
            for rank, env in enumerate((self.place.server_env, self.place.client_env)):
                shutil.copy(env["MRC_CONFIG"], os.path.join(self.files.name, f"{rank}.yaml"))

    def close(self):
        self.place.close()

    def transports(self, socket):
        """name -> (arguments of nccl-rig, variables of the ranks)"""
        mrc = {"NCCL_SOCKET_IFNAME": self.interfaces[0], **self.mrc}
        plugin, tcp = programs.library(*programs.MRC_PLUGIN), programs.library(*programs.TCP_PLUGIN)
        return {SOCKET: (["--plugin", "socket"], socket),
                TCP: (["--plugin", tcp, "--expect-net", "TCP-baseline"], self.tcp),
                MRC: (["--plugin", plugin], {**mrc, "MRC_SAME_HOST": "network"}),
                MRC_DEFAULT: (["--plugin", plugin], mrc)}

    def command(self, arguments, variables, limit_s):
        """Words of a run of nccl-rig, which ends it after limit_s."""
        words = [program(), "--ranks", str(self.ranks), "--launch", self.launch, "--out-of-place", "-T", str(limit_s), *arguments]
        for name, value in variables.items():
            words += ["--env", f"{name}={value}"]
        return words


def limit_of(size, ranks=2):
    """Seconds after which a slice has failed."""
    return ANSWER_S + RUNS * size * ranks // (2 * SLOWEST)


def rigs_of(site, transports):
    """name -> a rig that stays up, of (arguments of nccl-rig, variables of the ranks)"""
    return {name: Rig(site.command([*arguments, "--slices"], variables, WHOLE_RUN_S)) for name, (arguments, variables) in transports.items()}


def group_of(rigs, test, size, rows, options, ranks):
    """One collective of one size over rigs that are up."""
    words = f"{test} {size} " + " ".join(map(str, runs_of(size)))
    made = {name: lambda rig=rig: Measurement(rig, words, limit_of(size, ranks), ranks) for name, rig in rigs.items()}
    planned_s = options.slices * len(rigs) * (options.slice_ms / 1000 + slices.OVERHEAD_S)
    return slices.Group(f"{test} of {size_name(size)}", made, rows, limit_s=TIME_LIMIT_FACTOR * planned_s)


def progress(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def socket_variables(interfaces, threads, sockets):
    counts = {} if threads is None else {"NCCL_SOCKET_NTHREADS": threads, "NCCL_NSOCKS_PERTHREAD": sockets}
    return {"NCCL_SOCKET_IFNAME": interfaces, **counts}


def fastest(result):
    """The contender whose times are the smallest beside those of the same round; None: none has any."""
    rounds = zip(*([s and s["time_us"] for s in contender["slices"]] for contender in result["contenders"].values()))
    beside = [[time_us and time_us / statistics.median(filter(None, times)) for time_us in times] for times in rounds if any(times)]
    medians = {name: statistics.median(filter(None, ratios)) for name, ratios in zip(result["contenders"], zip(*beside)) if any(ratios)}
    return min(medians, key=medians.get, default=None)


def tuned(site, options, title):
    """Variables of NCCL's Socket transport with which all_reduce is fastest: {"small": ..., "large": ...}."""
    every = [socket_variables(interfaces, *counts) for interfaces in site.interfaces for counts in SOCKET_COUNTS]
    variants = {in_words(variables): variables for variables in every}
    options = with_slices(options, min(options.slices, TUNING_SLICES))
    rigs = rigs_of(site, {name: (["--plugin", "socket"], variables) for name, variables in variants.items()})
    chosen = {}
    try:
        for name, size in TUNED_FOR.items():
            group = group_of(rigs, "all_reduce", size, [], options, site.ranks)
            result = slices.measure(group, options, slices.Progress(slices.planned_s(group, options)), title)
            chosen[name] = variants.get(fastest(result), every[0])
            progress(f"{title}: NCCL Socket is fastest at {size_name(size)} with {in_words(chosen[name])}")
    finally:
        close(rigs)
    return chosen


def with_slices(options, count):
    return argparse.Namespace(**{**vars(options), "slices": count})


def close(rigs):
    for rig in rigs.values():
        rig.close()


def in_words(variables):
    return " ".join(f"{name}={value}" for name, value in variables.items())


def peers_of(name, transports):
    """Those it is compared with: NCCL's own transport, and MRC with the other plugin, too."""
    peers = {TCP: (SOCKET,), MRC: (SOCKET, TCP), MRC_DEFAULT: (SOCKET, TCP)}
    return [peer for peer in peers.get(name, ()) if peer in transports]


def rows_of(test, size, percent, transports, sizes):
    """Ratios of a measurement: how often each transport ends while a peer ends once, and the floors."""
    rows = [slices.Row(f"{name} / {peer}", name, peer, "rate") for name in transports for peer in peers_of(name, transports)]
    floors = [floor for floor in FLOORS if test == "all_reduce" and floor[1] == percent and size_of_floor(floor[2], sizes) == size]
    return rows + [slices.Row(title, MRC, SOCKET, "rate" if relation == ">=" else "time_us", relation, bound)
                   for title, _, _, relation, bound in floors]


def measure_site(kind, percent, options):
    """One place with one loss: groups, as slices.measure() returns them, by measurement; settings and commands."""
    site = Site(kind, options.nccl_ranks)
    title = f"{site.place.name}, loss {percent:g} %"
    groups, commands = {}, {}
    options = with_slices(options, min(options.slices, QUICK_SLICES if options.quick else SLICES))
    try:
        error = site.place.lose(percent / 100) if percent else None
        if error:
            return {"error": error}
        chosen = tuned(site, options, title)
        for name, sizes in classes(options.nccl_sizes).items():
            transports = site.transports(chosen[name])
            if percent and site.loopback:
                del transports[MRC_DEFAULT]  # passes shared memory, which loses nothing
            rigs = rigs_of(site, transports)
            made = [group_of(rigs, test, size, rows_of(test, size, percent, transports, options.nccl_sizes), options, site.ranks)
                    for size in sizes for test in TESTS]
            left = slices.Progress(sum(slices.planned_s(group, options) for group in made))
            try:
                for group in made:
                    groups[group.name] = slices.measure(group, options, left, title)
            finally:
                close(rigs)
            for transport, (arguments, variables) in transports.items():
                commands[f"{transport}, {size_name(sizes[0])} to {size_name(sizes[-1])}"] = shlex.join(
                    site.command([*arguments, "-t", ",".join(TESTS), "--sizes", ",".join(map(str, sizes))], variables, WHOLE_RUN_S))
    finally:
        site.close()
    return {"socket": chosen, "ranks": site.ranks, "commands": commands, "groups": groups}


def size_of_floor(name, sizes):
    """The size among those measured by which a floor is judged; None: there is none."""
    if name == "large":
        return max(sizes) if max(sizes) >= LARGE else None
    if name == "small":
        return min(sizes) if min(sizes) <= 8 else None
    return name if name in sizes else None


def judged(places_measured):
    """The floors of all places, with the place in their titles. One of which a transport has failed early is not met: a few pairs say little."""
    rows = []
    for place, losses in places_measured.items():
        for group in (group for measured in losses.values() for group in measured.get("groups", {}).values()):
            asked_for = max((len(contender["slices"]) for contender in group["contenders"].values()), default=0)
            for row in (row for row in group["ratios"] if row["target"] is not None):
                enough = row.get("pairs", 0) >= min(paired.MIN_PAIRS, asked_for)
                rows.append({**row, "ratio": f"{place}: {row['ratio']}", "met": row["met"] and enough})
    return rows


def left_out(places_measured):
    """{place, loss, and transport unless it is all: why there are no figures of it}"""
    result = {}
    for place, losses in places_measured.items():
        for percent, measured in losses.items():
            title = f"{place}, loss {percent} %"
            if "error" in measured:
                result[title] = measured["error"]
            for group in measured.get("groups", {}).values():
                for transport, figures in group["contenders"].items():
                    if "time_us" not in figures:
                        result.setdefault(f"{title}, {transport}", figures.get("error", "no slice"))
    return result


def show(places_measured):
    for place, losses in places_measured.items():
        for percent, result in losses.items():
            if "error" in result:
                print(f"\nnccl, {place}, loss {percent} %: {result['error']}")
                continue
            offloads = "" if percent == "0" else ", segmentation offload off"
            print(f"\nnccl, {place}, loss {percent} %{offloads}, {result['ranks']} ranks: us of a run, median (quartiles) of the slices, bus bandwidth,\n"
                  f"processor seconds of all ranks per GB sent; behind it how often it ends while its peer ends once, with the 95 % interval\n"
                  f"of one start and the number of pairs")
            for name, variables in result["socket"].items():
                print(f"  NCCL Socket, {name} sizes: {in_words(variables)}")
            for measurement, group in result["groups"].items():
                print(f"  {measurement}")
                for transport, figures in group["contenders"].items():
                    ratios = [row for row in group["ratios"] if row["target"] is None and row["of"][0] == transport]
                    print(f"    {transport:<12} {cell(figures, ratios)}")
            print("  commands of whole runs in the same way")
            for name, command in result["commands"].items():
                print(f"    {name}: {command}")


def cell(figures, ratios):
    if "time_us" not in figures:
        return "- (" + figures.get("error", "no slice")[:150] + ")"
    text = "{median:>12,.0f} us ({q1:,.0f} .. {q3:,.0f})".format(**figures["time_us"])
    if figures["gbps"]["median"] >= 0.005:
        text += f" {figures['gbps']['median']:.2f} Gb/s"
    if "cpu_s_per_gb" in figures and figures["gbps"]["median"] >= LEAST_GBPS_FOR_CPU:
        text += f" {figures['cpu_s_per_gb']['median']:.2f} s/GB"
    for ratio in (ratio for ratio in ratios if ratio["value"] is not None):
        low, high = ratio["interval"]
        text += f"   x {ratio['value']:.2f} [{low:.2f}, {high:.2f}] of {ratio['of'][1]} ({ratio['pairs']}, {ratio['verdict']})"
    return text + (f"   [{figures['failures']} slices failed]" if figures.get("failures") else "")


def measure(options):
    """{place: {loss in percent: ...}}, its judgement and what is left out, or {"error": sentence}."""
    why = missing()
    if why:
        return {"error": why}
    kinds = {"loopback": places.OwnLoopback, "veth": places.Veth}
    wanted = kinds if options.place == "all" else {name: kind for name, kind in kinds.items() if name == options.place}
    measured = {name: {f"{percent:g}": measure_site(kind, percent, options) for percent in options.nccl_losses}
                for name, kind in wanted.items()}
    return {"places": measured, "ratios": judged(measured), "left_out": left_out(measured)}
