"""The part `applications` of tools/bench: programs that know nothing of MRC, over the verbs shim, beside mrc-perf with messages of the same
size: perftest's ib_send_bw on a reliable connection, and MPI over UCX. By turns in random order, whole runs, on loopback. The kernel's
sockets carry all of them unless the name says shared memory: for mrc-perf and ib_send_bw that is MRC's, for MPI the one of UCX, which
it picks by itself between two processes of a host."""
import random
import shutil

import places
import programs
import report

KIB, MIB = 1 << 10, 1 << 20
SIZES = {"64 KiB": (64 * KIB, 64), "1 MiB": (MIB, 16)}  # name: bytes, messages in flight of mrc-perf
MEMORY = {"MRC_SAME_HOST": "memory"}
PERFTEST_PORT = 18660
RUNS_OF_A_PAIR_S = 60
MRC, MRC_MEMORY = "mrc-perf", "mrc-perf, shared memory"
MPIRUN = {"Open MPI": ("openmpi", ["--oversubscribe", "--allow-run-as-root", "--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "btl", "^openib"]),
          "MPICH": ("mpich", [])}


def shim():
    return programs.library("libmrc-verbs.so", "verbs-shim")


def missing():
    """The reason why this cannot be measured here; empty: it can."""
    if shim() is None:
        return "libmrc-verbs.so is not built"
    if shutil.which("ib_send_bw") is None:
        return "perftest is missing (apt-get install perftest)"
    return ""


def send_bw(seconds, size, over):
    """Bandwidth of SENDs on a reliable connection; every line but the last of its table is words."""
    env = {**programs.SOCKETS, **over, "LD_PRELOAD": shim()}
    command = ["ib_send_bw", "-F", "-D", str(max(1, round(seconds))), "-s", str(size), "-p", str(PERFTEST_PORT), "--report_gbits"]
    text, cpu, error = programs.pair(places.Loopback(), command, [*command, "127.0.0.1"], seconds, env, env)
    if error:
        return {"error": error}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 5 and words[0] == str(size):
            gigabytes = int(words[1]) * size * 1e-9
            return {"gbps": float(words[3]), "cpu_s_per_gb": cpu / gigabytes}
    return {"error": "no result in the output: " + text[-200:]}


def mpi(kind, seconds, size, over):
    """Bandwidth and half a round trip between two ranks."""
    name, options = MPIRUN[kind]
    binary = programs.program(f"mpi_bandwidth.{name}")
    if binary is None:
        return {"error": f"{kind} is not installed, or mpi_bandwidth.{name} is not built"}
    child = programs.Child([f"mpirun.{name}", *options, "-np", "2", binary, str(size), str(seconds)],
                           {**programs.SOCKETS, **over, "LD_PRELOAD": shim(), "UCX_WARN_UNUSED_ENV_VARS": "n"})
    try:
        if not child.wait(seconds * 3 + RUNS_OF_A_PAIR_S):
            return {"error": "timeout"}
        if child.code != 0:
            return {"error": f"exit {child.code}: " + (child.text("err") + child.text())[-300:]}
        result = programs.last_json(child.text())
        return {"gbps": result["gbps"], "p50_us": result["p50_us"], "cpu_s_per_gb": child.cpu / (result["bytes"] * 1e-9)}
    finally:
        child.stop()


def contenders(seconds, size, depth):
    """name -> call that measures it once"""
    network = {"UCX_TLS": "^sysv,posix,cma"}
    place = places.Loopback()
    made = {MRC: lambda: programs.mrc(place, seconds, size, depth),
            MRC_MEMORY: lambda: programs.mrc(place, seconds, size, depth, over=MEMORY),
            "ib_send_bw": lambda: send_bw(seconds, size, {}),
            "ib_send_bw, shared memory": lambda: send_bw(seconds, size, MEMORY)}
    for kind in MPIRUN:
        made[kind] = lambda kind=kind: mpi(kind, seconds, size, network)
        made[f"{kind}, shared memory"] = lambda kind=kind: mpi(kind, seconds, size, {})
    return made


def ratios(table):
    """Of the bandwidths to mrc-perf over the same kind of way; none has a target."""
    rows = []
    for measurement, figures in table.items():
        for name in figures:
            beside = MRC_MEMORY if name.endswith("shared memory") else MRC
            if name == beside:
                continue
            rounds = report.of_rounds(table, f"{measurement}.{name}.gbps", f"{measurement}.{beside}.gbps")
            title = measurement.removeprefix("messages of ")
            rows.append(report.ratio_of_rounds(f"{title}: {name} / mrc-perf" + ("'s" if beside == MRC_MEMORY else ""), rounds))
    return rows


def measure(options, progress):
    """{"measurements", "ratios"}, or {"error": sentence}."""
    why = missing()
    if why:
        return {"error": why}
    order, runs = random.Random(options.seed), []
    for turn in range(options.rounds):
        calls = [(f"messages of {title}", name, call) for title, (size, depth) in SIZES.items()
                 for name, call in contenders(options.seconds, size, depth).items()]
        order.shuffle(calls)
        for measurement, name, call in calls:
            try:
                result = call()
            except (OSError, ValueError, KeyError) as e:
                result = {"error": f"{type(e).__name__}: {e}"}
            runs.append((measurement, name, result))
            progress(f"applications, round {turn + 1} of {options.rounds}: {measurement}, {name}: {report.figure(result)}")
    table = {measurement: dict(sorted(figures.items(), key=lambda item: list(contenders(0, 1, 1)).index(item[0])))
             for measurement, figures in sorted(report.medians(runs).items(), key=lambda item: -len(item[0]))}
    return {"measurements": table, "ratios": ratios(table)}


def show(figures):
    print("\nprograms over the verbs shim beside mrc-perf, on loopback; median of the rounds (lowest .. highest)")
    for measurement, programs_of_it in figures["measurements"].items():
        print(f"  {measurement}")
        for name, result in programs_of_it.items():
            print(f"    {name:<26} {report.figure(result)}{spread(result)}")


def spread(result):
    values = [run["gbps"] for run in result["runs"] if "gbps" in run]
    return f"  ({min(values):.2f} .. {max(values):.2f} Gb/s)" if values else ""
