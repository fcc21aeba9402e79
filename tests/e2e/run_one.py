"""Runs one test function in a folder of its own: run_one.py MRC_PERF MODULE FUNCTION. Exit 77: skipped, with why."""
import importlib
import os
import sys
import tempfile

import pair

SKIPPED = 77  # CMakeLists.txt tells ctest


def main():
    pair.MRC_PERF = os.path.abspath(sys.argv[1])
    module = importlib.import_module(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="mrc-e2e-") as folder:
        pair.FOLDER = folder
        try:
            getattr(module, sys.argv[3])()
        except pair.Skipped as why:
            print(f"skipped: {why}")
            sys.exit(SKIPPED)
    print("passed")


if __name__ == "__main__":
    main()
