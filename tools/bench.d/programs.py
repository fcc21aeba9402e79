"""The programs that are measured: how each is started at both ends, and how its answer is read.

Every function returns a dictionary with some of: gbps (payload received), rate (messages per second), p50_us, p99_us, p999_us,
mean_us (half round trip), cpu_s_per_gb (processor seconds of both ends per 1e9 bytes of payload); or {"error": sentence}.
"""
import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

build = "build/release"
verbose = False


def program(name):
    """Path of a program of ours in the build folder."""
    for folder in (f"dev/{name.replace('mrc-', '')}", name, "."):
        path = os.path.join(build, "tools", folder, name)
        if os.path.isfile(path):
            return os.path.abspath(path)
    return None


class Child:
    """A process whose output goes to files, so that no reader of a pipe is needed, and whose processor time is known."""

    def __init__(self, command, env=None):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        if verbose:
            print("+", " ".join(f"{k}={v}" for k, v in (env or {}).items()), *command, flush=True)
        self.process = subprocess.Popen(command, stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL,
                                        env={**os.environ, **(env or {})})
        self.cpu = 0.0
        self.code = None

    def wait(self, seconds):
        until = time.monotonic() + seconds
        while self.code is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.process.returncode = self.code
                self.cpu = usage.ru_utime + usage.ru_stime
            elif time.monotonic() > until:
                return False
            else:
                time.sleep(0.005)
        return True

    def stop(self):
        for s in (signal.SIGINT, signal.SIGKILL):
            if self.code is None:
                self.process.send_signal(s)
                self.wait(3)

    def text(self, which="out"):
        f = getattr(self, which)
        f.seek(0)
        return f.read().decode(errors="replace")


def pair(place, server, client, seconds, server_env=None, client_env=None, server_ends=True):
    """Runs both ends. Returns (client's output, processor seconds of both, error)."""
    s = Child([*place.server, *server], server_env)
    c = None
    try:
        for attempt in range(3):  # the server may need a moment to listen
            time.sleep(0.3 + attempt)
            if s.wait(0):
                return "", 0, "server: " + (s.text("err").strip() or s.text().strip())[-300:]
            c = Child([*place.client, *client], client_env)
            if not c.wait(seconds * 3 + 60):
                return "", 0, "timeout"
            if c.code == 0:
                break
        if server_ends:
            s.wait(5)
        s.stop()
        if c.code != 0:
            return "", 0, f"exit {c.code}: " + (c.text("err").strip() or c.text().strip())[-300:]
        return c.text(), s.cpu + c.cpu, None
    finally:
        s.stop()
        if c is not None:
            c.stop()


def last_json(text):
    """The last JSON object of an output: the whole of it, or its last line that is one."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    for line in reversed(text.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    raise ValueError("no JSON in the output: " + text[-200:])


def per_gb(cpu, gbps, seconds):
    gigabytes = gbps * seconds / 8
    return cpu / gigabytes if gigabytes > 0 else None


SOCKETS = {"MRC_SAME_HOST": "network"}  # as between hosts, although both processes are on one


def mrc(place, seconds, size, depth=None, qps=1, latency=False, fault=None, over=None):
    """`over`: environment that chooses a datapath."""
    binary = program("mrc-perf")
    if binary is None:
        return {"error": "mrc-perf is not built"}
    env = {**SOCKETS, **(over or {}), **({"MRC_FAULT": fault} if fault else {})}
    test = "lat" if latency else "rate" if size <= 64 else "bw"
    client = [binary, place.out_of_band, "--quiet", "--test", test, "--size", str(size), "--qps", str(qps), "--json", "-",
              "--duration", str(seconds)]
    if depth:
        client += ["--depth", str(depth)]
    server = [binary, "--quiet"]  # serves one client
    text, cpu, error = pair(place, server, client, seconds, {**place.server_env, **env}, {**place.client_env, **env})
    if error:
        return {"error": error}
    result = last_json(text)["sizes"][0]
    if latency:
        return {key: result["latency"][key] for key in ("p50_us", "p99_us", "p999_us")}
    return {"gbps": result["gbps"], "rate": result["message_rate"], "cpu_s_per_gb": result["cpu_s_per_gb"]}


def mrc_dead_plane(place, dead=1, dies=1.0, returns=2.0, seconds=3.5):
    """One QP while plane 2 is black for a second. The share of a plane is what each of the four carried before; three
    shares must stand again soon after the death. below_ms: for how long less than 0.9 of them moved (mean of 40 ms);
    back_ms: from the plane's return until it carries a tenth of its share."""
    binary = program("mrc-perf")
    if binary is None:
        return {"error": "mrc-perf is not built"}
    env = {**SOCKETS, "MRC_FAULT": f"plane={dead + 1}:blackhole@{dies:g}s-{returns:g}s"}
    client = [binary, place.out_of_band, "--quiet", "--size", "1048576", "--depth", "16", "--verify", "--json", "-", "--duration",
              str(seconds), "--timeline", "10"]
    text, _, error = pair(place, [binary, "--quiet"], client, seconds, {**place.server_env, **env}, {**place.client_env, **env})
    if error:
        return {"error": error}
    j = last_json(text)
    rows = j["timeline"]

    def mean(begin, end, value):
        chosen = [value(r) for r in rows if begin <= r["t"] < end]
        return sum(chosen) / len(chosen) if chosen else 0

    before = mean(0.3, dies - 0.1, lambda r: r["gbps"])
    share = mean(0.3, dies - 0.1, lambda r: r["plane_gbps"][dead])
    steps = [dies - 0.1 + k * 0.01 for k in range(round((returns - dies) / 0.01))]
    below = sum(mean(t, t + 0.04, lambda r: r["gbps"]) < 0.9 * (before - share) for t in steps) * 10
    again = [r["t"] for r in rows if r["t"] > returns - 0.1 and r["plane_gbps"][dead] > 0.1 * share]
    return {"gbps": before, "dead_gbps": mean(dies + 0.1, returns - 0.1, lambda r: r["gbps"]), "below_ms": below,
            "back_ms": max(0, (again[0] - returns) * 1000) if again else float("inf"), "wrong": 0 if j["ok"] else 1}


