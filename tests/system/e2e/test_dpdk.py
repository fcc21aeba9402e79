"""The DPDK datapath between processes, without huge pages, over the interfaces of two hosts and the kernel's switches
[MRC-SR-18..21]. Not over shared memory: net_memif of DPDK 22.11 may crash a process whose peer ends."""
import built
from skip import need
from srv6_lab import Lab
from test_srv6 import all_paths_shared, transfer


def need_dpdk():
    need("MRC_DPDK" in built.PATHS, "built without DPDK (apt-get install libdpdk-dev)")


def over_interfaces(lab, host, more=""):
    ports = ";".join(f"net_af_packet{plane},iface=plane{plane},framesz=9216,blocksz=36864,framecnt=512"
                     for plane in lab.planes)
    return f"datapath: dpdk\ndpdk_ports: '{ports}'\ndpdk_gateway: fe80::{host}\ndpdk_mtu: 9000\n{more}"


def test_encapsulated_over_interfaces():
    need_dpdk()
    with Lab() as lab:
        counters = transfer(lab, "DPDK with SRv6", more=over_interfaces(lab, 1), server=over_interfaces(lab, 2))
        all_paths_shared(lab, counters)


def test_dpdk_and_sockets_understand_each_other():
    need_dpdk()
    with Lab() as lab:  # the sockets' bursts would come in one piece over virtual links, for which DPDK has no room
        transfer(lab, "DPDK: 2 planes", more=over_interfaces(lab, 1, "ev_mode: structured\n"),
                 server="ev_mode: structured\ngso: off\n")
