"""Environments of the programs that a test runs."""
import os


def clean(settings=None, without=("MRC_",)):
    """The caller's environment without the variables that begin so, with `settings`; one that is None is absent."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(tuple(without))}
    env.update(settings or {})
    return {name: value for name, value in env.items() if value is not None}


def same_host():
    """The setting by which processes of one host meet: over the sockets, as those of different hosts do, unless TEST_SAME_HOST
    is set."""
    return {"MRC_SAME_HOST": os.environ.get("TEST_SAME_HOST", "network")}
