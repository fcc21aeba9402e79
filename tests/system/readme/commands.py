"""README.md: its commands run as printed.

usage: commands.py SOURCE_DIR BUILD_DIR
A block of sh that follows the line <!-- run --> is run by bash in a folder that has the source tree, with BUILD_DIR as
build/dev. Each must end with exit status 0.
"""
import os
import re
import sys
import tempfile

from environment import clean
from process import run

BLOCK = re.compile(r"^<!-- run -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(path):
    with open(path, encoding="utf-8") as page:
        return page.read()


def surroundings(folder, source, build):
    for name in os.listdir(source):
        if name not in ("build", "out", ".git"):
            os.symlink(os.path.join(source, name), os.path.join(folder, name))
    os.makedirs(os.path.join(folder, "build"))
    os.makedirs(os.path.join(folder, "out"))
    os.symlink(build, os.path.join(folder, "build", "dev"))


def main():
    source, build = (os.path.abspath(path) for path in sys.argv[1:3])
    readme = read(os.path.join(source, "README.md"))
    blocks = BLOCK.findall(readme)
    assert len(blocks) >= 3, "README.md shows plugin, shim and library by commands that run"
    env = clean({"MRC_MRCD_SOCKET": ""}, ("MRC_", "NCCL_"))
    with tempfile.TemporaryDirectory(prefix="mrc-readme-") as folder:
        surroundings(folder, source, build)
        for block in blocks:
            done = run(["bash", "-euo", "pipefail", "-c", block], env, cwd=folder)
            print(block + done.stdout)
            assert done.stdout.strip(), done.stderr


if __name__ == "__main__":
    main()
