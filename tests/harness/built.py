"""Programs and libraries of the build, by the names that a suite's CMakeLists.txt gives them."""
from skip import need

PATHS = {}  # set by run_one.py


def path(name):
    need(name in PATHS, f"{name} is not built")
    return PATHS[name]
