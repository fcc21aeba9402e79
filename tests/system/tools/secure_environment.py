"""A program with privileges that its user has not takes no configuration, library or file from that user's environment:
libmrc, the shim and the plugin, in a set-gid program and in one with file capabilities."""
import os
import shutil
import struct

import built
import files
import process
import skip
from environment import clean

NOBODY = 65534
CAP_NET_BIND_SERVICE = 10

def run(program, kind, library, as_nobody=False, **variables):
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if as_nobody else {}
    ran = process.run([program, kind, library], clean(variables, ("MRC_", "NCCL_")), code=None, **other)
    return ran.stdout.strip(), ran.stderr


def set_gid():
    """The probe with a group that we are in, or as root any, and the bit: None where that does not make it secure."""
    copy = shutil.copy(built.path("PROBE"), files.at("set-gid"))
    groups = [NOBODY] if os.geteuid() == 0 else [g for g in os.getgroups() if g != os.getgid()]
    if not groups:
        return None
    os.chown(copy, -1, groups[0])
    os.chmod(copy, 0o2755)
    return copy if run(copy, "device", built.path("LIBMRC"))[0].startswith("secure=1") else None


def with_capability():
    if os.geteuid() != 0:
        return None
    copy = shutil.copy(built.path("PROBE"), files.at("capable"))
    os.chmod(copy, 0o755)
    effective, revision = 1, 0x02000000
    try:
        os.setxattr(copy, "security.capability", struct.pack("<5I", revision | effective, 1 << CAP_NET_BIND_SERVICE, 0, 0, 0))
        return copy if run(copy, "device", built.path("LIBMRC"), as_nobody=True)[0] == "secure=1 device" else None
    except OSError:
        return None


def check(program, as_nobody):
    """`program` is secure; the plain probe shows that each variable does something where it is trusted."""
    probe, libmrc, shim, plugin = map(built.path, ("PROBE", "LIBMRC", "SHIM", "PLUGIN"))
    refused = files.write("refused.yaml", "devices: 17\n")
    os.chmod(refused, 0o644)
    for kind, library, variable, value in (("device", libmrc, "MRC_CONFIG", refused), ("verbs", shim, "MRC_CONFIG", refused),
                                           ("plugin", plugin, "MRC_CONFIG", refused), ("device", libmrc, "MRC_MTU", "777"),
                                           ("verbs", shim, "MRC_PROVIDER", "/nonexistent.so"),
                                           ("plugin", plugin, "MRC_PROVIDER", "/nonexistent.so")):
        plain, _ = run(probe, kind, library, **{variable: value})
        assert plain == "secure=0 none", (kind, variable, plain)
        secure, said = run(program, kind, library, as_nobody, **{variable: value})
        assert secure == "secure=1 device", (kind, variable, secure, said)
        # A message explains why the variable has no effect.
        assert "ignored" in said and variable in said or kind == "verbs", (kind, variable, said)
    trace = files.at("trace")
    run(program, "device", libmrc, as_nobody, MRC_TRACE=trace)
    assert not os.path.exists(trace), "a variable made a privileged program write a file"
    run(probe, "device", libmrc, MRC_TRACE=trace)
    assert os.path.exists(trace), "MRC_TRACE has no effect at all"
    os.unlink(trace)


def test_secure_environment():
    os.chmod(files.at(), 0o777)  # for what the probe writes as another user
    done = []
    program = set_gid()
    if program:
        check(program, False)
        done.append("set-gid")
    program = with_capability()
    if program:
        check(program, True)
        done.append("file capabilities")
    print("checked:", ", ".join(done) or "nothing")
    skip.need(done, "the file system of temporary files ignores set-gid bits and capabilities, or this user may not set them")
