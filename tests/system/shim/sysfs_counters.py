"""A transfer between two queue pairs of this process is seen in its port's counters. Run with the shim preloaded."""
import pyverbs.enums as e
from pyverbs.device import Context
from pyverbs.pd import PD

import conformance

COUNTERS = "/sys/class/infiniband/mrc0/ports/1/"


def read(name):
    with open(COUNTERS + name, encoding="ascii") as file:
        return int(file.read())


def main():
    with Context(name="mrc0") as ctx, PD(ctx) as pd:
        before = {name: read(name) for name in ("counters/port_xmit_data", "counters/port_rcv_packets", "hw_counters/tx_data")}
        a, b = conformance.pair(ctx, pd)
        a.send(1, e.IBV_WR_RDMA_WRITE, conformance.SIZE, remote=b)
        conformance.status(a.wait(), e.IBV_WC_SUCCESS)
        after = {name: read(name) for name in before}
        print(before, after)
        packets = conformance.SIZE // 4096
        assert after["counters/port_xmit_data"] - before["counters/port_xmit_data"] >= conformance.SIZE // 4
        assert after["counters/port_rcv_packets"] - before["counters/port_rcv_packets"] >= packets
        assert after["hw_counters/tx_data"] - before["hw_counters/tx_data"] >= packets
        assert read("counters/symbol_error") == 0
    print("ok")


main()
