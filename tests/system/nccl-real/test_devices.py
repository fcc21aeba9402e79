"""What NCCL does with GPUDirect RDMA, with NICs that other GPUs are nearer to, and with NICs that it joins."""
import os
import re

import built
import files
from rig_suite import played, rig, wrapped

GDR = {"NCCL_RIG_GDR": 1, "NCCL_NET_GDR_LEVEL": "SYS"}

PCI = ('<pci busid="0000:{}:00.0" class="{}" vendor="0x0" device="0x0" subsystem_vendor="0x0" subsystem_device="0x0" '
       'link_speed="16.0 GT/s PCIe" link_width="16">')


def pci(bus, kind, inner):
    return PCI.format(bus, {"bridge": "0x060400", "gpu": "0x030200", "nic": "0x020000"}[kind]) + inner + "</pci>"


def gpu(bus, number, other):
    link = f'<nvlink target="0000:{other}:00.0" count="12" tclass="0x030200"/>'
    return pci(bus, "gpu", f'<gpu dev="{number}" sm="80" rank="{number}" gdr="1">{link}</gpu>')


def topology():
    """A host of two GPUs joined by NVLink, whose NIC is at the first one."""
    net = '<nic><net name="mrc0" dev="0" latency="0" speed="100000" port="1" guid="0x1" maxconn="65536" gdr="1"/></nic>'
    tree = pci("08", "bridge", gpu("0a", 0, "0b") + pci("0c", "nic", net)) + pci("09", "bridge", gpu("0b", 1, "0a"))
    return files.write("topology.xml", '<system version="1"><cpu host_hash="0x0" numaid="0" affinity="00000003" arch="x86_64" '
                       f'vendor="GenuineIntel" familyid="6" modelid="85">{tree}</cpu></system>\n')


def seen(text):
    """What the plugin was asked for: flushes, the largest group of receives, the largest region."""
    found = re.findall(r"# plugin: (\d+) flushes, groups of up to (\d+) receives, regions of up to (\d+) bytes", text)
    assert found, text
    return tuple(max(int(line[i]) for line in found) for i in range(3))


def test_gpu_direct():
    settings, plugin = wrapped("claims_cuda")
    text = rig("--ranks", 2, "--test", "all_reduce,alltoall", "--sizes", "4,300K,8M", "-n", 1, *plugin, NCCL_DEBUG="INFO",
               **GDR, **settings)
    assert "via NET/MRC/0/GDRDMA" in text, text
    assert seen(text)[0] > 0, text


def test_registered_buffer_of_128_mib():
    """NCCL hands the whole buffer over: it is one region, and one message."""
    settings, plugin = wrapped("claims_cuda")
    text = rig("--ranks", 2, "-R", 1, "--test", "sendrecv", "--sizes", "128M", "-n", 0, "-w", 0, "--functions", *plugin,
               **GDR, **settings)
    assert "SendRecv_REGISTERED" in text and "SendRecv_SIMPLE" not in text, text
    assert seen(text)[2] == 128 << 20, text


def registered_collectives(ranks, sizes, *arguments, **more):
    """The functions that ran."""
    settings, plugin = wrapped("claims_cuda")
    return played(rig("--ranks", ranks, "-R", 1, "--sizes", sizes, "-n", 0, "-w", 0, "--functions", *plugin, *arguments, NCCL_ALGO="Ring",
                      NCCL_PROTO="Simple", **GDR, **settings, **more))


REGISTERED = {"AllGather_RING_SIMPLE_REGISTERED", "Broadcast_RING_SIMPLE_REGISTERED", "AllReduce_Sum_f32_RING_SIMPLE_REGISTERED"}


def test_registered_buffers_of_collectives():
    """Blocks of AllGather are sent whole. NCCL registers nothing for an AllReduce in place."""
    functions = registered_collectives(3, "12,1M", "--test", "all_gather,all_reduce,broadcast")
    assert functions == REGISTERED | {"AllReduce_Sum_f32_RING_SIMPLE"}, functions


def test_registered_buffers_of_more_ranks():
    """NCCL registers nothing for ReduceScatter and Reduce."""
    for ranks in (2, 5, 8):
        functions = registered_collectives(ranks, "32,1K,70000,5M", "--test", "all_gather,all_reduce,broadcast,reduce_scatter,reduce",
                                           "-r", 1, "-T", 170, NCCL_MAX_NCHANNELS=2)
        assert functions == REGISTERED | {"AllReduce_Sum_f32_RING_SIMPLE", "ReduceScatter_Sum_f32_RING_SIMPLE",
                                          "Reduce_Sum_f32_RING_SIMPLE"}, functions


