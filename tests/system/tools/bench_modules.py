"""Makes the modules of tools/bench importable, with its programs those of BUILD_DIR and without the caller's settings.

use(SOURCE_DIR, BUILD_DIR) comes before their import.
"""
import importlib
import os
import sys

from environment import clean


def use(source, build):
    settings = clean({"MRC_CONFIG": "/dev/null", "MRC_MRCD_SOCKET": ""})
    os.environ.clear()
    os.environ.update(settings)
    sys.path.insert(0, os.path.join(source, "tools", "bench.d"))
    importlib.import_module("programs").build = build
