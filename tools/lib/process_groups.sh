# Ends what a script has started when it ends itself, by a signal too. Sourced by tools/test.

attended_group=''     # the process group that the script waits for
declare -A ahead=()   # those of builds beside tests, by preset

# attended COMMAND...: runs a command or function in a process group of its own and waits for it. Bash runs no trap while it waits
# for a process in the foreground, but does while it waits for one in the background.
attended() {
  local status=0
  set -m
  "$@" &
  set +m
  attended_group=$!
  wait "$attended_group" || status=$?
  attended_group=''
  return "$status"
}

# SIGTERM first, so that ninja and compilers remove what is half written. The first process of a test's world (tests/harness/world)
# does not end by it.
end_started() {
  trap '' HUP INT TERM
  local group tenths=0 groups=(${attended_group:+"$attended_group"} "${ahead[@]}")
  [[ ${#groups[@]} -gt 0 ]] || return 0
  for group in "${groups[@]}"; do kill -- "-$group" 2>/dev/null || true; done
  while pgrep -g "$(IFS=,; echo "${groups[*]}")" -r D,R,S,T >/dev/null && ((tenths++ < 20)); do sleep 0.1; done  # zombies have ended
  for group in "${groups[@]}"; do kill -KILL -- "-$group" 2>/dev/null || true; done
}
trap end_started EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
