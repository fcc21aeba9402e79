"""The programs that are measured in whole runs: how each is started at both ends, and how its answer is read.

Every function returns a dictionary with some of: gbps (payload received), rate (messages per second), cpu_s_per_gb (processor
seconds of both ends per 1e9 bytes of payload); or {"error": sentence}.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import plane_outage  # noqa: E402

build = "build/release"
verbose = False


def program(name):
    """Path of a program of ours in the build folder."""
    for folder in (f"dev/{name.replace('mrc-', '')}", "dev/frame-limit", "dev/mpi-bandwidth", name, "."):
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


SOCKETS = {"MRC_SAME_HOST": "network"}  # as between hosts, although both processes are on one


def mrc(place, seconds, size, depth, fault=None, over=None):
    """Bandwidth of one queue pair; `over`: variables that choose another datapath than the kernel's sockets."""
    binary = program("mrc-perf")
    if binary is None:
        return {"error": "mrc-perf is not built"}
    env = {**SOCKETS, **(over or {}), **({"MRC_FAULT": fault} if fault else {})}
    client = [binary, place.out_of_band, "--quiet", "--size", str(size), "--depth", str(depth), "--json", "-", "--duration", str(seconds)]
    text, _, error = pair(place, [binary, "--quiet"], client, seconds, {**place.server_env, **env}, {**place.client_env, **env})
    if error:
        return {"error": error}
    result = last_json(text)["sizes"][0]
    return {"gbps": result["gbps"], "rate": result["message_rate"], "cpu_s_per_gb": result["cpu_s_per_gb"]}


def mrc_dead_plane(place, dead=1, dies=1.0, returns=2.0, seconds=3.5):
    """One QP while plane 2 is black for a second. The share of a plane is what each of the four carried before; three
    shares must stand again soon after the death. below_ms: plane_outage.below_share_ms();
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
    before, share = plane_outage.before(rows, dead, dies)
    again = [r["t"] for r in rows if r["t"] > returns - 0.1 and r["plane_gbps"][dead] > 0.1 * share]
    return {"gbps": before, "dead_gbps": plane_outage.mean(rows, dies + 0.1, returns - 0.1, lambda r: r["gbps"]),
            "below_ms": plane_outage.below_share_ms(rows, dead, dies, returns),
            "back_ms": max(0, (again[0] - returns) * 1000) if again else float("inf"), "wrong": 0 if j["ok"] else 1}


def library(name, *folders):
    """Path of a library of ours in the build folder."""
    path = os.path.abspath(os.path.join(build, *folders, name))
    return path if os.path.isfile(path) else None


MRC_PLUGIN = ("libnccl-net-mrc.so", "nccl-plugin")
TCP_PLUGIN = ("libnccl-net-tcp-baseline.so", "tests", "system", "tcp-net-plugin")


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


def tcp(place, seconds):
    """One TCP stream."""
    binary = program("mrc-socket-limit")
    if binary is None:
        return {"error": "mrc-socket-limit is not built"}
    both = ["--addr", place.out_of_band, "--port", "18650"]
    text, _, error = pair(place, [binary, "server", "--once", *both], [binary, "client", *both, "--seconds", str(seconds)], seconds)
    if error:
        return {"error": error}
    j = last_json(text)
    cpu = j["cpu_s"]["client"] + j["cpu_s"]["server"]
    return {"gbps": j["bytes"] * 8e-9 / j["seconds"], "cpu_s_per_gb": cpu / (j["bytes"] * 1e-9)}


def idle_qps(qps, shards=1):
    """Bytes of each queue pair, connected and used, of a process that has so many over so many engines."""
    binary = program("mrc-idle-qps")
    if binary is None:
        return {"error": "mrc-idle-qps is not built"}
    child = Child([binary, "--qps", str(qps)], {**SOCKETS, "MRC_SHARDS": str(shards)})
    try:
        if not child.wait(900):
            return {"error": "timeout"}
        return last_json(child.text()) if child.code == 0 else {"error": f"exit {child.code}: {child.text('err').strip()[-300:]}"}
    finally:
        child.stop()
