"""The lab that stands around this program: `mrc-fabric run FABRIC -- PROGRAM` has built it, puts its name in MRC_LAB, and
removes it when this program ends, however it ends."""
import json
import os
import subprocess

LIMIT_S = 30
OF_THE_LAB = ("MRC_LAB", "MRC_LAB_DIR")


def environment(settings=None):
    """For programs on the lab's hosts: this program's environment with `settings` as the only ones of MRC. `mrc-fabric exec` names a host's
    configuration in MRC_CONFIG only where that is not set, and tools/bench and tools/demo set it to /dev/null."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MRC_") or name in OF_THE_LAB}
    return own | (settings or {})


class Fabric:
    def __init__(self, program):
        self.program, self.name = program, os.environ["MRC_LAB"]

    def inside(self, node):
        """The words before a command that is to run on that host or switch."""
        return [self.program, "exec", "--lab", self.name, node, "--"]

    def fault(self, *words):
        self._run("fault", *words)

    def status(self):
        return json.loads(self._run("status", "--json"))

    def _run(self, command, *words):
        done = subprocess.run([self.program, command, "--lab", self.name, *words], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"mrc-fabric {command} {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout
