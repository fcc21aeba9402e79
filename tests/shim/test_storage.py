"""Storage and virtual machines over rdma_cm, unmodified: fio's RDMA engine, and the migration of a machine of QEMU whose memory
is compared."""
import json
import os
import random
import socket
import tempfile
import time

import session
from test_rdma_cm import await_, pair


def fio(verb):
    job = "fio --name=job --ioengine=rdma --port=PORT --bs=64k --size=8m --iodepth=16"
    pair(f"{job} --rw=read", f"{job} --rw=write --hostname=127.0.0.1 --verb={verb}", output="WRITE: bw=")


def test_fio_writes():
    fio("write")


def test_fio_reads():
    fio("read")


class Machine:
    """A machine that never runs, so that its memory stays as it is."""

    def __init__(self, folder, name, *more):
        self.path = os.path.join(folder, name)
        self.process = session.Process(["qemu-system-x86_64", "-nodefaults", "-display", "none", "-machine", "pc,accel=tcg", "-m", "32", "-S",
                                        "-qmp", f"unix:{self.path},server=on,wait=off", *more], session.environment())
        self.lines = None

    def connect(self):
        await_(lambda: os.path.exists(self.path), self.process)
        monitor = socket.socket(socket.AF_UNIX)
        monitor.settimeout(session.LIMIT_S)
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
    await_(lambda: session.bound(port), target.process)
    source("migrate", uri=f"rdma:127.0.0.1:{port}")
    end = time.monotonic() + session.LIMIT_S
    while (state := source("query-migrate")).get("status") not in ("completed", "failed") and time.monotonic() < end:
        time.sleep(0.05)
    assert state["status"] == "completed" and state["ram"]["normal-bytes"] > 8 << 20, state
    while target("query-status")["status"] == "inmigrate" and time.monotonic() < end:
        time.sleep(0.05)


def test_qemu_migrates_a_machine():
    port, size, at = session.free_port(), 8 << 20, 4 << 20
    data = random.Random(1).randbytes(size)
    with tempfile.TemporaryDirectory() as folder:
        content = os.path.join(folder, "content")
        with open(content, "wb") as out:
            out.write(data)
        source = Machine(folder, "source", "-device", f"loader,file={content},addr={at},force-raw=on")
        target = Machine(folder, "target", "-incoming", f"rdma:127.0.0.1:{port}")
        try:
            migrate(source, target, port)
            arrived = target.memory()
            assert arrived[at:at + size] == data and arrived == source.memory(), "the memory differs"
        finally:
            source.process.kill()
            target.process.kill()
