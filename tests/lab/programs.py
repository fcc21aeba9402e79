"""The parts of this suite: programs and libraries by the names that CMakeLists.txt gives them, and the folders of other
suites whose modules it uses."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, folder) for folder in ("../fabric", "../../tools/lib/lab")]

import lab  # noqa: E402
from lab import Skipped  # noqa: E402, F401

BUILT = {}


def prepare(folder, built):
    BUILT.update(built)
    lab.prepare(folder, built)


def path(name):
    """Skips the test where that part is not built."""
    lab.need(name in BUILT, f"{name} is not built")
    return BUILT[name]


def installed(name, package):
    lab.need(shutil.which(name), f"the program {name} is missing (apt-get install {package})")
    return name
