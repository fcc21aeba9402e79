"""The raw datapath over AF_XDP: what is not MRC's goes on to the kernel, and nothing stays behind [MRC-SR-22]."""
import json

from limits import limit
from pair import Pair, config
from process import run
from srv6_lab import Lab
from test_srv6 import all_paths_shared, transfer
from wait import until


def attached(lab, host):
    """Planes of that host whose interface has an XDP program."""
    shown = run(["ip", "-n", lab.hosts[host - 1], "-json", "link"])
    return sum("xdp" in link for link in json.loads(shown.stdout))


def test_encapsulated():
    # mrc-perf agrees with its peer over TCP on the same interface: the program passes that on.
    with Lab() as lab:
        all_paths_shared(lab, transfer(lab, "by AF_XDP", more="datapath: raw\nraw_io: xdp\n"))
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
        with Pair(["--duration", limit(120)], env[0], server_env=env[1], prefixes=(lab.inside(2), lab.inside(1)),
                  host=lab.address(1, 2)) as pair:
            until(lambda: attached(lab, 1) == attached(lab, 2) == 2, lambda: f"no XDP program on the interfaces: {pair}")
        until(lambda: attached(lab, 1) == attached(lab, 2) == 0, "an XDP program is left")
