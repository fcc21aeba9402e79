"""Ordinary TCP programs, unmodified, under librspreload: NetPIPE, which compares each message, over rsockets; Python, whose sockets
stay with TCP."""
import glob
import http.client
import sys

import built
import files
import ports
import session
from limits import LIMIT_S
from skip import need, need_program


def environment():
    """librspreload before the shim."""
    libraries = glob.glob("/usr/lib/*/rsocket/librspreload.so")
    need(libraries, "librspreload.so is missing (apt-get install librdmacm1)")
    return session.environment(preload=(session.RUNTIME, libraries[0], built.path("SHIM")))


def test_netpipe_runs_over_rsockets():
    """The server's port is no port of TCP, so that a client that went back to TCP would be refused."""
    need_program("NPtcp", "netpipe-tcp")
    port, env = ports.free(), environment()
    command = ["NPtcp", "-i", "-n", "20", "-u", "1048576", "-P", port, "-o", files.at("np.out")]

    def ready():
        assert not ports.listening(port), "NetPIPE listens on TCP"
        return ports.bound(port)

    server, client = session.run_both(command, [*command, "-h", "127.0.0.1"], ready, env, env)
    both = f"{client}\n{server}"
    assert (client.code, server.code) == (0, 0), both
    assert "Integrity check passed" in client.out and "524289 bytes" in client.out, both
    assert "failed" not in both and "Sanitizer" not in both, both


def test_python_keeps_to_tcp():
    """It asks for SOCK_CLOEXEC beside SOCK_STREAM, a type that rsockets do not have: librspreload then asks the kernel."""
    port = ports.free()
    files.write("page", "by TCP")
    with session.Program([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", files.at(), port], environment()) as server:
        session.until_ready(lambda: ports.listening(port), server)
        assert not ports.bound(port), f"it listens by rdma_cm: {server}"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        connection.request("GET", "/page")
        assert connection.getresponse().read() == b"by TCP", server
