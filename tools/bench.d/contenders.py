"""What is measured by slices: a contender is a server and a client that stay up, connected, and measure whenever they are
asked (tools/lib/slices.h). Where a program cannot stay up, or two cannot beside each other, a contender of short runs starts
both anew for each slice.

A slice is a dictionary with gbps, rate (messages per second) and cpu_s_per_gb, or p50_us, p99_us and p999_us (half round trips),
and cpu_s (processor seconds of both ends)."""
import json
import os
import re
import select
import socket
import subprocess
import tempfile
import time

import programs

READY_S, ANSWER_S, END_S = 60, 60, 10
MIB = 1 << 20


class Failed(Exception):
    pass


def free_port(count=1, start=[21000 + os.getpid() % 2000 * 16]):
    """A port from which `count` are free for TCP and UDP in this namespace. Others of the host may take it afterwards."""
    while True:
        first = start[0]
        start[0] = 21000 if first > 52000 else first + count
        try:
            for port in range(first, first + count):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    with socket.socket(socket.AF_INET6, kind) as s:
                        s.bind(("::", port))
            return first
        except OSError:
            continue


class Process:
    """A program whose lines on standard output are read with a time limit."""

    def __init__(self, command, env=None):
        self.errors = tempfile.TemporaryFile()
        if programs.verbose:
            print("+", " ".join(f"{k}={v}" for k, v in (env or {}).items()), *command, flush=True)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**os.environ, **(env or {})})
        self.rest = b""

    def ask(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as e:
            raise Failed(self.trouble()) from e

    def answer(self, limit_s):
        end = time.monotonic() + limit_s
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise Failed(f"no answer within {limit_s} s. {self.trouble()}")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise Failed(self.trouble())
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def trouble(self):
        try:
            self.process.wait(1)  # one whose output has ended is ending
        except subprocess.TimeoutExpired:
            pass
        code = self.process.poll()
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace").strip()[-300:]
        return (f"exit code {code}: " if code is not None else "") + text

    def close(self, limit_s):
        """End of input ends a client; a server ends with it, or is ended."""
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except OSError:
                pass
        for end in (lambda: None, self.process.terminate, self.process.kill):
            end()
            try:
                self.process.wait(limit_s if end != self.process.kill else READY_S)  # returning a gigabyte takes time
                break
            except subprocess.TimeoutExpired:
                continue
        self.errors.close()


def figures(answer):
    """The slice of an answer."""
    cpu = answer["cpu_s"]["client"] + answer["cpu_s"]["server"]
    if "latency" in answer:
        return {**{key: answer["latency"][key] for key in ("p50_us", "p99_us", "p999_us")}, "cpu_s": cpu}
    if not answer["bytes"] or not answer["seconds"]:
        raise Failed("nothing was transferred in a slice")
    return {"gbps": answer["bytes"] * 8e-9 / answer["seconds"], "rate": answer["messages"] / answer["seconds"],
            "cpu_s_per_gb": cpu / (answer["bytes"] * 1e-9), "cpu_s": cpu}


class Pair:
    """Contender of a server and a client that stay up. A class of commands: (server, client) -> words, by the port."""

    def __init__(self, place, server, client, server_env=None, client_env=None):
        self.server = self.client = None
        try:
            self.server = Process([*place.server, *server], server_env)
            self.client = Process([*place.client, *client], client_env)
            self.client.answer(READY_S)
        except Failed as e:
            trouble = self.server.trouble() if self.server else ""
            self.close()
            raise Failed(f"{e} {'server: ' + trouble if trouble else ''}".strip()) from e

    def slice(self, seconds):
        self.client.ask(f"{seconds:g}")
        return figures(self.client.answer(seconds + ANSWER_S))

    def close(self):
        if self.client is not None:
            self.client.close(END_S)
        if self.server is not None:
            self.server.close(1)


class ShortRuns:
    """Contender that is started for each slice: `run` takes the seconds and returns a slice, or {"error": sentence}."""

    def __init__(self, run):
        self.run = run

    def slice(self, seconds):
        result = self.run(seconds)
        if "error" in result:
            raise Failed(result["error"])
        return result

    def close(self):
        pass


def binary(name):
    path = programs.program(name)
    if path is None:
        raise Failed(f"{name} is not built")
    return path


def mrc_words(size, qps=1, threads=1, depth=None, latency=False, asleep=False, datagrams=False):
    """Options of the client of mrc-perf."""
    test = "lat" if latency else "rate" if size <= 64 else "bw"
    return ["--quiet", "--test", test, "--size", str(size), "--qps", str(qps), *(["--threads", str(threads)] if threads > 1 else []),
            *(["--depth", str(depth)] if depth else []), *(["--sleepy-server"] if asleep else []), *(["--transport", "ud"] if datagrams else [])]


def mrc(place, perf=None, over=None, **test):
    """`over`: environment that chooses a datapath; by default the kernel's sockets, also between processes of one host."""
    perf, port, env = perf or binary("mrc-perf"), str(free_port()), {**programs.SOCKETS, **(over or {})}
    return Pair(place, [perf, "--quiet", "--port", port], [perf, place.out_of_band, "--port", port, "--wait", str(READY_S), "--slices", *mrc_words(**test)],
                {**place.server_env, **env}, {**place.client_env, **env})


def mrc_short(place, perf=None, over=None, **test):
    """The same by short runs, for revisions without --slices and for datapaths that need an interface for themselves."""
    perf, env = perf or binary("mrc-perf"), {**programs.SOCKETS, **(over or {})}

    def run(seconds):
        port = str(free_port())
        client = [perf, place.out_of_band, "--port", port, "--json", "-", "--duration", f"{seconds:g}", *mrc_words(**test)]
        text, _, error = programs.pair(place, [perf, "--quiet", "--port", port], client, seconds, {**place.server_env, **env},
                                       {**place.client_env, **env})
        return {"error": error} if error else figures(of_report(programs.last_json(text)["sizes"][0]))

    return ShortRuns(run)


def of_report(entry):
    """An entry of mrc-perf's report, in the form of a slice's answer. Latency has the client's processor time alone there."""
    if "latency" in entry:
        return {"latency": entry["latency"], "cpu_s": {"client": entry["latency"].get("cpu_s", 0), "server": 0}}
    return {key: entry[key] for key in ("bytes", "messages", "seconds", "cpu_s")}


def limit(place, memory=MIB, size=None, burst=None, latency=False, server=(), client=()):
    """Plain UDP sockets with the packets of MRC; `memory`: bytes copied into, as many as MRC writes to. `server` and `client`: further
    words for either end, which choose another way to move the bytes."""
    port = str(free_port(len(place.addresses)))
    both = ["--addr", ",".join(place.addresses), "--planes", str(len(place.addresses)), "--port", port,
            *(["--size", str(size)] if size else [])]
    words = [*both, "--memory", str(memory), "--slices", *(["--latency"] if latency else []),
             *(["--burst", str(burst)] if burst else []), *client]
    return Pair(place, [binary("mrc-udp-limit"), "server", *both, *server], [binary("mrc-udp-limit"), "client", *words])


def frame_limit(place, program, server_ports, client_ports, server_eal=None, client_eal=None):
    """Bare AF_XDP sockets or DPDK ports with the frames of MRC."""
    def words(ports, eal):
        return [*(word for port in ports for word in ("--port", port)), *(["--eal", eal] if eal else [])]

    return Pair(place, [binary(program), "server", *words(server_ports, server_eal)],
                [binary(program), "client", *words(client_ports, client_eal), "--slices"])


AF_XDP, XDP_SEVERAL_BUFFERS = 44, (6, 6)  # kernels that take frames of more than a page; Python knows neither


def why_no_xdp():
    """Why the contenders over AF_XDP cannot run on this machine, or None."""
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW).close()
    except OSError as e:
        return f"no AF_XDP socket: {e.strerror}"
    release = os.uname().release
    version = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    return None if version >= XDP_SEVERAL_BUFFERS else f"AF_XDP of Linux {release} takes no frames of more than a page"