def test_registered_buffers_of_every_type():
    """Averages of integers: those of floating-point numbers are wrong by NCCL's own doing (check_registration in kernel.cc)."""
    for types, ops in (("all", "sum,prod,max,min"), ("int8,uint8,int32,uint32,int64,uint64", "avg")):
        functions = registered_collectives(3, "40000", "--test", "all_reduce", "--out-of-place", "-d", types, "-o", ops, "--sm", 90)
        assert functions and all(name.endswith("_REGISTERED") for name in functions), functions


def test_registered_buffers_beside_nvlink():
    """Two GPUs of a host have one connection each to the network and one to each other: blocks of AllGather are not sent whole."""
    functions = registered_collectives(2, "8,100K,3M", "-g", 2, "--test", "all_gather,all_reduce,broadcast", NCCL_TOPO_FILE=topology(),
                                       NCCL_RIG_P2P=1, NCCL_P2P_DISABLE=0, NCCL_PXN_DISABLE=1)
    assert REGISTERED <= functions, functions


def test_nic_of_another_gpu():
    """The second GPU sends through the first one's proxy (PXN), and receives from two peers are one group."""
    settings, plugin = wrapped("claims_cuda")
    text = rig("--ranks", 2, "-g", 2, "--test", "all", "--sizes", "256,64K,1M", "-n", 1, *plugin, NCCL_DEBUG="INFO",
               NCCL_TOPO_FILE=topology(), NCCL_RIG_P2P=1, NCCL_P2P_DISABLE=0, **GDR, **settings)
    assert re.search(r"Channel 00/1 : 1\[1\] -> 2\[0\] \[send\] via NET/MRC/0\(0\)/GDRDMA/Shared", text), text
    assert "via P2P/direct pointer" in text, text
    assert seen(text)[1] == 2, text


def test_joined_devices():
    """Two devices that are ports of one card: NCCL joins them, messages are cut over both."""
    card = files.at("0000:0c:00.0")
    os.makedirs(card)
    os.makedirs(files.at("bus", "pci"))
    os.symlink("../bus/pci", os.path.join(card, "subsystem"))
    text = "devices:\n"
    for number, name in ((1, "alpha0"), (2, "beta0")):
        planes = ", ".join(f"{{address: 127.0.{number}.{plane}}}" for plane in (1, 2))
        text += f'  - {{name: {name}, line_rate_gbps: 50, planes: [{planes}], peers: {{template: "127.0.{number}.{{plane}}"}}}}\n'
    config = files.write("devices.yaml", text)
    settings, plugin = wrapped("ports")
    text = rig("--ranks", 2, "--test", "all_reduce,alltoall", "--sizes", "4,64K,4M", "-n", 1, *plugin, same_host="network",
               NCCL_DEBUG="INFO", NCCL_MRC_JOIN_WITHOUT_PCI=1, NCCL_RIG_PCI_PATH=card, MRC_CONFIG=config, **settings)
    assert "Made virtual device 2: alpha0+beta0" in text, text
    assert "via NET/MRC/2" in text and "via NET/MRC/0" not in text and "via NET/MRC/1" not in text, text


def over_gdrcopy(**more):
    """(pinned ever, pinned at the end, bytes read) of each rank, and the log."""
    settings = {"NCCL_RIG_GDR": 1, "NCCL_NET_GDR_LEVEL": "SYS", "LD_LIBRARY_PATH": os.path.dirname(built.path("GDRAPI"))}
    text = rig("--ranks", 2, "--test", "all_reduce,alltoall", "--sizes", "4,300K,8M", "-n", 1, NCCL_DEBUG="INFO", same_host="network",
               **settings, **more)
    assert "NET/MRC: GPU memory is registered through gdrcopy" in text, text
    found = re.findall(r"# gdrcopy: (\d+) buffers pinned, (\d+) of them still, (\d+) bytes read", text)
    assert len(found) == 2, text
    return [tuple(map(int, line)) for line in found], text


def test_gdrcopy_for_received_data_alone():
    """The way that is fast: what is sent is staged by NCCL."""
    ranks, text = over_gdrcopy()
    assert re.search(r"\[receive\] via NET/MRC/0/GDRDMA", text) and not re.search(r"\[send\] via NET/MRC/0/GDRDMA", text), text
    assert all(ever > 0 and still == 0 and read == 0 for ever, still, read in ranks), ranks


def test_gdrcopy_for_sent_data_too():
    ranks, text = over_gdrcopy(NCCL_NET_GDR_READ=1)
    assert re.search(r"\[send\] via NET/MRC/0/GDRDMA", text), text
    assert all(still == 0 and read > 0 for _, still, read in ranks), ranks
