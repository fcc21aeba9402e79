"""Limits of tests, far above what a busy machine needs: none of them judges by speed. A sanitizer and MRC_TEST_SCALE multiply them
(tools/cmake/MrcTests.cmake)."""
import os

SCALE = float(os.environ.get("TEST_SCALE", "1"))
LIMIT_S = 60 * SCALE
