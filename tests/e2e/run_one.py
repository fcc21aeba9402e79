"""Runs one test function in a folder of its own: run_one.py MRC_PERF MODULE FUNCTION."""
import importlib
import os
import sys
import tempfile

import pair


def main():
    pair.MRC_PERF = os.path.abspath(sys.argv[1])
    module = importlib.import_module(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="mrc-e2e-") as folder:
        pair.FOLDER = folder
        getattr(module, sys.argv[3])()
    print("passed")


if __name__ == "__main__":
    main()
