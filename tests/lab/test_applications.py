"""Programs that know nothing of MRC run through the loss of a T1, of a whole plane and of ports, through flaps and silent loss:
perftest's ib_write_bw over the verbs shim, NCCL's network plugin under collectives whose every result is checked, and NVIDIA's
NCCL itself, without a GPU, where it is installed."""
import json
import signal
import subprocess
import time

from limits import SCALE

import lab
import programs
from bench import FABRIC, Lab
from lab import environment, until

LIMIT_S = 100 * SCALE
PERFTEST_PORT = 18600


def start(words, env):
    return subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended_well(*processes):
    said = []
    try:
        for process in processes:
            out, _ = process.communicate(timeout=LIMIT_S)
            said.append(f"{process.args}: exit {process.returncode}\n{out[-3000:]}")
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{late}\n{said}") from None
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    assert all(process.returncode == 0 for process in processes), "\n".join(said)
    return said


def break_and_mend(two, carrying):
    """One fault after the other, while `carrying` confirms that data still moves: a T1, a T0 with its whole plane, a port of each
    end, a link that flaps, one that loses packets."""
    for fault, broken, mended in (("switch", ("p0-t1-0", "down"), ("p0-t1-0", "up")), ("switch", ("p1-t0-0", "down"), ("p1-t0-0", "up")),
                                  ("port", ("h0:p0", "down"), ("h0:p0", "up")), ("port", ("h3:p1", "down"), ("h3:p1", "up")),
                                  ("loss", ("p0-t0-0:t1-0", "5%"), ("p0-t0-0:t1-0", "0%"))):
        two("fault", fault, *broken)
        time.sleep(0.4)
        assert carrying(), f"{fault} {broken}: nothing moves"
        two("fault", fault, *mended)
        time.sleep(0.4)
        assert carrying(), f"{fault} {mended}: nothing moves"
    two("fault", "flap", "p0-t0-0:t1-1", "--down", "60ms", "--up", "140ms", "-n", "5")
    assert carrying(), "a link flapped: nothing moves"


class Movement:
    """Do the hosts' links carry data? Asked for again and again, for a machine may be slow."""

    def __init__(self, two, process):
        self.two, self.process = two, process

    def bytes(self):
        return sum(link["up"]["tx_bytes"] for link in self.two.json("status")["links"] if link["lower"].startswith("h0:p"))

    def __call__(self):
        before, end = self.bytes(), time.monotonic() + 40
        while time.monotonic() < end:
            assert self.process.poll() is None, "it ended too early for this test to mean anything"
            if self.bytes() > before + (256 << 10):
                return True
            time.sleep(0.1)
        return False


def give_ipv4(two, *hosts):
    """perftest meets its peer over IPv4 only: addresses of that kind on the management network, next hops as they are."""
    two.run("oob", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    addresses = {host: f"192.0.2.{i}" for i, host in enumerate(hosts, 1)}
    for host, address in addresses.items():
        two.run("oob", "ip", "route", "add", f"{address}/32", "via", "inet6", "fe80::2", "dev", host)
        two.run(host, "ip", "address", "add", f"{address}/32", "dev", "oob")
        two.run(host, "ip", "route", "add", "192.0.2.0/24", "via", "inet6", "fe80::1", "dev", "oob", "src", address)
    return addresses


def listens(two, host):
    """perftest's client tries once."""
    lines = [line.split() for line in two.run(host, "cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines()]
    return any(words[1].endswith(f":{PERFTEST_PORT:04X}") and words[3] == "0A" for words in lines)


def test_ib_write_bw_over_the_shim():
    programs.installed("ib_write_bw", "perftest")
    env = environment({"LD_PRELOAD": programs.path("MRC_SHIM")})
    with Lab(FABRIC) as two:
        server_address = give_ipv4(two, "h0", "h3")["h3"]
        # The preload is for perftest alone: mrc-fabric hands its environment on.
        words = ["ib_write_bw", "-D", "40", "-s", "65536", "-p", str(PERFTEST_PORT), "-F"]
        server = start([*two.inside("h3"), "env", "LD_PRELOAD=" + env["LD_PRELOAD"], *words], environment())
        until(lambda: server.poll() is not None or listens(two, "h3"), "the server does not listen")
        client = start([*two.inside("h0"), "env", "LD_PRELOAD=" + env["LD_PRELOAD"], *words, server_address], environment())
        moving = Movement(two, client)
        assert moving(), "it never starts"
        break_and_mend(two, moving)
        said = ended_well(client, server)
        for line in said:
            assert "Completion with" not in line and "BW average" in line, line


def test_nccl_itself():
    rig = programs.path("MRC_NCCL_RIG")
    found = subprocess.run([rig, "--library"], capture_output=True, text=True, check=False)
    lab.need(found.returncode == 0, found.stdout.strip())
    with Lab(FABRIC) as two:
        launch = f"{lab.MRC_FABRIC} exec --lab {two.name} h{{rank}} --"
        ring = start([rig, "--ranks", "4", "--sizes", "4M", "-n", "5", "--out-of-place", "-D", str(LIMIT_S - 10), "-w", "0",
                      "--launch", launch, "-T", str(LIMIT_S)], environment({"NCCL_SOCKET_IFNAME": "oob"}))
        moving = Movement(two, ring)
        assert moving(), "it never starts"
        break_and_mend(two, moving)
        ring.send_signal(signal.SIGINT)
        ended_well(ring)


def test_nccl_harness():
    bench, plugin = programs.path("MRC_NCCL_BENCH"), programs.path("MRC_NCCL_PLUGIN")
    with Lab(FABRIC) as two:
        # Ranks 0 and 1 below one T0 would need no T1: the rank's number leads to hosts of both.
        launch = f"{lab.MRC_FABRIC} exec --lab {two.name} h{{rank}} --"
        ring = start([bench, plugin, "--ranks", "4", "--sizes", "4M", "--iterations", "10", "--duration", str(LIMIT_S - 10),
                      "--warm-up", "0", "--launch", launch, "--timeout", str(LIMIT_S), "--json", "-"],
                     environment({"NCCL_SOCKET_IFNAME": "oob"}))  # uSIDs of hosts are no addresses for TCP across T1s
        moving = Movement(two, ring)
        assert moving(), "it never starts"
        break_and_mend(two, moving)
        ring.send_signal(signal.SIGINT)  # the batch under way is the last
        out, _ = ring.communicate(timeout=LIMIT_S)
        assert ring.returncode == 0, out[-3000:]
        report = json.loads(out[out.index("{"):])
        assert "wrong" in json.dumps(report), report
