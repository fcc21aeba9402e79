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


PAT = {"AllGather_PAT_SIMPLE", "ReduceScatter_Sum_f32_PAT_SIMPLE"}


def pat(ranks, sizes, *arguments, **settings):
    """The functions that ran."""
    return played(rig("--ranks", ranks, "--test", "all_gather,reduce_scatter", "--sizes", sizes, "-n", 0, "-w", 0, "--functions", *arguments,
                      NCCL_ALGO="PAT", same_host="network", **settings))


def test_pat_of_ranks_3():
    """A block of one element, such as are no multiple of anything, several chunks."""
    assert pat(3, "12,3000,600K") == PAT


def pat_of_odd_sizes(ranks):
    sizes = ",".join(str(4 * ranks * elements) for elements in (1, 3, 251, 4099, 50021, 131072))
    assert pat(ranks, sizes, "-T", 170) == PAT
    assert pat(ranks, str(4 * ranks * 5003), "-T", 170, NCCL_MAX_NCHANNELS=1) == PAT


def test_pat_of_ranks_4():
    pat_of_odd_sizes(4)


def test_pat_of_ranks_5():
    pat_of_odd_sizes(5)


def test_pat_of_ranks_7():
    pat_of_odd_sizes(7)


def test_pat_of_ranks_8():
    """NCCL takes it by itself, too."""
    pat_of_odd_sizes(8)
    text = rig("--ranks", 8, "--test", "all_gather,reduce_scatter", "--sizes", "256K", "-n", 0, "-w", 0, "--functions", same_host="network")
    assert played(text) == PAT, text


def test_pat_of_ranks_16():
    """On one channel, because sixteen ranks take long to meet."""
    assert pat(16, ",".join(str(64 * elements) for elements in (1, 3, 251, 5003, 50021)), "-T", 170, NCCL_MAX_NCHANNELS=1) == PAT


def test_pat_of_every_type():
    lines = report("--ranks", 5, "--test", "reduce_scatter,all_gather", "-d", "all", "-o", "sum,prod,max,min", "--sizes", "40,33000", "-n", 0,
                   "-w", 0, "--sm", 90, NCCL_ALGO="PAT", NCCL_MAX_NCHANNELS=1)
    assert len(lines) == 2 * 12 * (4 + 1), lines
