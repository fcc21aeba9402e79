"""tools/nccl-real: its verdicts on logs that have the plugin's sentences on GPU memory, which are read from its source."""
import importlib.util
import os
import re
import sys
from unittest import mock

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("nccl_real", os.path.join(SOURCE, "tools", "nccl-real.d", "main.py"))
real = importlib.util.module_from_spec(spec)
spec.loader.exec_module(real)

with open(os.path.join(SOURCE, "nccl-plugin", "src", "context.cc"), encoding="utf-8") as source:
    GDRCOPY, DMA_BUFS, NEITHER = re.findall(r'NET_INFO\("(GPU memory is [^"]+)"', source.read())
NO_GDRCOPY, OFF = NEITHER.replace("%s", "libgdrapi.so.2: cannot open shared object file"), NEITHER.replace("%s", "NCCL_MRC_GPU=off")


def log(*of_ranks, net="MRC"):
    """NCCL's log where the plugin of each rank says this of GPU memory."""
    return "".join(f"host:7:8 [0] NCCL INFO NET/{net}: {text}\nhost:7:8 [0] NCCL INFO Assigned NET plugin {net} to comm\n"
                   for text in of_ranks or ("", ""))


def wrong(gpu, *of_ranks):
    return len(real.complaints({"NCCL_NET": "MRC", "NCCL_MRC_GPU": gpu}, log(*of_ranks)))


def test_the_way_to_gpu_memory_is_required():
    for text in (GDRCOPY, NO_GDRCOPY):
        assert wrong("auto", text, text) == 0, text
    for text in ("", DMA_BUFS, OFF):
        assert wrong("auto", text, text) == 1, text
    assert wrong("auto", GDRCOPY, NO_GDRCOPY) == 1  # the ranks differ
    assert wrong("off", OFF, OFF) == 0
    for text in ("", GDRCOPY, DMA_BUFS, NO_GDRCOPY):
        assert wrong("off", text, text) == 1, text


def test_the_network_is_required():
    assert real.complaints({"NCCL_NET": "Socket"}, log(net="Socket")) == []
    for text in ("", log(), log(net="Socket") + log()):
        assert len(real.complaints({"NCCL_NET": "Socket"}, text)) == 1, text


def verdict(off):
    """The exit code, and NCCL_MRC_GPU of each run, where the plugin logs `off` when it is to leave GPU memory to NCCL."""
    gpu = []

    def run(_, settings, __):
        gpu.append(settings.get("NCCL_MRC_GPU"))
        text = {None: "", "auto": GDRCOPY, "off": off}[gpu[-1]]
        return True, {"nccl": "NCCL, a GPU", "lines": []}, log(text, text, net=settings["NCCL_NET"])
    with mock.patch.multiple(real, run=run, why_not=lambda: None, ctypes=mock.Mock()), \
            mock.patch.object(sys, "argv", ["nccl-real", "--plugin", __file__]):
        return real.main(), gpu


def test_one_run_leaves_gpu_memory_to_nccl():
    assert verdict(OFF) == (0, [None, "auto", "off", "auto", "auto"])
    assert verdict(GDRCOPY)[0] == 1
