"""Incast with a victim over a lab: three hosts write to one, a fourth shares their switches and not their receiver. Paths
are uSID lists.

    h0, h1, h2 -> h4        incast: the last hop has a third of what they could send
    h3 -> h5                victim: the same T0s and T1s, a port of its own at the end

Run as a script it prints what each flow got, over switches that trim, over such that drop, and over the kernel's:
PYTHONPATH=tests/harness incast.py MRC_FABRIC MRC_PERF [SECONDS]
"""
import json
import sys
import tempfile

import built
import files
from lab import Lab
from limits import limit

INCAST, VICTIM = (("h0", "h4"), ("h1", "h4"), ("h2", "h4")), ("h3", "h5")
MBPS = 40  # of a host, over both planes
FABRIC = """name: incast
planes: 2
t0: 2
t1: 2
nics_per_t0: 4
nic_link: {rate: 20M, delay: 500ns}
spine_link: {rate: 80M, delay: 500ns}
switch: {queue: 32000, queue_last_hop: 32000, ecn_min: 8000, ecn_max: 24000, drop_queue: 32000,
         trimmed_queue: 64000, control_queue: 64000}
"""
TRIMS = FABRIC + "lab: {mrc_switch: t0}\n"
DROPS = FABRIC.replace("switch: {", "switch: {trimming: false, ") + "lab: {mrc_switch: t0}\n"
KERNEL = FABRIC + "lab: {queue: 80000}\n"  # also before the hosts' own ports, so not less than a window
LIMIT_S = limit(90)


class Flow:
    """A client on one host and its server on another; `words` go to the client."""

    def __init__(self, net, source, target, port, env, words):
        self.source, self.target = source, target
        settings = ["env", *(f"{k}={v}" for k, v in env.items())]
        perf = [*settings, built.path("MRC_PERF")]
        self.server = net.starts(target, *perf, "-q", "--port", port, "--json", "-")
        self.client = net.starts(source, *perf, target, "-q", "--port", port, "--verify", "--json", "-", *words)

    def finish(self):
        assert (self.client.wait(LIMIT_S), self.server.wait(LIMIT_S)) == (0, 0), f"{self.source}: {self.client}\n{self.server}"
        self.report = json.loads(self.client.out)
        self.server_report = json.loads(self.server.out)
        return self.report

    def end(self):
        self.client.kill()
        self.server.kill()

    def mbps(self):
        return self.report["sizes"][0]["gbps"] * 1000


def run(net, trimming, seconds):
    """Flows with their reports, the victim last."""
    # On links this slow one packet takes a millisecond, and the hosts' scheduling jitters by several: no congestion.
    env = {"MRC_TRIMMING": "true" if trimming else "false", "MRC_BASE_RTT_US": "4000", "MRC_HOST_JITTER_US": "12000"}
    words = ["--size", "64K", "--duration", str(seconds), "--timeout", "17", "--sleepy-server"]  # 134 ms
    flows = []
    try:
        for n, (source, target) in enumerate((*INCAST, VICTIM)):
            flows.append(Flow(net, source, target, 7000 + n, env, words))
        for flow in flows:
            flow.finish()
    finally:
        for flow in flows:
            flow.end()
    return flows


def lost_in(net):
    """Packets that the fabric's switches dropped in their queues, trimmed and marked."""
    total = {"queue_drops": 0, "trimmed": 0, "marked": 0}
    for link in net.json("status")["links"]:
        for end in (link["up"], link["down"]):
            for name in total:
                total[name] += end.get(name, 0)
    return total


def table(net, flows):
    lines = []
    for flow in flows:
        counters = flow.report["counters"]
        picked = ("retransmits", "rx_nacks", "timeouts", "fast_retransmits", "spurious_retransmits", "rx_ecn")
        lines.append(f"{flow.source} -> {flow.target}  {flow.mbps():6.1f} Mb/s  " +
                     "  ".join(f"{name} {counters[name]}" for name in picked))
    return "\n".join([*lines, f"switches: {lost_in(net)}"])


def main():
    built.PATHS.update(MRC_FABRIC=sys.argv[1], MRC_PERF=sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory(prefix="mrc-fabric-") as files.FOLDER:
        for name, fabric, trimming in (("trimming switches", TRIMS, True), ("the same, dropping", DROPS, False),
                                       ("the kernel's switches", KERNEL, False)):
            with Lab(fabric) as net:
                flows = run(net, trimming, seconds)
                print(f"{name}\n{table(net, flows)}")


if __name__ == "__main__":
    main()
