"""Programs that know nothing of MRC run through the loss of a T1, of a whole plane and of ports, through flaps and silent loss:
perftest's ib_write_bw, rping, datagram rsockets and MPICH over the verbs shim, NCCL's network plugin under collectives whose every result is
checked, and NVIDIA's NCCL itself, without a GPU, where it is installed."""
import json
import os
import re
import shlex
import signal
import sys
import time

from bench import FABRIC, Lab

import built
import files
from lab import environment, until
from limits import limit
from process import Process, run
from skip import need, need_program

LIMIT_S = limit(100)
DURATION_S = round(limit(40))  # of programs that must outlast every fault
PERFTEST_PORT = 18600
CM_PORT = 18601
DATAGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../shim/datagram_rsockets.py")


def start(words, env):
    return Process(words, env, merged=True)


def ended_well(*processes):
    for process in processes:
        process.wait(LIMIT_S)
    assert all(process.code == 0 for process in processes), "\n".join(map(str, processes))


def break_and_mend(two, carrying):
    """One fault after the other, while `carrying` confirms that data still moves: a T1, a T0 with its whole plane, a port of each
    end, a link that flaps, one that loses packets."""
    for fault, broken, mended in (("switch", ("p0-t1-0", "down"), ("p0-t1-0", "up")), ("switch", ("p1-t0-0", "down"), ("p1-t0-0", "up")),
                                  ("port", ("h0:p0", "down"), ("h0:p0", "up")), ("port", ("h3:p1", "down"), ("h3:p1", "up")),
                                  ("loss", ("p0-t0-0:t1-0", "5%"), ("p0-t0-0:t1-0", "0%"))):
        two("fault", fault, *broken)
        time.sleep(0.4)  # what was under way before does not count as movement
        carrying(f"{fault} {broken}")
        two("fault", fault, *mended)
        time.sleep(0.4)
        carrying(f"{fault} {mended}")
    two("fault", "flap", "p0-t0-0:t1-1", "--down", "60ms", "--up", "140ms", "-n", "5")
    carrying("a link flapped")


class Movement:
    """The hosts' links carry data, sooner or later, for a machine may be slow."""

    def __init__(self, two, process):
        self.two, self.process = two, process

    def bytes(self):
        return sum(link["up"]["tx_bytes"] for link in self.two.json("status")["links"] if link["lower"].startswith("h0:p"))

    def __call__(self, words):
        before = self.bytes()

        def moved():
            assert not self.process.ended(), f"it ended too early for this test to mean anything: {self.process.complete()}"
            return self.bytes() > before + (256 << 10)
        until(moved, f"{words}: nothing moves", every_s=0.1)


