"""The part `nccl` of tools/bench: NVIDIA's own libnccl.so.2 in nccl-rig, by turns over NCCL's Socket transport, a plain TCP
plugin and MRC. A slice is one run of nccl-rig: all collectives, for some sizes. Where packets are lost, nftables drops them at
the inputs of the namespaces, whatever they carry; segmentation offload is off then, else a drop would take up to 64 KiB. That alone
costs MRC, whose packets are smaller than TCP's, half of its bandwidth and more: --nccl-losses 0.001,1 shows what the loss costs."""
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

import places
import programs
import report

TESTS = ("all_reduce", "all_gather", "alltoall", "sendrecv")
PLUGINS = {"nccl-net-mrc": programs.MRC_PLUGIN, "nccl-net-tcp-baseline": programs.TCP_PLUGIN}  # by their targets
SMALL, LARGE = 64 << 10, 16 << 20  # the bounds of the classes of sizes
SOCKET, TCP, MRC, MRC_DEFAULT = "NCCL Socket", "TCP plugin", "MRC sockets", "MRC default"
# NCCL_SOCKET_NTHREADS and NCCL_NSOCKS_PERTHREAD; None: what NCCL chooses.
SOCKET_COUNTS = ((None, None), (1, 4), (2, 2), (4, 1), (4, 4))
TUNED_FOR = {"small": 8, "large": 4 << 20}
SLICE_LIMIT_S = 120
RUNS = 12  # of each size in a slice, at least: four collectives, each to warm up, timed, and compared
SLOWEST = 24 << 20  # bytes in a second, of TCP whose packets are lost
FLOORS = (  # title, loss in percent, class of sizes or the size itself, relation, bound
    ("large all_reduce, no loss: bandwidth of MRC sockets / NCCL Socket", 0, "large", ">=", 1.0),
    ("large all_reduce, 1 % loss: bandwidth of MRC sockets / NCCL Socket", 1, "large", ">=", 3.0),
    ("all_reduce of 8 B, no loss: time of MRC sockets / NCCL Socket", 0, "small", "<=", 1.2),
    ("all_reduce of 64 MiB, no loss: bandwidth of MRC sockets / NCCL Socket", 0, 64 << 20, ">=", 1.2),
    ("all_reduce of 8 KiB, no loss: time of MRC sockets / NCCL Socket", 0, 8 << 10, "<=", 1.0),
)


def rig():
    path = os.path.join(programs.build, "tests", "system", "nccl-real", "nccl-rig")
    return os.path.abspath(path) if os.path.isfile(path) else None


def missing(plugins=tuple(PLUGINS)):
    """The reason why this cannot be measured here, with these plugins; empty: it can."""
    if rig() is None:
        return "nccl-rig is not built (it needs an x86-64 machine)"
    for target in plugins:
        if programs.library(*PLUGINS[target]) is None:
            return f"{target} is not built"
    found = subprocess.run([rig(), "--library"], capture_output=True, text=True, check=False)
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


def classes(sizes):
    """(sizes, runs between two looks at the clock, runs to warm up): short runs need many, long ones one."""
    parts = (([s for s in sizes if s <= SMALL], 20, 3), ([s for s in sizes if SMALL < s < LARGE], 4, 1), ([s for s in sizes if s >= LARGE], 1, 1))
    return [part for part in parts if part[0]]


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
        words = [rig(), "--ranks", str(self.ranks), "--launch", self.launch, "--out-of-place", "-T", str(limit_s), *arguments]
        for name, value in variables.items():
            words += ["--env", f"{name}={value}"]
        return words


def limit_of(sizes, ranks=2):
    """Seconds after which a slice has failed."""
    return SLICE_LIMIT_S + RUNS * sum(sizes) * ranks // (2 * SLOWEST)


def words_of(site, tests, sizes, how, arguments, variables):
    """The command of a slice."""
    return site.command([*arguments, "-t", ",".join(tests), "--sizes", ",".join(map(str, sizes)), *map(str, how)], variables, limit_of(sizes, site.ranks))


