"""The raw datapath over AF_XDP: what is not MRC's goes on to the kernel, and nothing stays behind [MRC-SR-22]."""
import json
import subprocess
import time

from pair import Pair, config
from srv6_lab import Lab
from test_srv6 import all_paths_shared, transfer


def attached(lab, host):
    """Planes of that host whose interface has an XDP program."""
    shown = subprocess.run(["ip", "-n", lab.hosts[host - 1], "-json", "link"], capture_output=True, text=True,
                           timeout=20, check=True)
    return sum("xdp" in link for link in json.loads(shown.stdout))


def wait_for(what, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.02)
    return False


def test_encapsulated():
    # mrc-perf agrees with its peer over TCP on the same interface: the program passes that on.
    with Lab() as lab:
        transfer(lab, "by AF_XDP", more="datapath: raw\nraw_io: xdp\n")
        all_paths_shared(lab)
        assert attached(lab, 1) == attached(lab, 2) == 0


def test_packet_sockets_where_they_are_asked_for():
    with Lab() as lab:
        transfer(lab, "by AF_PACKET", more="datapath: raw\nraw_io: packet\n")


def test_xdp_and_sockets_understand_each_other():
    with Lab() as lab:
        transfer(lab, "by AF_XDP", more="datapath: raw\nraw_io: xdp\nev_mode: structured\n",
                 server="ev_mode: structured\n")


def test_a_killed_process_leaves_no_program():
    with Lab() as lab:
        env = [config(lab.device(host, "datapath: raw\nraw_io: xdp"), f"host{host}.yaml") for host in (1, 2)]
        pair = Pair(["--duration", "30"], env[0], server_env=env[1], prefixes=(lab.inside(2), lab.inside(1)),
                    host=lab.address(1, 2))
        try:
            assert wait_for(lambda: attached(lab, 1) == attached(lab, 2) == 2), f"no XDP program on the interfaces: {pair.client}{pair.server}"
        finally:
            pair.client.kill()
            pair.server.kill()
        assert wait_for(lambda: attached(lab, 1) == attached(lab, 2) == 0), "an XDP program is left"
