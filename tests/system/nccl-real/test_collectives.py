"""Every collective, number of ranks, protocol, type and operator: each element of each result is compared by the rig."""
from rig_suite import played, report, rig

SMALL_TO_LARGE = "4,1000,64K,3M"


def all_collectives(same_host):
    text = rig("--ranks", 4, "--test", "all", "--sizes", SMALL_TO_LARGE, "-n", 1, "--functions", same_host=same_host)
    functions = played(text)
    for name in ("AllGather_RING", "AllReduce_Sum_f32_RING", "Broadcast_RING", "Reduce_Sum_f32_RING",
                 "ReduceScatter_Sum_f32_RING"):
        assert {name + "_LL", name + "_SIMPLE"} <= functions, (name, functions)
    assert {"SendRecv_SIMPLE", "AllReduce_Sum_f32_TREE_LL"} <= functions, functions


def test_all_through_memory():
    all_collectives("memory")


def test_all_over_sockets():
    all_collectives("network")


def test_ranks_2():
    rig("--ranks", 2, "--test", "all", "--sizes", "4,64K,1M", "-n", 1, same_host="network")


def test_ranks_3():
    rig("--ranks", 3, "--test", "all", "--sizes", "4,64K,1M", "-n", 1, same_host="network")


def test_ranks_8():
    rig("--ranks", 8, "--test", "all", "--sizes", "64,256K", "-n", 0, "-w", 0, NCCL_MAX_NCHANNELS=1)


def test_several_devices_of_a_process():
    rig("--ranks", 2, "-g", 2, "--test", "all_reduce,alltoall", "--sizes", "4,256K", "-n", 1)


def test_types_and_operators():
    lines = report("--ranks", 2, "--test", "all_reduce,reduce_scatter,reduce", "-d", "all", "-o", "all", "--sizes", "5000",
                   "-n", 0, "-w", 0, "--sm", 90)
    assert len({(line["type"], line["op"]) for line in lines}) == 12 * 5, lines


def test_types_in_the_simple_protocol():
    lines = report("--ranks", 2, "--test", "all_reduce", "-d", "all", "-o", "all", "--sizes", "40000", "-n", 0, "-w", 0,
                   "--out-of-place", "--sm", 90, NCCL_PROTO="Simple")
    assert len(lines) == 12 * 5, lines


def test_tree():
    for protocol in ("LL", "Simple"):
        text = rig("--ranks", 4, "--sizes", "4,10000,2M", "-n", 1, "--functions", NCCL_ALGO="Tree", NCCL_PROTO=protocol,
                   NCCL_MAX_NCHANNELS=2)
        assert played(text) == {f"AllReduce_Sum_f32_TREE_{protocol.upper()}"}, text


def test_pat():
    """Two ranks: at 256 KiB NCCL takes PAT by itself."""
    text = rig("--ranks", 2, "--test", "all_gather,reduce_scatter", "--sizes", "64K,256K,1M", "-n", 1, "--functions", same_host="network")
    functions = played(text)
    assert {"AllGather_PAT_SIMPLE", "ReduceScatter_Sum_f32_PAT_SIMPLE"} <= functions, functions
    text = rig("--ranks", 2, "--test", "all_gather,reduce_scatter", "--sizes", "4,1000,5M", "-n", 1, "-d", "int8,double", "--functions",
               NCCL_ALGO="PAT", same_host="network")
    assert {name.split("_")[-2] for name in played(text)} == {"PAT"}, text
