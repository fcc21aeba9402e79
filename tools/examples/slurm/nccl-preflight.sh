#!/usr/bin/env bash
# Slurm: checks the hosts of a job before it, and keeps bad ones out. In the batch script, before srun starts the job:
#
#   #SBATCH --nodes=16
#   tools/examples/slurm/nccl-preflight.sh || exit 1
#   srun torchrun ...
#
# Hosts that are named slow or unreachable are drained where the user may do that (DRAIN=yes), so that the job, submitted again,
# gets others.
set -u
plugin=${MRC_NCCL_PLUGIN:-mrc}
report=$(mktemp --suffix=.json nccl-preflight-XXXXXX --tmpdir) || exit 2
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | paste -sd,)

nccl-net-bench "$plugin" --hosts "$hosts" --sizes 64M --timeout 120 --json "$report" \
  --launch 'srun --overlap --nodes=1 --ntasks=1 --unbuffered --nodelist={host}'
code=$?
case $code in
  0) rm -f "$report"; exit 0 ;;
  3) echo "nccl-preflight: hosts differ, or one is slow under load: see $report" >&2; exit 0 ;;
  1) [[ -s $report ]] || { rm -f "$report"; exit 1; }; echo "nccl-preflight: see $report" >&2 ;;
  *) rm -f "$report"; echo "nccl-preflight: it could not run (exit code $code)" >&2; exit 2 ;;
esac
if [[ ${DRAIN:-no} == yes ]]; then
  # Findings quote what hosts have sent: a line each, and only of hosts of this job.
  python3 - "$report" "$hosts" <<'PY' | while read -r host why; do scontrol update NodeName="$host" State=DRAIN Reason="nccl-preflight: $why"; done
import json, sys
for finding in json.load(open(sys.argv[1], encoding="utf-8"))["findings"]:
    if finding["kind"] in ("slow host", "unreachable host"):
        host, _, why = finding["text"].splitlines()[0].partition(" ")
        if host in sys.argv[2].split(","):
            print(host, why)
PY
fi
exit "$code"
