"""Programs with the shim preloaded: one, or a server and a client."""
import os
import time

import built
import ports
from environment import clean, same_host
from limits import limit
from process import Process
from wait import until

SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan.supp")
RUNTIME = os.environ.get("TEST_RUNTIME", "")  # a sanitizer's, which has to come first
PROGRAMS = os.environ.get("TEST_PROGRAMS", "")  # the folder of those that are built for these tests
LAST_WORDS_S = limit(0.2)  # of a server whose client has failed


def placed(text):
    """A command's or variable's text with the files of this build in it."""
    for name, path in (("@SHIM@", built.path("SHIM")), ("@COMPAT@", built.path("COMPAT")), ("@PROGRAMS@", PROGRAMS)):
        text = text.replace(name, path)
    return text


def environment(extra=(), preload=None):
    """`preload`: libraries, by default the shim."""
    env = clean({**same_host(), **{k: placed(v) for k, v in extra}})
    libraries = (RUNTIME, built.path("SHIM")) if preload is None else preload
    if libraries:
        env["LD_PRELOAD"] = " ".join(filter(None, libraries))
    # The programs are not ours, and what they lose at exit is theirs.
    env["ASAN_OPTIONS"] = "detect_leaks=0:" + env.get("ASAN_OPTIONS", "").replace("detect_leaks=1", "detect_leaks=0")
    # perftest opens a file in its signal handler.
    env["TSAN_OPTIONS"] = f"report_signal_unsafe=0:die_after_fork=0:suppressions={SUPPRESSIONS}:" + env.get("TSAN_OPTIONS", "")
    if RUNTIME:
        # UCX and libfabric rewrite the very functions that the sanitizer has taken over, and are called by threads that it has left.
        env["UCX_MEM_MMAP_HOOK_MODE"] = "none"
        env["FI_MR_CACHE_MONITOR"] = "disabled"
    env["UCX_WARN_UNUSED_ENV_VARS"] = "n"
    return env


class Program(Process):
    def __init__(self, command, env):
        super().__init__([placed(str(word)) for word in command], env, merged=True)


def run(command, extra=(), preload=None):
    """The program, ended."""
    with Program(command, environment(extra, preload)) as program:
        program.wait()
    return program


def until_ready(condition, program):
    """The program may end instead."""
    until(lambda: condition() or program.ended(), lambda: f"not ready: {program}")


def run_both(server, client, ready, server_env, client_env, late=0.0, forever=False):
    """Server, then client as soon as ready() holds, or so many seconds late. Returns both, ended; `forever`: the server does not end
    by itself."""
    with Program(server, server_env) as first:
        until_ready(ready, first)
        time.sleep(late)
        with Program(client, client_env) as second:
            second.wait()
        if forever or second.code != 0 and not first.ends_within(LAST_WORDS_S):
            first.kill()
        first.wait()
    return first, second


def run_pair(*args, **kwargs):
    """The same command for both sides, which meet at a port. Returns both, ended."""
    for _ in range(5):
        server, client = run_pair_once(*args, **kwargs)
        # perftest fails, regardless of the transport, when other programs disturb its measurement of the processor's clock.
        if "Can't produce a report" not in server.out + client.out:
            break
    return server, client


def run_pair_once(command, extra=(), late=0.0, prefix=(), rdma_cm=False, preload=None):
    port, env = ports.free(), environment(extra, preload)
    command = [*prefix, *command, "-p", port]
    ready = ports.bound if rdma_cm else ports.listening
    return run_both(command, [*command, "127.0.0.1" if rdma_cm else "localhost"], lambda: ready(port), env, env, late)
