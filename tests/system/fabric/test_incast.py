"""Incast through trimming switches: nothing is lost, only cut; the sender is notified by NACKs and every byte is correct."""
import incast
import built
from lab import Lab


def test_incast_through_trimming_switches():
    built.path("MRC_SWITCH")
    with Lab(incast.TRIMS) as net:
        flows = incast.run(net, trimming=True, seconds=3)
        print(incast.table(net, flows))
        for flow in flows:
            assert flow.report["ok"] and flow.report["sizes"][0]["mismatches"] == 0, flow.report
        switches = incast.lost_in(net)
        counters = [flow.report["counters"] for flow in flows]
        # Packets that may not be trimmed are dropped: EV probes, and where a host stood still for long, those of a size search.
        may_drop = sum(c["tx_ev_probes"] for c in counters) if any(c["mtu_searches"] for c in counters) else 0
        assert switches["trimmed"] > 0 and switches["queue_drops"] <= may_drop, switches
        nacks = sum(flow.report["counters"]["rx_nacks"] for flow in flows[:-1])
        assert 0 < nacks <= switches["trimmed"], (nacks, switches)
        # Nothing was lost, as the switches' drops show: what was sent again had been trimmed, had arrived and was late, or was
        # still under way when the server ended.
        for flow in flows:
            ours, theirs = flow.report["counters"], flow.server_report["counters"]
            under_way = max(0, ours["tx_packets"] - theirs["rx_packets"])  # the server reports later, and may have more
            assert ours["retransmits"] <= theirs["rx_trimmed"] + theirs["rx_duplicates"] + under_way, (ours, theirs)
        # The victim's share is its whole line, and half of it already distinguishes it from the flows of the incast; on a machine
        # that is too busy to fill the incast's line it is at least no worse off than they are.
        victim, together = flows[-1].mbps(), sum(flow.mbps() for flow in flows[:-1])
        machine_keeps_up = together > 0.8 * incast.MBPS
        assert victim > (incast.MBPS / 2 if machine_keeps_up else 0.9 * together / len(flows[:-1])), (victim, together)
