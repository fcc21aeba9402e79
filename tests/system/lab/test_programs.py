"""A table of programs that know nothing of MRC, each run again and again over the verbs shim between two hosts of a lab while T1s, T0s with
their whole plane, ports and links die, flap, lose packets and return. Every run has to end well, by its exit code and by what it prints, and
one at least lasts from before the death of a plane until after its return, unless the program is too brief for that."""
import dataclasses
import filecmp
import os
import random
import re
import shlex

from bench import FABRIC, Lab
from test_applications import (CM_PORT, LIMIT_S, Movement, PERFTEST_PORT, bound, break_and_mend, configuration_for_ucx, ended_well, give_ipv4,
                               listens, start)

import built
import files
from lab import environment, until
from limits import limit
from skip import need, need_program

SERVER, CLIENT = "h3", "h0"
RUN_S = round(limit(5))  # of programs that take a duration; the others move about as much as two planes carry in that time
JOB_S = round(limit(15))  # of an MPI job, which takes seconds to start
FILE_MIB = 256
TRIES = 5  # of the death of a plane, until a run is longer
MPI_CHECK = os.environ.get("TEST_MPI_CHECK", "")
NETWORK = (("UCX_TLS", "^sysv,posix,cma"),)  # UCX as it comes, but for its shared memory, for the hosts are one machine


@dataclasses.dataclass(frozen=True)
class Row:
    client: str  # in both commands stand ADDRESS for the server's, TCP and CM for ports, SECONDS for a duration
    output: str  # a regular expression, found in what each run of the client prints
    package: str  # of the program
    server: str = ""
    meets: str = "cm"  # where the server waits: by rdma_cm or on TCP
    stays: bool = False  # the server does not end with its client
    env: tuple = ()
    ucx: bool = False  # it needs a GID for UCX
    copies: bool = False  # SOURCE to COPY, which are compared
    localhost: bool = False  # which is ADDRESS, for the server
    mpi: bool = False  # AGENT runs a command on a host, RANK is the program
    hosts: tuple = (CLIENT, SERVER)
    brief: bool = False  # a run is over before a plane can die and return


def pair(command, output, package, server="", client="", **more):
    """The same command for both sides, each with words of its own."""
    return Row(f"{command} {client}", output, package, f"{command} {server}", **more)


def ucx(test):
    return pair(f"ucx_perftest -p TCP -t {test} -s 65536 -n 6000 -w 10", "^Final: +6000 ", "ucx-utils", client="ADDRESS", meets="tcp",
                env=NETWORK, ucx=True)