def library(name, *folders):
    """Path of a library of ours in the build folder."""
    path = os.path.abspath(os.path.join(build, *folders, name))
    return path if os.path.isfile(path) else None


MRC_PLUGIN = ("libnccl-net-mrc.so", "nccl-plugin")
TCP_PLUGIN = ("libnccl-net-tcp-baseline.so", "tests", "tcp-net-plugin")


def all_reduce(seconds, plugin, ranks=4, fault=None, over=None):
    """A ring over 64 MiB of host memory, driven as NCCL's proxy drives its network. gbps: bus bandwidth."""
    bench, at = program("nccl-net-bench"), library(*plugin)
    if bench is None or at is None:
        return {"error": "nccl-net-bench or a plugin is not built"}
    env = {**SOCKETS, **(over or {}), **({"MRC_FAULT": fault} if fault else {})}
    child = Child([bench, at, "--ranks", str(ranks), "--sizes", "64M", "--iterations", "4", "--duration", str(seconds), "--json", "-"],
                  env)
    try:
        if not child.wait(seconds * 10 + 60):
            return {"error": "timeout"}
        if child.code != 0:
            return {"error": f"exit {child.code}: " + child.text("err").strip()[-300:]}
        result = last_json(child.text())["runs"][0]["results"][0]
        return {"gbps": 8 * result["busbw_GBps"], "cpu_s_per_gb": result["cpu_seconds"] * 1e9 / result["bytes"]}
    finally:
        child.stop()


def limit(place, seconds, memory=16 << 20, latency=False, size=None, burst=None):
    binary = program("mrc-udp-limit")
    if binary is None:
        return {"error": "mrc-udp-limit is not built"}
    addresses = ["--addr", ",".join(place.addresses), "--planes", str(len(place.addresses))]
    client = [binary, "client", *addresses, "--seconds", str(seconds), "--memory", str(memory), "--json"]
    if latency:
        client += ["--latency"]
    if size:
        client += ["--size", str(size)]
    if burst:
        client += ["--burst", str(burst)]
    text, cpu, error = pair(place, [binary, "server", "--once", *addresses], client, seconds)
    if error:
        return {"error": error}
    j = last_json(text)
    if latency:
        return {"p50_us": j["half_rtt_us_p50"], "p99_us": j["half_rtt_us_p99"]}
    return {"gbps": j["gbps"], "rate": j["packets_per_second"], "cpu_s_per_gb": per_gb(cpu, j["gbps"], seconds)}


def tcp(place, seconds, size=1 << 20):
    if shutil.which("iperf3") is None:
        return {"error": "iperf3 is not installed"}
    seconds = math.ceil(seconds)  # iperf3 truncates 0.7 to 0, which means no limit
    text, cpu, error = pair(place, ["iperf3", "-s", "-1", "-p", "18650"],
                            ["iperf3", "-c", place.out_of_band, "-p", "18650", "-t", str(seconds), "-l", str(min(size, 1 << 20)), "-J"], seconds)
    if error:
        return {"error": error}
    j = last_json(text)
    if "error" in j:
        return {"error": j["error"]}
    gbps = j["end"]["sum_received"]["bits_per_second"] / 1e9
    return {"gbps": gbps, "cpu_s_per_gb": per_gb(cpu, gbps, seconds)}


def fi(place, size, iterations):
    """fi_pingpong over libfabric's tcp provider: a ping-pong, so its bandwidth is that of one message at a time."""
    if shutil.which("fi_pingpong") is None:
        return {"error": "fi_pingpong is not installed"}
    common = ["fi_pingpong", "-p", "tcp", "-e", "msg", "-I", str(iterations), "-S", str(size)]
    if ":" in place.out_of_band:
        common.append("-6")
    text, _, error = pair(place, common, [*common, place.out_of_band], 30)
    if error:
        return {"error": error}
    # bytes  #sent  #ack  total  time  MB/sec  usec/xfer  Mxfers/sec
    m = re.findall(r"^\S+\s+\S+\s+\S+\s+\S+\s+\S+s\s+([\d.]+)\s+([\d.]+)\s+[\d.]+\s*$", text, re.M)
    if not m:
        return {"error": "unexpected output of fi_pingpong: " + text[-200:]}
    return {"gbps": float(m[-1][0]) * 8 / 1000, "mean_us": float(m[-1][1])}
