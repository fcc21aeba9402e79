"""The verdict of tools/demo --nccl on the time between completed batches, over steps that are made up."""
import importlib.util
import os
import sys

sys.dont_write_bytecode = True
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/demo.d/nccl.py")
spec = importlib.util.spec_from_file_location("demo_nccl", PATH)  # another name than that of tools/bench.d/nccl.py
demo_nccl = importlib.util.module_from_spec(spec)
spec.loader.exec_module(demo_nccl)

RETURNED = 8.0


def steps(before_s, dead_s):
    """Batches of `before_s` each until the plane dies, one of `dead_s`, then as before."""
    lengths = [before_s] * int(demo_nccl.DIES / before_s) + [dead_s] + [before_s] * int(4 / before_s)
    made, at = [], 0.0
    for length in lengths:
        made.append((at, at + length, 1.0))
        at += length
    return made


def test_a_slow_machine_is_measured_by_its_own_batches():
    assert demo_nccl.kept_completing(steps(2.0, 2.5), RETURNED)[1]
    assert demo_nccl.kept_completing(steps(2.0, 2.0 + demo_nccl.GAP_S - 0.1), RETURNED)[1]


def test_a_gap_of_the_fault():
    assert demo_nccl.kept_completing(steps(0.1, 1.0), RETURNED)[1]
    assert not demo_nccl.kept_completing(steps(0.1, 1.2), RETURNED)[1]
    assert not demo_nccl.kept_completing(steps(2.0, 2.0 + demo_nccl.GAP_S + 0.1), RETURNED)[1]


def test_a_run_without_a_timeline():
    assert not demo_nccl.kept_completing([], RETURNED)[1]


def test_a_batch_that_the_fault_cuts_is_not_one_before_it():
    cut = [(0.0, 1.0, 1.0), (1.0, 7.0, 1.0), (7.0, 8.0, 1.0)]
    assert not demo_nccl.kept_completing(cut, RETURNED)[1]
