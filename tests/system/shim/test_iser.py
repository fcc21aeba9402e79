"""iSCSI over RDMA, unmodified: tgt's target and libiscsi's tests. They read and have the target compare the same data with its file, so
that data are checked in both directions; a byte that is changed in between has to be found."""
import random

import files
import ports
import session
from skip import need_program, need_root

NAME = "iqn.2026-11.test:disk"
INITIATOR = "iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-test"  # iscsi-test-cu; over iSER tgtd serves only names that it was given
BYTES = 8 << 20
PORT = 3260  # tgtd refuses every port that is named, without the preload, too: it takes an old errno for a failure of strtol()


def target(env):
    # Its buffers are 1 GiB by default.
    return session.Program(["tgtd", "-f", "--iser", "pool_sz_mb=16"], session.environment(env))


def make_disk(env):
    disk = files.at("disk")
    with open(disk, "wb") as out:
        out.write(random.Random(1).randbytes(BYTES))
    for words in (f"--op new --mode target --tid 1 -T {NAME}", f"--op new --mode logicalunit --tid 1 --lun 1 --backing-store {disk}",
                  "--op bind --mode target --tid 1 --initiator-address ALL", f"--op bind --mode target --tid 1 --initiator-name {INITIATOR}"):
        command = session.run(["tgtadm", "--lld", "iser", *words.split()], env)
        assert command.code == 0, command


def test_targets_verify_what_initiators_read():
    # tools/test does not install tgt, which would run a service from then on. Without one:
    #   apt-get download tgt && dpkg -x tgt_*.deb /opt/tgt && PATH=/opt/tgt/usr/sbin:$PATH tools/test --long ...
    # A test has a /tmp of its own.
    need_program("tgtd", "tgt")
    need_program("iscsi-test-cu", "libiscsi-bin")
    need_root("tgtd and its limits")
    env = (("TGT_IPC_SOCKET", files.at("tgt")),)
    with target(env) as server:
        session.until_ready(lambda: ports.bound(PORT), server)
        make_disk(env)
        for test in ("Simple", "Mismatch"):
            client = session.run(["iscsi-test-cu", "-n", "-t", f"SCSI.Verify10.{test}", f"iser://127.0.0.1:{PORT}/{NAME}/1"])
            both = f"{client}\n{server}"
            assert client.code == 0 and "return value: 0" in client.out, both
            assert "SKIPPED" not in client.out and "Sanitizer" not in both, both
