"""iSCSI over RDMA, unmodified: tgt's target and libiscsi's tests. They read and have the target compare the same data with its file, so
that data are checked in both directions; a byte that is changed in between has to be found."""
import random

import files
import ports
import session
from skip import need_program, need_root

NAME = "iqn.2026-11.test:disk"
BYTES = 8 << 20


def target(env, port):
    # Its buffers are 1 GiB by default.
    return session.Program(["tgtd", "-f", "--iser", f"port={port},pool_sz_mb=16"], session.environment(env))


def make_disk(env):
    disk = files.at("disk")
    with open(disk, "wb") as out:
        out.write(random.Random(1).randbytes(BYTES))
    for words in (f"--op new --mode target --tid 1 -T {NAME}", f"--op new --mode logicalunit --tid 1 --lun 1 --backing-store {disk}",
                  "--op bind --mode target --tid 1 --initiator-address ALL"):
        command = session.run(["tgtadm", "--lld", "iser", *words.split()], env)
        assert command.code == 0, command


def test_targets_verify_what_initiators_read():
    # tools/test does not install tgt, which would run a service from then on. Without one:
    #   apt-get download tgt && dpkg -x tgt_*.deb /tmp/tgt && PATH=/tmp/tgt/usr/sbin:$PATH tools/test --long ...
    need_program("tgtd", "tgt")
    need_program("iscsi-test-cu", "libiscsi-bin")
    need_root("tgtd and its limits")
    port, env = ports.free(), (("TGT_IPC_SOCKET", files.at("tgt")),)
    with target(env, port) as server:
        session.until_ready(lambda: ports.bound(port), server)
        make_disk(env)
        for test in ("Simple", "Mismatch"):
            client = session.run(["iscsi-test-cu", "-n", "-t", f"SCSI.Verify10.{test}", f"iser://127.0.0.1:{port}/{NAME}/1"])
            both = f"{client}\n{server}"
            assert client.code == 0 and "return value: 0" in client.out, both
            assert "SKIPPED" not in client.out and "Sanitizer" not in both, both
