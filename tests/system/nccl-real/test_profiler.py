"""Events of the plugin in NCCL's profiler interface: profiler.cc counts them."""
import re

import built
from rig_suite import rig, wrapped

LINE = re.compile(r"# profiler: (\d+) events, (\d+) stopped, (\d+) bad, (\d+) bytes, (\d+) updates by retransmission, (\d+) by paths")


def events(*arguments, plugin=None, **settings):
    more, words = wrapped(plugin) if plugin else ({}, [])
    text = rig("--ranks", 2, "-w", 0, "--out-of-place", *arguments, *words, NCCL_DEBUG="INFO", NCCL_PROFILER_PLUGIN=built.path("PROFILER"), **more, **settings)
    found = [[int(number) for number in match] for match in LINE.findall(text)]
    assert found, text
    for started, stopped, bad, size, _, _ in found:
        assert started > 0 and stopped == started and bad == 0 and size > 0, found
    return found


def test_every_message_is_an_event():
    events("--test", "all_reduce,alltoall", "--sizes", "4,2M", "-n", 2, same_host="network")


def test_version_10_has_them_too():
    events("--sizes", "2M", "-n", 2, plugin="only_v10", same_host="network")


def test_lost_packets_and_dead_planes_are_updates():
    """A plane passes nothing for 1.5 s: messages under way learn of the packets that are sent again and of the paths that fail."""
    found = events("--sizes", "1M", "-n", 5, "-D", 5, same_host="network", MRC_FAULT="plane=2:blackhole@2s-3500ms")
    assert sum(line[4] for line in found) > 0 and sum(line[5] for line in found) > 0, found
