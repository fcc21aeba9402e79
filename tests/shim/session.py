"""Programs with the shim preloaded: one, or a server and a client. Every wait has a limit far above what a busy machine
needs; nothing is judged by speed."""
import os
import random
import select
import signal
import subprocess
import time

from limits import LIMIT_S

SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan.supp")
SHIM = ""  # libmrc-verbs.so; set by run_one.py
COMPAT = ""  # libnv_mrc.so
RUNTIME = ""  # a sanitizer's runtime, which has to come first


def placed(text):
    """A command's or variable's text with the files of this build in it."""
    for name, path in (("@SHIM@", SHIM), ("@COMPAT@", COMPAT), ("@PROGRAMS@", os.environ.get("TEST_PROGRAMS", ""))):
        text = text.replace(name, path)
    return text


def environment(extra=(), preload=True):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MRC_")}
    env["MRC_SAME_HOST"] = os.environ.get("TEST_SAME_HOST", "network")  # see tests/e2e/pair.py
    env.update({k: placed(v) for k, v in extra})
    if preload:
        env["LD_PRELOAD"] = " ".join(p for p in (RUNTIME, SHIM) if p)
    # The programs are not ours, and what they lose at exit is theirs.
    env["ASAN_OPTIONS"] = "detect_leaks=0:" + env.get("ASAN_OPTIONS", "").replace("detect_leaks=1", "detect_leaks=0")
    # perftest opens a file in its signal handler.
    env["TSAN_OPTIONS"] = f"report_signal_unsafe=0:die_after_fork=0:suppressions={SUPPRESSIONS}:" + env.get("TSAN_OPTIONS", "")
    if RUNTIME:
        # UCX and libfabric rewrite the very functions that the sanitizer has taken over, and are called by threads that it has left.
        env["UCX_MEM_MMAP_HOOK_MODE"] = "none"
        env["FI_MR_CACHE_MONITOR"] = "disabled"
    env["UCX_WARN_UNUSED_ENV_VARS"] = "n"
    return env


class Process:
    def __init__(self, command, env):
        self.command = [placed(str(c)) for c in command]
        self.process = subprocess.Popen(self.command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace")
        self.out = ""

    def out_until(self, words, limit=LIMIT_S):
        """Reads until it has said that. By the descriptor, for communicate() knows nothing of other buffers."""
        pipe, end = self.process.stdout.fileno(), time.monotonic() + limit
        while words not in self.out:
            ready, _, _ = select.select([pipe], [], [], max(0, end - time.monotonic()))
            said = os.read(pipe, 65536).decode(errors="replace") if ready else ""
            assert said, f"'{words}' does not come: {self}"
            self.out += said

    def wait(self, limit=LIMIT_S):
        try:
            self.out, _ = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.out, _ = self.process.communicate()
            raise AssertionError(f"did not end within {limit} s: {self}") from None
        return self.process.returncode

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.out += self.process.communicate()[0]

    def __str__(self):
        return f"{' '.join(self.command)}: exit {self.process.returncode}\n{self.out[-3000:]}"


def listening(port):
    wanted = f"{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as lines:
                for line in list(lines)[1:]:
                    fields = line.split()
                    if fields[1].endswith(":" + wanted) and fields[3] == "0A":
                        return True
        except OSError:
            pass
    return False


def bound(port):
    """Is a UDP socket bound to it? So a listener of rdma_cm waits."""
    wanted = f":{port:04X}"
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        try:
            with open(table, encoding="ascii") as lines:
                if any(line.split()[1].endswith(wanted) for line in list(lines)[1:]):
                    return True
        except OSError:
            pass
    return False


def free_port():
    for _ in range(1000):
        port = random.randrange(24000, 32000)
        if not listening(port) and not bound(port):
            return port
    raise AssertionError("no free port")


def run(command, extra=(), preload=True):
    process = Process(command, environment(extra, preload))
    process.wait()
    return process


def run_pair(*args, **kwargs):
    """Server, then client as soon as the server listens. Returns both, ended."""
    for _ in range(5):
        server, client = run_pair_once(*args, **kwargs)
        # perftest fails, regardless of the transport, when other programs disturb its measurement of the processor's clock.
        if "Can't produce a report" not in server.out + client.out:
            break
    return server, client


def run_pair_once(command, extra=(), client_extra=None, late=0.0, prefix=(), rdma_cm=False):
    port = free_port()
    command = [*prefix, *command, "-p", port]
    server = Process(command, environment(extra))
    client = None
    try:
        deadline = time.monotonic() + LIMIT_S
        ready = bound if rdma_cm else listening
        while not ready(port) and server.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(late)
        client = Process([*command, "127.0.0.1" if rdma_cm else "localhost"], environment(extra if client_extra is None else client_extra))
        client.wait()
        if client.process.returncode != 0:
            time.sleep(0.2)
            server.kill()
        server.wait()
    finally:
        server.kill()
        if client is not None:
            client.kill()
    return server, client