def run(site, tests, sizes, how, arguments, variables):
    """{(test, size): figures}, or {"error": sentence}."""
    path = os.path.join(site.files.name, "report.json")
    child = programs.Child([*words_of(site, tests, sizes, how, arguments, variables), "--json", path])
    try:
        if not child.wait(limit_of(sizes, site.ranks) + 30):
            return {"error": "timeout"}
        if child.code != 0:
            return {"error": f"exit {child.code}: " + (child.text("err") + child.text())[-300:].replace("\n", " | ")}
        with open(path, encoding="utf-8") as text:
            lines = iter([line["out_of_place"] for line in json.load(text)["lines"]])
    finally:
        child.stop()
    figures = ((test, size, next(lines)) for test in tests for size in sizes)
    return {(test, size): {"time_us": f["time_us"], "gbps": 8 * f["busbw_gb_s"]} for test, size, f in figures}


def progress(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def socket_variables(interfaces, threads, sockets):
    counts = {} if threads is None else {"NCCL_SOCKET_NTHREADS": threads, "NCCL_NSOCKS_PERTHREAD": sockets}
    return {"NCCL_SOCKET_IFNAME": interfaces, **counts}


def tuned(site, seconds, title):
    """Variables of NCCL's Socket transport with which all_reduce is fastest: {"small": ..., "large": ...}."""
    best = {}
    for interfaces in site.interfaces:
        for counts in SOCKET_COUNTS:
            variables = socket_variables(interfaces, *counts)
            result = run(site, ["all_reduce"], list(TUNED_FOR.values()), ["-n", 4, "-w", 1, "-D", seconds], ["--plugin", "socket"], variables)
            for name, size in TUNED_FOR.items():
                time_us = result.get(("all_reduce", size), {}).get("time_us")
                if time_us is not None and (name not in best or time_us < best[name][0]):
                    best[name] = time_us, variables
    chosen = {name: variables for name, (_, variables) in best.items()}
    for name in TUNED_FOR:
        chosen.setdefault(name, socket_variables(site.interfaces[0], None, None))
        progress(f"{title}: NCCL Socket is fastest at {size_name(TUNED_FOR[name])} with {in_words(chosen[name])}")
    return chosen


def in_words(variables):
    return " ".join(f"{name}={value}" for name, value in variables.items())


def measure_site(kind, percent, options):
    """One place with one loss: (measurement, program, figures) of all rounds, settings and commands."""
    site = Site(kind, options.nccl_ranks)
    title = f"{site.place.name}, loss {percent:g} %"
    runs, commands = [], {}
    try:
        error = site.place.lose(percent / 100) if percent else None
        if error:
            return {"error": error}
        chosen = tuned(site, options.nccl_seconds, title)
        for turn in range(options.rounds):
            for sizes, iterations, warm_up in classes(options.nccl_sizes):
                name = "small" if sizes[-1] <= SMALL else "large"
                transports = site.transports(chosen[name])
                if percent and site.loopback:
                    del transports[MRC_DEFAULT]  # passes shared memory, which loses nothing
                for transport, (arguments, variables) in transports.items():
                    how = ["-n", iterations, "-w", warm_up, "-D", options.nccl_seconds]
                    result = run(site, TESTS, sizes, how, arguments, variables)
                    progress(f"{title}, round {turn + 1}: {size_name(sizes[0])} to {size_name(sizes[-1])}, {transport}" +
                             (f": {result['error']}" if "error" in result else ""))
                    runs += [(f"{test} of {size_name(size)}", transport, result if "error" in result else result[test, size])
                             for test in TESTS for size in sizes]
                    commands.setdefault(f"{transport}, {size_name(sizes[0])} to {size_name(sizes[-1])}",
                                        shlex.join(words_of(site, TESTS, sizes, how, arguments, variables)))
    finally:
        site.close()
    return {"socket": chosen, "ranks": site.ranks, "commands": commands, "measurements": report.medians(runs)}


def speed_ratio(table, measurement, transport):
    """How often `transport` ends while NCCL Socket ends once, in each round."""
    return report.of_rounds(table, f"{measurement}.{SOCKET}.time_us", f"{measurement}.{transport}.time_us")


def size_of_floor(name, sizes):
    """The size among those measured by which a floor is judged; None: there is none."""
    if name == "large":
        return max(sizes) if max(sizes) >= LARGE else None
    if name == "small":
        return min(sizes) if min(sizes) <= 8 else None
    return name if name in sizes else None


def judged(places_measured, sizes):
    """Rows in the shape of report.ratios."""
    rows = []
    for place, losses in places_measured.items():
        for title, percent, name, relation, bound in FLOORS:
            size = size_of_floor(name, sizes)
            if f"{percent:g}" not in losses or size is None:
                continue
            table = losses[f"{percent:g}"].get("measurements", {})
            rounds = speed_ratio(table, f"all_reduce of {size_name(size)}", MRC)
            rounds = rounds if relation == ">=" else [1 / ratio for ratio in rounds]
            row = {"ratio": f"{place}: {title}", "value": None, "target": f"{relation} {bound}", "met": False}
            if rounds:
                value = statistics.median(rounds)
                row.update(value=round(value, 3), least=round(min(rounds), 3), most=round(max(rounds), 3),
                           met=value >= bound if relation == ">=" else value <= bound)
            rows.append(row)
    return rows


def left_out(places_measured):
    """{place, loss, and transport unless it is all: why there are no figures of it}"""
    result = {}
    for place, losses in places_measured.items():
        for percent, measured in losses.items():
            title = f"{place}, loss {percent} %"
            if "error" in measured:
                result[title] = measured["error"]
            for transports in measured.get("measurements", {}).values():
                for transport, figures in transports.items():
                    if "error" in figures:
                        result.setdefault(f"{title}, {transport}", figures["error"])
    return result


def show(places_measured):
    for place, losses in places_measured.items():
        for percent, result in losses.items():
            if "error" in result:
                print(f"\nnccl, {place}, loss {percent} %: {result['error']}")
                continue
            offloads = "" if percent == "0" else ", segmentation offload off"
            print(f"\nnccl, {place}, loss {percent} %{offloads}, {result['ranks']} ranks: us of the median round (bus bandwidth in Gb/s);\n"
                  f"behind it how often the transport ends while NCCL Socket ends once: median of the rounds, least .. most")
            for name, variables in result["socket"].items():
                print(f"  NCCL Socket, {name} sizes: {in_words(variables)}")
            for measurement, transports in result["measurements"].items():
                print(f"  {measurement}")
                for transport, figures in transports.items():
                    print(f"    {transport:<12} {cell(result['measurements'], measurement, transport, figures)}")
            print("  commands, each run once in a round")
            for name, command in result["commands"].items():
                print(f"    {name}: {command}")


def cell(table, measurement, transport, figures):
    if "error" in figures:
        return "- (" + figures["error"][:150] + ")"
    text = f"{figures['time_us']:>12,.0f} us" + (f" ({figures['gbps']:.2f} Gb/s)" if figures["gbps"] >= 0.005 else "")
    ratios = speed_ratio(table, measurement, transport)
    if transport != SOCKET and ratios:
        text += f"   x {statistics.median(ratios):.2f}, {min(ratios):.2f} .. {max(ratios):.2f}"
    return text + (f"   [{figures['failed_runs']} runs failed]" if figures.get("failed_runs") else "")


def measure(options):
    """{place: {loss in percent: ...}}, its judgement and what is left out, or {"error": sentence}."""
    why = missing()
    if why:
        return {"error": why}
    kinds = {"loopback": places.OwnLoopback, "veth": places.Veth}
    wanted = kinds if options.place == "all" else {name: kind for name, kind in kinds.items() if name == options.place}
    measured = {name: {f"{percent:g}": measure_site(kind, percent, options) for percent in options.nccl_losses}
                for name, kind in wanted.items()}
    return {"places": measured, "ratios": judged(measured, options.nccl_sizes), "left_out": left_out(measured)}
