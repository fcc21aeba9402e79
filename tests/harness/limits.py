"""Limits of tests, far above what a busy machine needs: none of them judges by speed. A sanitizer and MRC_TEST_SCALE multiply them
(tools/cmake/MrcTests.cmake)."""
import os

SCALE = float(os.environ.get("TEST_SCALE", "1"))


def limit(quiet_s):
    """Seconds, of what ends within `quiet_s` on any machine that runs no sanitizer."""
    return quiet_s * SCALE


LIMIT_S = limit(60)  # of every wait that states no other
