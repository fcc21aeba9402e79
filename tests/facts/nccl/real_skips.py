"""tools/nccl-real on machines that lack something: it reports what, and that is no failure. A file stands in for PyTorch.

usage: real_skips.py NCCL_REAL
"""
import os
import sys
import tempfile

from process import run

TORCH = """
class cuda:
    is_available = staticmethod(lambda: {gpu})
class distributed:
    is_nccl_available = staticmethod(lambda: {nccl})
"""


def ran(tool, torch, *arguments):
    with tempfile.TemporaryDirectory(prefix="mrc-test-") as folder:
        with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as out:
            out.write(torch)
        return run([tool, *arguments], {**os.environ, "PYTHONPATH": folder}, code=None)


def main():
    tool = sys.argv[1]
    for torch, reason in (("raise ImportError", "no PyTorch here"),
                          (TORCH.format(gpu=False, nccl=True), "no GPU here"),
                          (TORCH.format(gpu=True, nccl=False), "this PyTorch has no NCCL")):
        done = ran(tool, torch)
        assert (done.returncode, done.stdout) == (0, f"nccl-real: skipped: {reason}\n"), done
    # With all that it needs, a plugin that is not built is a failure, no reason to skip.
    done = ran(tool, TORCH.format(gpu=True, nccl=True), "--plugin", "/nonexistent.so")
    assert done.returncode == 1 and "/nonexistent.so is not there: build it" in done.stdout, done
    done = ran(tool, "raise ImportError", "--help")
    assert done.returncode == 0 and "--fault" in done.stdout, done


main()
