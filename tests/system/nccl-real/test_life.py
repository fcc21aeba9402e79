"""Communicators: several, split, aborted, and what their connections log as they close."""
import re

from rig_suite import rig


def test_several():
    rig("--ranks", 2, "--case", "several")


def test_split():
    rig("--ranks", 4, "--case", "split", NCCL_MAX_NCHANNELS=1)


def test_abort_again():
    rig("--ranks", 2, "--case", "abort_again")


def test_abort_init():
    rig("--ranks", 2, "--case", "abort_init", same_host="network")


def test_unload():
    rig("--ranks", 2, "--case", "unload", same_host="network")


def test_communicators_in_a_row():
    rig("--ranks", 2, "--case", "churn", "--repeat", 8, NCCL_MAX_NCHANNELS=1)


CLOSES = re.compile(r"NET/MRC: Connection with \S+ closes: (\d+) messages, completed after p50 ([\d.]+) p90 ([\d.]+) p99 ([\d.]+) "
                    r"p99\.9 ([\d.]+) max ([\d.]+) us; QP \d+: (\d+) packets, (\d+) sent again, (\d+) timeouts")
REPAIRED = re.compile(r"NET/MRC: Connection with \S+ closes: (\d+) packets sent again were acknowledged p50 ([\d.]+) p90 ([\d.]+) "
                      r"p99 ([\d.]+) p99\.9 ([\d.]+) max ([\d.]+) us after their first transmission")


def closing_lines(**settings):
    """(messages, [times in us], packets, sent again) of each connection that a rank has sent over, and (packets, [times in us])
    of those on which packets were sent again."""
    text = rig("--ranks", 2, "--test", "all_reduce", "--sizes", "1M", "-n", 10, "--out-of-place", same_host="network", **settings)
    lines = [line for line in text.splitlines() if " closes: " in line]
    repaired = [REPAIRED.search(line) for line in lines if "sent again were" in line]
    closed = [CLOSES.search(line) for line in lines if "sent again were" not in line]
    assert all(closed) and all(repaired), text
    return ([(int(m[1]), [float(m[k]) for k in range(2, 7)], int(m[7]), int(m[8])) for m in closed],
            [(int(m[1]), [float(m[k]) for k in range(2, 7)]) for m in repaired])


def test_a_connection_closes_with_its_completion_times():
    lines, _ = closing_lines(NCCL_DEBUG="INFO")
    assert len(lines) >= 2, lines
    for messages, times, packets, sent_again in lines:
        assert messages > 0 and packets >= messages and sent_again < packets, lines
        assert 0 < times[0] and times == sorted(times), lines


def test_a_closing_connection_has_counted_what_was_lost():
    lines, repaired = closing_lines(NCCL_DEBUG="INFO", MRC_FAULT="loss=0.05")
    assert sum(sent_again for *_, sent_again in lines) > 0, lines
    assert sum(packets for packets, _ in repaired) > 0, repaired
    for _, times in repaired:
        assert 0 < times[0] and times == sorted(times), repaired
