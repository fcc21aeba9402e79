"""Storage and virtual machines over rdma_cm, unmodified: fio's RDMA engine, and the migration of a machine of QEMU whose memory
is compared."""
import json
import os
import random
import socket

import files
import ports
import session
from limits import LIMIT_S
from test_rdma_cm import pair
from wait import until


def fio(verb):
    job = "fio --name=job --ioengine=rdma --port=PORT --bs=64k --size=8m --iodepth=16"
    pair(f"{job} --rw=read", f"{job} --rw=write --hostname=127.0.0.1 --verb={verb}", output="WRITE: bw=")


def test_fio_writes():
    fio("write")


def test_fio_reads():
    fio("read")


class Machine(session.Program):
    """A machine that never runs, so that its memory stays as it is."""

    def __init__(self, name, *more):
        self.path, self.lines = files.at(name), None
        super().__init__(["qemu-system-x86_64", "-nodefaults", "-display", "none", "-machine", "pc,accel=tcg", "-m", "32", "-S",
                          "-qmp", f"unix:{self.path},server=on,wait=off", *more], session.environment())

    def connect(self):
        session.until_ready(lambda: os.path.exists(self.path), self)
        monitor = socket.socket(socket.AF_UNIX)
        monitor.settimeout(LIMIT_S)
        monitor.connect(self.path)
        self.lines = monitor.makefile("rw")
        self.lines.readline()
        self("qmp_capabilities")

    def __call__(self, command, **arguments):
        self.lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.lines.flush()
        while True:
            answer = json.loads(self.lines.readline())
            if "event" not in answer:
                assert "return" in answer, answer
                return answer["return"]

    def memory(self):
        self("pmemsave", val=0, size=32 << 20, filename=self.path + ".memory")
        with open(self.path + ".memory", "rb") as content:
            return content.read()


def migrate(source, target, port):
    source.connect()
    target.connect()
    session.until_ready(lambda: ports.bound(port), target)
    source("migrate", uri=f"rdma:127.0.0.1:{port}")
    until(lambda: source("query-migrate").get("status") in ("completed", "failed"), "the migration does not end", every_s=0.05)
    state = source("query-migrate")
    assert state["status"] == "completed" and state["ram"]["normal-bytes"] > 8 << 20, state
    until(lambda: target("query-status")["status"] != "inmigrate", "the migration does not end at its target", every_s=0.05)


def test_qemu_migrates_a_machine():
    port, size, at = ports.free(), 8 << 20, 4 << 20
    data = random.Random(1).randbytes(size)
    content = files.at("content")
    with open(content, "wb") as out:
        out.write(data)
    with Machine("source", "-device", f"loader,file={content},addr={at},force-raw=on") as source, \
            Machine("target", "-incoming", f"rdma:127.0.0.1:{port}") as target:
        migrate(source, target, port)
        arrived = target.memory()
        assert arrived[at:at + size] == data and arrived == source.memory(), "the memory differs"