def xdp_limit(place):
    return frame_limit(place, "mrc-xdp-limit", place.bare_interfaces(), place.bare_interfaces())


def rte_limit(place):
    server, client = place.memif("bare")
    return frame_limit(place, "mrc-rte-limit", server, client, place.bare_eal("server"), place.bare_eal("client"))


def mrc_over_memif(place, **test):
    """Between slices its ports are polled every millisecond: by default 50 times as often, which would slow the others down."""
    server, client = place.memif("mrc")
    perf, port = binary("mrc-perf"), str(free_port())
    env = {**programs.SOCKETS, "MRC_DATAPATH": "dpdk", "MRC_DPDK_MTU": "9000", "MRC_DPDK_POLL_US": "1000"}
    return Pair(place, [perf, "--quiet", "--port", port], [perf, place.out_of_band, "--port", port, "--wait", str(READY_S), "--slices", *mrc_words(**test)],
                {**place.server_env, **env, "MRC_DPDK_PORTS": ";".join(server)}, {**place.client_env, **env, "MRC_DPDK_PORTS": ";".join(client)})


def tcp(place, size=MIB, streams=1, latency=False):
    both = ["--addr", place.out_of_band, "--port", str(free_port())]
    return Pair(place, [binary("mrc-socket-limit"), "server", "--once", *both],
                [binary("mrc-socket-limit"), "client", *both, "--size", str(size), "--streams", str(streams), "--slices",
                 *(["--latency"] if latency else [])])
