"""A test passes only when it ran to its end and all of it held (tests/harness/skip.py: finish)."""
from outcome import fails, is_skipped, passes

THREAD = """import threading
import skip
def body():
    {body}
def test():
    threading.Thread(target=body, daemon={daemon}).start()
    {then}
"""


def test_a_function_that_returns_passes():
    passes("def test():\n    assert True\n")
    passes("def test(first):\n    assert first == 'word'\n", "word")


def test_an_exception_fails():
    fails("AssertionError: why", "def test():\n    assert False, 'why'\n")


def test_a_skip_names_the_reason():
    is_skipped("no moon", "import skip\ndef test():\n    skip.need(False, 'no moon')\n")


def test_a_generator_fails():
    fails("the test returned <generator", "def test():\n    assert False\n    yield\n")


def test_a_coroutine_fails():
    fails("the test returned <coroutine", "async def test():\n    assert False\n")


def test_a_value_fails():
    for value in ("False", "0", "''"):
        fails(f"the test returned {value}", f"def test():\n    return {value}\n")


def test_the_end_of_the_program_fails():
    for end in ("import sys; sys.exit(0)", "import sys; sys.exit()", "raise SystemExit", "import sys; sys.exit(77)"):
        fails("the test ended the program before its own end", f"def test():\n    {end}\n")


def test_an_exception_in_a_thread_fails():
    for daemon, then in ((False, "pass"), (True, "import wait; wait.until(lambda: threading.active_count() == 1, str)"), (False, "skip.need(False, 'no moon')")):
        fails("threads of the test failed: Thread-1 (body): AssertionError: why",
              THREAD.format(body="assert False, 'why'", daemon=daemon, then=then))


def test_a_thread_that_outlives_the_function_is_awaited():
    fails("ZeroDivisionError", THREAD.format(body="import time; time.sleep(0.2); 1 / 0", daemon=False, then="pass"))
    passes(THREAD.format(body="import time; time.sleep(0.2)", daemon=False, then="pass"))


def test_without_assertions_nothing_passes():
    for more in ({"PYTHONOPTIMIZE": "1"}, {"flags": ("-B", "-O")}):
        fails("no test could fail", "def test():\n    assert False\n", **more)
        fails("no test could fail", "import skip\ndef test():\n    skip.need(False, 'no moon')\n", **more)
