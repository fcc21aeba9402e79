"""Waiting for a condition: it is polled, and the wait has a limit."""
import time

from limits import LIMIT_S


def until(condition, what, limit_s=LIMIT_S, every_s=0.02):
    """Returns the value of condition() as soon as it is true. The test fails with `what` after limit_s: a text, or a function that
    returns one."""
    end = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(every_s)
    return value
