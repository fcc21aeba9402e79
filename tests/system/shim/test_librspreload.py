"""An ordinary TCP program whose sockets librspreload makes rsockets, unmodified: NetPIPE, which compares each message."""
import glob

import built
import files
import ports
import session
from skip import need, need_program


def test_netpipe_runs_over_rsockets():
    """The server's port is no port of TCP, so that a client that went back to TCP would be refused."""
    need_program("NPtcp", "netpipe-tcp")
    libraries = glob.glob("/usr/lib/*/rsocket/librspreload.so")
    need(libraries, "librspreload.so is missing (apt-get install librdmacm1)")
    port = ports.free()
    command = ["NPtcp", "-i", "-n", "20", "-u", "1048576", "-P", port, "-o", files.at("np.out")]
    env = session.environment(preload=(session.RUNTIME, libraries[0], built.path("SHIM")))

    def ready():
        assert not ports.listening(port), "NetPIPE listens on TCP"
        return ports.bound(port)

    server, client = session.run_both(command, [*command, "-h", "127.0.0.1"], ready, env, env)
    both = f"{client}\n{server}"
    assert (client.code, server.code) == (0, 0), both
    assert "Integrity check passed" in client.out and "524289 bytes" in client.out, both
    assert "failed" not in both and "Sanitizer" not in both, both