def give_ipv4(two, *hosts):
    """perftest meets its peer over IPv4 only: addresses of that kind on the management network, next hops as they are."""
    two.run("oob", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    addresses = {host: f"192.0.2.{i}" for i, host in enumerate(hosts, 1)}
    for host, address in addresses.items():
        two.run("oob", "ip", "route", "add", f"{address}/32", "via", "inet6", "fe80::2", "dev", host)
        two.run(host, "ip", "address", "add", f"{address}/32", "dev", "oob")
        two.run(host, "ip", "route", "add", "192.0.2.0/24", "via", "inet6", "fe80::1", "dev", "oob", "src", address)
    return addresses


def route_gids(two, *hosts):
    """A connection of rdma_cm is made over IP, to the GID, and only hosts below one T0 reach each other's so: the management network
    carries that."""
    gids = {host: json.loads(two.run(host, built.path("MRC_INFO"), "--json"))["devices"][0]["gids"][0] for host in hosts}
    for host, gid in gids.items():
        two.run("oob", "ip", "route", "add", f"{gid}/128", "via", "fe80::2", "dev", host)
        for other in hosts:
            if other != host:
                two.run(other, "ip", "route", "add", f"{gid}/128", "via", "fe80::1", "dev", "oob", "src", gids[other])
    return gids


def listens(two, host):
    """perftest's client tries once."""
    lines = [line.split() for line in two.run(host, "cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines()]
    return any(words[1].endswith(f":{PERFTEST_PORT:04X}") and words[3] == "0A" for words in lines)


def bound(two, host):
    """So a listener of rdma_cm waits."""
    lines = two.run(host, "cat", "/proc/net/udp", "/proc/net/udp6").splitlines()
    return any(line.split()[1].endswith(f":{CM_PORT:04X}") for line in lines)


def test_ib_write_bw_over_the_shim():
    program = need_program("ib_write_bw", "perftest")
    # The preload is for perftest alone: mrc-fabric hands its environment on.
    words = ["env", "LD_PRELOAD=" + built.path("MRC_SHIM"), program, "-D", DURATION_S, "-s", "65536", "-p", PERFTEST_PORT, "-F"]
    with Lab(FABRIC) as two:
        server_address = give_ipv4(two, "h0", "h3")["h3"]
        with start([*two.inside("h3"), *words], environment()) as server:
            until(lambda: server.ended() or listens(two, "h3"), "the server does not listen")
            with start([*two.inside("h0"), *words, server_address], environment()) as client:
                moving = Movement(two, client)
                moving("the first data")
                break_and_mend(two, moving)
                ended_well(client, server)
        for process in (client, server):
            assert "Completion with" not in process.out and "BW average" in process.out, process


def test_rping_while_a_plane_dies_and_returns():
    """Connected by rdma_cm, each message checked by the program. It runs until it is killed, which its server notices."""
    program = need_program("rping", "rdmacm-utils")
    words = ["env", "LD_PRELOAD=" + built.path("MRC_SHIM"), "stdbuf", "-oL", program, "-V", "-S", "60000", "-p", CM_PORT]
    with Lab(FABRIC) as two:
        address = give_ipv4(two, "h0", "h3")["h3"]
        with start([*two.inside("h3"), *words, "-s", "-a", address], environment()) as server:
            until(lambda: server.ended() or bound(two, "h3"), "the server does not listen")
            with start([*two.inside("h0"), *words, "-c", "-a", address], environment()) as client:
                moving = Movement(two, client)
                moving("the first data")
                for fault, place in (("switch", "p1-t0-0"), ("port", "h3:p0")):
                    for state in ("down", "up"):
                        two("fault", fault, place, state)
                        time.sleep(0.4)  # what was under way before does not count as movement
                        moving(f"{fault} {place} {state}")
                client.kill()
            server.out_until("DISCONNECT EVENT", LIMIT_S)
        assert "mismatch" not in client.out + server.out and "failed" not in client.out, f"{client}\n{server}"


def test_datagram_rsockets_while_a_plane_dies_and_returns():
    """[MRC-UD-6] Each host finds the others by template. The server lives through all of it; each client compares every datagram that
    comes back. The ports of plane 1 stay: they have the addresses by which librdmacm's own sockets meet."""
    words = ["env", "LD_PRELOAD=" + built.path("MRC_SHIM"), sys.executable, "-B", DATAGRAMS]
    with Lab(FABRIC) as two:
        gid = route_gids(two, "h0", "h1", "h2", "h3")["h3"]

        def come_back(host):
            with start([*two.inside(host), *words, "client", gid, CM_PORT], environment()) as client:
                client.wait(LIMIT_S)
            assert client.code == 0 and "56 datagrams came back" in client.out, f"{client}\n{server}"

        with start([*two.inside("h3"), *words, "server", gid, CM_PORT], environment()) as server:
            until(lambda: server.ended() or bound(two, "h3"), "the server does not listen")
            for host in ("h0", "h1", "h2"):
                come_back(host)
            for fault, place in (("switch", "p1-t0-0"), ("switch", "p0-t1-0"), ("port", "h3:p1"), ("port", "h0:p1")):
                for state in ("down", "up"):
                    two("fault", fault, place, state)
                    come_back("h0")


def configuration_for_ucx(two, host):
    """The host's own configuration with a GID for UCX, which ends in an assertion where the last 64 bits of a peer's GID are zero, as
    those of a uSID are. Other hosts find this one by the uSID in it."""
    text = two.run(host, "sh", "-c", "cat $MRC_CONFIG")
    usid, device = re.search(r'address: "([^"]*::)"', text), "  - name: mrc0\n"
    assert usid and device in text, f"no device mrc0 whose address is a uSID, in the configuration of {host}:\n{text}"
    return files.write(f"{host}-ucx.yaml", text.replace(device, f"{device}    gids: ['{usid[1]}1']\n"))


def test_mpich_while_a_plane_dies_and_returns():
    """UCX makes the connections by UD and carries the data by RC. Each rank enters a host of its own: it has the descriptor by which it
    meets mpirun from before. Every element of every kind of communication is compared, again and again."""
    mpirun, program = need_program("mpirun.mpich", "mpich"), os.environ.get("TEST_MPI_CHECK", "")
    need(os.path.exists(program), "mpi_check.mpich is not built")
    settings = {"UCX_TLS": "^sysv,posix,cma,tcp", "UCX_RC_VERBS_SEG_SIZE": "8201", "UCX_WARN_UNUSED_ENV_VARS": "n",
                "MPIR_CVAR_NOLOCAL": "1"}  # ranks of one mpirun would share memory
    with Lab(FABRIC) as two:
        first, second = (shlex.join([*two.inside(host), "env", "LD_PRELOAD=" + built.path("MRC_SHIM"),
                                     "MRC_CONFIG=" + configuration_for_ucx(two, host), program, str(DURATION_S)])
                         for host in ("h0", "h3"))
        with start([mpirun, "-np", "2", "sh", "-c", f"if [ $PMI_RANK = 0 ]; then exec {first}; else exec {second}; fi"],
                   environment(settings)) as job:
            moving = Movement(two, job)
            moving("the first data")
            for fault, place in (("switch", "p1-t0-0"), ("switch", "p0-t1-0"), ("port", "h3:p0")):
                for state in ("down", "up"):
                    two("fault", fault, place, state)
                    time.sleep(0.4)  # what was under way before does not count as movement
                    moving(f"{fault} {place} {state}")
            ended_well(job)
        assert "2 ranks, 0 wrong elements" in job.out, job


def test_nccl_itself():
    rig = built.path("MRC_NCCL_RIG")
    found = run([rig, "--library"], code=None)
    need(found.returncode == 0, found.stdout.strip())
    with Lab(FABRIC) as two:
        with start([rig, "--ranks", "4", "--sizes", "4M", "-n", "5", "--out-of-place", "-D", LIMIT_S - 10, "-w", "0",
                    "--launch", " ".join(two.inside("h{rank}")), "-T", LIMIT_S], environment({"NCCL_SOCKET_IFNAME": "oob"})) as ring:
            moving = Movement(two, ring)
            moving("the first data")
            break_and_mend(two, moving)
            ring.signal(signal.SIGINT)
            ended_well(ring)


def test_nccl_harness():
    bench, plugin = built.path("MRC_NCCL_BENCH"), built.path("MRC_NCCL_PLUGIN")
    with Lab(FABRIC) as two:
        # Ranks 0 and 1 below one T0 would need no T1: the rank's number leads to hosts of both. uSIDs of hosts are no addresses for
        # TCP across T1s.
        with start([bench, plugin, "--ranks", "4", "--sizes", "4M", "--iterations", "10", "--duration", LIMIT_S - 10, "--warm-up", "0",
                    "--launch", " ".join(two.inside("h{rank}")), "--timeout", LIMIT_S, "--json", "-"],
                   environment({"NCCL_SOCKET_IFNAME": "oob"})) as ring:
            moving = Movement(two, ring)
            moving("the first data")
            break_and_mend(two, moving)
            ring.signal(signal.SIGINT)  # the batch under way is the last
            ended_well(ring)
        report = json.loads(ring.out[ring.out.index("{"):])
        assert report["runs"] and all(line["wrong"] == 0 for one in report["runs"] for line in one["results"]), report
