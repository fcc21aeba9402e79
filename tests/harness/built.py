"""Programs and libraries of the build, by the names that a suite's CMakeLists.txt gives them."""
import os

from skip import need

PATHS = {}  # set by run_one.py


def path(name):
    """Skips the test where this configuration has no such target (tests/facts/harness checks that names and targets exist). One that
    it has must be there."""
    need(name in PATHS, f"{name} is not a part of this build")
    assert os.path.exists(PATHS[name]), f"{name} is not built: there is no {PATHS[name]}"
    return PATHS[name]