def open_mpi(*hosts):
    """A rank on each."""
    return Row(f"AGENT {CLIENT} mpirun.openmpi --host {','.join(f'{host}:1' for host in hosts)} -np {len(hosts)} --bind-to none "
               "--mca plm_rsh_agent AGENT --mca oob_tcp_if_include oob --mca mpi_yield_when_idle 1 --mca pml ucx --mca osc ucx "
               "--mca btl ^openib RANK",
               f"^{len(hosts)} ranks, 0 wrong elements$", "openmpi-bin", ucx=True, mpi=True, hosts=hosts,
               env=(("UCX_TLS", "^sysv,posix,cma,tcp"), ("UCX_WARN_UNUSED_ENV_VARS", "n"), ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")))


def fi_pingpong(endpoint):
    """Its server waits where `localhost` is."""
    return pair(f"fi_pingpong {endpoint} -c -I 300 -S 1048576", "^1m +300 ", "libfabric-bin", "-B TCP", "-P TCP ADDRESS", meets="tcp",
                localhost=True)


def fio(verb):
    return pair("fio --name=job --ioengine=rdma --port=CM --bs=64k --size=512m --iodepth=16", "WRITE: bw=", "fio", "--rw=read",
                f"--rw=write --verb={verb} --hostname=ADDRESS")


ROWS = {
    # Datagrams are lost while a plane dies. Programs that wait for each of them are not here (tests/compat.md).
    "ib_send_bw": pair("ib_send_bw -F -c UD -D SECONDS -s 4096 -r 512 -p TCP", r"^ *4096 +[1-9]\d* ", "perftest", client="ADDRESS",
                       meets="tcp"),
    "rstream": pair("rstream -T b -T v -S 65536 -I 1 -C 4000 -p CM", "^custom ", "rdmacm-utils", client="-s ADDRESS"),
    "rcopy": Row("rcopy SOURCE ADDRESS:COPY -p CM", "", "rdmacm-utils", "rcopy -p CM", stays=True, copies=True),
    "riostream": pair("riostream -T b -T v -S 65536 -I 100 -C 40 -p CM", "^custom ", "rdmacm-utils", client="-s ADDRESS"),
    "ucmatose": pair("ucmatose -C 6000 -S 65536 -p CM", "^return status 0$", "rdmacm-utils", client="-s ADDRESS"),
    "rdma_client": Row("rdma_client -p CM -s ADDRESS", "^rdma_client: end 0$", "rdmacm-utils", "rdma_server -p CM", brief=True),
    "ib_write_bw": pair("ib_write_bw -R -F -D SECONDS -s 65536 -p CM", r"^ *65536 +[1-9]\d* ", "perftest", client="ADDRESS"),
    "ucx_tag": ucx("tag_bw"),
    "ucx_stream": ucx("stream_bw"),
    "ucx_am": ucx("ucp_am_bw"),
    "ucx_put": ucx("ucp_put_bw"),
    "ucx_get": ucx("ucp_get"),
    "open_mpi": open_mpi(CLIENT, SERVER),
    "open_mpi_four": open_mpi(CLIENT, SERVER, "h1", "h2"),
    "fi_pingpong": fi_pingpong("-p verbs;ofi_rxm -e rdm"),
    "fi_pingpong_msg": fi_pingpong("-p verbs -e msg"),
    "qperf": Row("qperf -lp TCP -cm 1 -t SECONDS ADDRESS rc_bw", r"bw += +[\d.]+ [MG]B/sec", "qperf", "qperf -lp TCP", meets="tcp", stays=True),
    "fio": fio("write"),
    "fio_read": fio("read"),
}


class Runs:
    """Of a row: as soon as one has ended, it is judged, and the next one starts. `number` of them have started."""

    def __init__(self, two, row):
        self.two, self.row, self.number = two, row, 0
        self.server = self.client = None
        self.words = {"TCP": PERFTEST_PORT, "CM": CM_PORT, "SECONDS": RUN_S, "ADDRESS": give_ipv4(two, *row.hosts)[SERVER],
                      "SOURCE": files.at("source"), "COPY": files.at("copy"), "AGENT": files.at("agent"), "RANK": files.at("rank")}
        self.configuration = {host: configuration_for_ucx(two, host) for host in row.hosts if row.ucx}
        if row.copies:
            data = random.Random(1)
            with open(self.words["SOURCE"], "wb") as out:
                for _ in range(FILE_MIB):
                    out.write(data.randbytes(1 << 20))
        if row.localhost:
            files.write("hosts", f"{self.words['ADDRESS']} localhost\n")
        if row.mpi:
            self.write_scripts()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for process in filter(None, (self.client, self.server)):
            process.kill()
        for process in filter(None, (self.client, self.server)):
            process.no_report()

    def write_scripts(self):
        """mpirun starts its daemon on the other host by the agent, as by ssh. It tells hosts by their names."""
        enter = shlex.join(self.two.inside("$host")).replace("'$host'", "$host")
        for name, text in (("agent", f"host=$1; shift\nexec unshare --uts sh -c 'hostname \"$0\"; exec \"$@\"' $host {enter} sh -c \"$*\"\n"),
                           ("rank", f"export LD_PRELOAD={built.path('MRC_SHIM')} MRC_CONFIG={files.at()}/$(hostname)-ucx.yaml\n"
                                    f"exec {MPI_CHECK} {JOB_S}\n")):
            files.script(name, text)

    def program(self, host, command):
        for name, value in self.words.items():
            command = command.replace(name, str(value))
        if self.row.mpi:
            return start(command.split(), environment(dict(self.row.env)))
        own = ["env", "LD_PRELOAD=" + built.path("MRC_SHIM"), *(f"{name}={value}" for name, value in self.row.env)]
        if self.row.ucx:
            own.append("MRC_CONFIG=" + self.configuration[host])
        if self.row.localhost and host == SERVER:
            own = ["unshare", "--mount", "sh", "-c", f"mount --bind {files.at('hosts')} /etc/hosts && exec \"$@\"", "sh", *own]
        return start([*self.two.inside(host), *own, *command.split()], environment())

    def start(self):
        self.number += 1
        if self.row.server and self.server is None:
            self.server = self.program(SERVER, self.row.server)
            ready = listens if self.row.meets == "tcp" else bound
            until(lambda: self.server.ended() or ready(self.two, SERVER), lambda: f"the server does not listen: {self.server}")
        self.client = self.program(CLIENT, self.row.client)

    def judge(self):
        processes = [self.client] if self.server is None or self.row.stays else [self.client, self.server]
        for process in processes:  # a server whose client has failed may wait for ever
            ended_well(process)
        assert re.search(self.row.output, self.client.out, re.MULTILINE), self.client
        assert not any("Completion with" in process.out for process in processes), "\n".join(map(str, processes))
        if self.row.copies:
            assert filecmp.cmp(self.words["SOURCE"], self.words["COPY"], shallow=False), "the copy differs"
            os.remove(self.words["COPY"])
        if not self.row.stays:
            self.server = None

    def ended(self):
        """Never, for Movement."""
        if self.client.ended():
            self.judge()
            self.start()
        return False


class Completion:
    """What Movement is to programs that move less: one that has started since then ends."""

    def __init__(self, runs):
        self.runs = runs

    def __call__(self, words):
        last = self.runs.number + 1
        until(lambda: self.runs.ended() or self.runs.number > last, lambda: f"{words}: no run ends: {self.runs.client}", every_s=0.1)


class Carrying:
    """Called after each fault and each repair: data moves, by the run of before or a new one. Counts the deaths of a plane that a run
    `survived`, from before it until data moves after the plane's return."""

    def __init__(self, two, runs):
        self.two, self.runs, self.moving = two, runs, Completion(runs) if runs.row.brief else Movement(two, runs)
        self.moving("the first data")
        self.number = self.at_fault = runs.number
        self.survived = 0

    def __call__(self, words):
        down, death = "'down'" in words, words.startswith(("switch ('p1-t0-0'", "port "))
        links = self.two.json("status")["links"]
        dead = {link["lower"] for link in links if link["state"] == "down" and re.match(f"({CLIENT}|{SERVER}):p", link["lower"])}
        assert len(dead) == (death and down), f"{words}: {dead}"
        if down:
            self.at_fault = self.number
        self.moving(words)
        self.number = self.runs.number
        if death and not down:
            self.survived += self.number == self.at_fault


def run(name):
    row = ROWS[name]
    need_program(re.sub(r"^AGENT \w+ ", "", row.client).split()[0], row.package)
    need(not row.mpi or os.path.exists(MPI_CHECK), "mpi_check.openmpi is not built")
    with Lab(FABRIC) as two, Runs(two, row) as runs:
        carrying = Carrying(two, runs)
        break_and_mend(two, carrying)
        for _ in range(TRIES):
            if carrying.survived or row.brief:
                break
            for state in ("down", "up"):
                two("fault", "switch", "p1-t0-0", state)
                carrying(f"switch ('p1-t0-0', '{state}')")
        runs.judge()
        print(f"{runs.number} runs; one lasted through {carrying.survived} deaths of a plane")
        assert carrying.survived or row.brief, "no run is long enough for this test to mean anything"


def test_ib_send_bw_of_datagrams_ends_well_while_planes_die():
    run("ib_send_bw")


def test_rstream_ends_well_while_planes_die():
    run("rstream")


def test_riostream_compares_memory_while_planes_die():
    """[VRB-RSP-13]"""
    run("riostream")


def test_rcopy_copies_files_while_planes_die():
    run("rcopy")


def test_ucmatose_ends_well_while_planes_die():
    run("ucmatose")


def test_rdma_client_connects_while_planes_are_dead():
    """Each run opens a device, which has yet to learn what planes lead to its peer."""
    run("rdma_client")


def test_ib_write_bw_over_rdma_cm_ends_well_while_planes_die():
    run("ib_write_bw")


def test_messages_of_ucx_end_well_while_planes_die():
    run("ucx_tag")


def test_streams_of_ucx_end_well_while_planes_die():
    run("ucx_stream")


def test_active_messages_of_ucx_end_well_while_planes_die():
    run("ucx_am")


def test_puts_of_ucx_end_well_while_planes_die():
    run("ucx_put")


def test_gets_of_ucx_end_well_while_planes_die():
    run("ucx_get")


def test_open_mpi_computes_right_while_planes_die():
    """Every element of every kind of communication is compared."""
    run("open_mpi")


def test_open_mpi_of_four_hosts_computes_right_while_planes_die():
    run("open_mpi_four")


def test_fi_pingpong_compares_messages_while_planes_die():
    run("fi_pingpong")


def test_fi_pingpong_compares_messages_of_connections_while_planes_die():
    run("fi_pingpong_msg")


def test_qperf_ends_well_while_planes_die():
    run("qperf")


def test_fio_ends_well_while_planes_die():
    run("fio")


def test_fio_reads_while_planes_die():
    run("fio_read")
