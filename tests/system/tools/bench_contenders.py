"""The programs that tools/bench measures with: one slice of each, and that all processes end. No speed is judged.

usage: bench_contenders.py SOURCE_DIR BUILD_DIR
"""
import os
import subprocess
import sys

import bench_modules

source, build = sys.argv[1:]
bench_modules.use(source, build)
import applications  # noqa: E402
import contenders  # noqa: E402
import places  # noqa: E402
import programs  # noqa: E402

place = places.Loopback()
KIB = 1 << 10


def measure(name, start, latency=False):
    contender = start()
    try:
        slices = [contender.slice(0.05) for _ in range(2)]
    finally:
        contender.close()
    wanted = {"p50_us", "p99_us", "p999_us", "cpu_s"} if latency else {"gbps", "rate", "cpu_s_per_gb", "cpu_s"}
    for s in slices:
        assert set(s) == wanted and all(value > 0 for key, value in s.items() if "cpu" not in key), (name, s)
    for process in (getattr(contender, "server", None), getattr(contender, "client", None)):
        assert process is None or process.process.returncode is not None, name
    print(name, slices[-1])


measure("raw limit", lambda: contenders.limit(place))
measure("raw packets", lambda: contenders.limit(place, size=112, burst=1))
for title, ends in (("staged", {"client": ["--staged", "--crc", "mrc", "--huge"]}), ("pieces", {"client": ["--pieces", "--crc", "mrc"]}),
                    ("zero copy", {"client": ["--zerocopy"]}), ("scattered", {"server": ["--place", "scatter", "--crc", "mrc", "--huge"]}),
                    ("headers alone", {"size": 48, "server": ["--place", "scatter", "--crc", "mrc"], "client": ["--crc", "mrc"]}),
                    ("not copied", {"server": ["--place", "leave"]}), ("many credits", {"server": ["--credits", "4"]}),
                    ("many credits at once", {"server": ["--credits", "4", "--sendmmsg"]})):
    measure(f"raw limit, {title}", lambda ends=ends: contenders.limit(place, **ends))
measure("raw ping-pong", lambda: contenders.limit(place, latency=True), latency=True)
if os.geteuid() == 0:  # CAP_NET_ADMIN
    measure("raw ping-pong, polling the queue", lambda: contenders.limit(place, latency=True, server=["--busy-poll"], client=["--busy-poll"]),
            latency=True)
measure("TCP", lambda: contenders.tcp(place))
measure("TCP, 4 streams", lambda: contenders.tcp(place, 8 * KIB, 4))
measure("TCP, a message of 64 MiB", lambda: contenders.tcp(place, 64 << 20))
measure("TCP ping-pong", lambda: contenders.tcp(place, latency=True), latency=True)
measure("MRC", lambda: contenders.mrc(place, size=64 * KIB, qps=4, depth=4))
measure("MRC, two engines", lambda: contenders.mrc(place, over={"MRC_SHARDS": "2"}, size=64 * KIB, qps=2, threads=2, depth=4))
measure("MRC, server asleep", lambda: contenders.mrc(place, size=64 * KIB, depth=4, asleep=True))
measure("MRC, ping-pong", lambda: contenders.mrc(place, size=2, latency=True), latency=True)
measure("MRC, short runs", lambda: contenders.mrc_short(place, size=64, depth=16))

if applications.missing():
    print(applications.missing())
else:
    for name, call in applications.contenders(0.3, 64 * KIB, 16).items():
        result = call()
        print(name, result)
        if "not installed" not in result.get("error", ""):
            assert result["gbps"] > 0 and result["cpu_s_per_gb"] > 0, result


def namespaces():
    """None where there are no privileges for them."""
    try:
        return places.Veth() if os.geteuid() == 0 else None
    except (OSError, subprocess.CalledProcessError) as e:
        print("no network namespaces:", e)
        return None


veth = namespaces()
if veth is not None:
    try:
        xdp = {"MRC_DATAPATH": "raw", "MRC_RAW_IO": "xdp"}
        why_not = contenders.why_no_xdp()
        if why_not is None:
            measure("bare AF_XDP", lambda: contenders.xdp_limit(veth))
            measure("MRC, AF_XDP", lambda: contenders.mrc(veth, over=xdp, size=64 * KIB, depth=4))
        else:
            print("contenders over AF_XDP are left out:", why_not)
        if programs.program("mrc-rte-limit"):
            measure("bare rte_eth", lambda: contenders.rte_limit(veth))
            measure("MRC, memif", lambda: contenders.mrc_over_memif(veth, size=64 * KIB, depth=4))
    finally:
        veth.close()
idle = programs.idle_qps(100)
assert idle["qps"] == 100 and idle["idle_bytes"] > 0, idle
print("idle", idle)

# A contender that is not there, or that dies, is an error with a reason.
try:
    contenders.Pair(place, ["false"], ["sh", "-c", "echo no luck >&2; exit 3"])
    raise AssertionError("no error")
except contenders.Failed as e:
    assert "exit code 3: no luck" in str(e), e
