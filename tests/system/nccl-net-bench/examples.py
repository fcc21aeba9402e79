"""The examples of a preflight for Slurm and Kubernetes, with stand-ins for the programs of both.

usage: examples.py NCCL_NET_BENCH PLUGIN
"""
import os
import pathlib
import sys
import tempfile

import process
from limits import limit

bench, plugin = sys.argv[1:]
EXAMPLES = pathlib.Path(__file__).parents[3] / "tools/examples"

STAND_INS = {
    # The last option names the host; what follows is the program.
    "srun": """#!/bin/sh
while case $1 in --nodelist=*) host=${1#--nodelist=};; --*) :;; *) false;; esac; do shift; done
[ "$host" != "$DEAD" ] || exit 1
exec "$@"
""",
    "scontrol": """#!/bin/sh
case $1 in show) printf 'n1\\nn2\\nn3\\n';; update) echo "$@" >> "$RECORD";; esac
""",
    "kubectl": """#!/bin/sh
case $1 in
  get) echo "$@" >> "$RECORD"; for i in $(seq 16); do echo "pod/training-$i"; done;;
  exec) [ "$2 $4" = "-i --" ] || exit 1; [ "$3" != "$DEAD" ] || exit 1; shift 4; exec "$@";;
esac
""",
    "torchrun": """#!/bin/sh
echo "$@" >> "$RECORD"
""",
}


def run(words, **variables):
    """(exit code, output, what the stand-ins recorded)"""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in STAND_INS.items():
            path = pathlib.Path(folder, name)
            path.write_text(text)
            path.chmod(0o755)
        # Small and without the paths of a real device: what is tested is the script.
        small = pathlib.Path(folder, "nccl-net-bench")
        small.write_text(f"""#!/bin/sh
shift
for word; do
  shift
  [ "$word" != 64M ] || word=96K
  set -- "$@" "$word"
done
exec {bench} {plugin} "$@" -n 1 --env NCCL_SOCKET_IFNAME=lo
""")
        small.chmod(0o755)
        record = pathlib.Path(folder, "record")
        record.touch()
        env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "RECORD": str(record), "TMPDIR": folder, "DEAD": "", **variables}
        done = process.run(words, env, code=None, limit_s=limit(250))
        return done.returncode, done.stdout + done.stderr, record.read_text()


def container_script():
    lines = (EXAMPLES / "kubernetes" / "nccl-preflight.yaml").read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.strip() == "- |") + 1
    return "\n".join(line[14:] for line in lines[begin:])


SLURM = [str(EXAMPLES / "slurm" / "nccl-preflight.sh")]
code, text, record = run(SLURM, SLURM_JOB_NODELIST="n[1-3]")
# Hosts that share two processors may differ by more than hosts of a job should.
assert (code == 0 and ("all hosts and paths are well" in text or "slow under load" in text)) or (code == 1 and "slow " in text), (code, text)
assert record == "", record
code, text, record = run(SLURM, SLURM_JOB_NODELIST="n[1-3]", DEAD="n2")
assert (code, record) == (1, "") and "unreachable host: n2" in text, (code, text, record)
code, text, record = run(SLURM, SLURM_JOB_NODELIST="n[1-3]", DEAD="n2", DRAIN="yes")
assert code == 1 and record.startswith("update NodeName=n2 State=DRAIN Reason=nccl-preflight: exited with 1"), (code, text, record)
assert record.count("NodeName") == 1, record

KUBERNETES = ["bash", "-c", container_script()]
code, text, record = run(KUBERNETES, JOB_COMPLETION_INDEX="3")
assert (code, record) == (0, "--nnodes=16 --node-rank=3 --master-addr=training-0.training train.py\n"), (code, text, record)
code, text, record = run(KUBERNETES, JOB_COMPLETION_INDEX="0")
assert "16 ranks" in text and (record.endswith("--nnodes=16 --node-rank=0 --master-addr=training-0.training train.py\n") if code == 0 else "slow " in text), (code, text, record)
code, text, record = run(KUBERNETES, JOB_COMPLETION_INDEX="0", DEAD="training-7")
assert code == 1 and "train.py" not in record and "unreachable host: training-7" in text, (code, text, record)
