# Runs and judges the tests of a build. Sourced by tools/test, which has what is selected in `selected`, `filter` and `area`, and the
# result in `passed`, `skipped`, `failed` and `flaky`.
#
# A run of ctest leaves LOG, what it printed; LOG.xml, its results; LOG.status, its exit status; LOG.listed, the tests that had to run,
# and LOG.failed, those that failed, with the reason (tools/lib/test_summary.py).

readonly kMaxFlaky=3
builds_tested=()    # presets
tests_selected=no   # whether any of these has a test that is selected
tests_passed=no     # whether one of those has passed

summary() { python3 -B tools/lib/test_summary.py "$@"; }

# selected_tests PRESET [ctest arguments]: a line "NAME<TAB>KIND" for each.
selected_tests() {
  ctest --test-dir "build/$1" "${selected[@]}" "${@:2}" --show-only=json-v1 | summary --list
}

# run_tests PRESET LOG [ctest arguments]: LOG.listed is there already. All output goes into the results, because it is judged.
# Tests count in half processors.
run_tests() {
  local preset="$1" log="$2" status=0
  shift 2
  rm -f "$log" "$log".{xml,status,failed}
  attended ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --output-junit "$PWD/$log.xml" \
    --test-output-size-passed 100000000 --test-output-size-failed 100000000 "${selected[@]}" "$@" >"$log" 2>&1 </dev/null || status=$?
  echo "$status" >"$log.status"
}

# failures LOG [FIRST]: writes LOG.failed. That there is no verdict is a failure. Fails where it cannot be written.
failures() {
  summary "$1" --failed "${@:2}" >"$1.failed" || printf 'ctest\tits results cannot be judged\n' >>"$1.failed"
}

count() {  # count LOG: adds a run's cases to `passed` and `skipped`, and prints why some were skipped
  local counts
  counts=$(summary "$1") || return 0
  head -n -1 <<<"$counts"
  [[ ${counts##*$'\n'} =~ ^([0-9]+)\ passed,\ [0-9]+\ failed,\ ([0-9]+)\ skipped$ ]]
  passed=$((passed + BASH_REMATCH[1])) skipped=$((skipped + BASH_REMATCH[2]))
}

show_failures() {  # show_failures LOG [LINES]
  grep -E -A40 '^(==[0-9]+==ERROR|WARNING: ThreadSanitizer|.*runtime error:)|\[  FAILED  \]|\*\*\*(Failed|Timeout|Exception)' "$1" |
    head -n "${2:-120}" || true
}

# run_again PRESET NAME: once more, alone. It fails, too, when what failed at first is skipped now; the reason is then in `why`.
run_again() {
  local preset="$1" name="$2" again
  again="$logs/again-$preset-${name//[^A-Za-z0-9_.-]/-}"
  awk -F '\t' -v OFS='\t' 'BEGIN { name = ARGV[1]; delete ARGV[1] } $1 == name' "$name" "$logs/ctest-$preset.listed" >"$again.listed"
  run_tests "$preset" "$again" -j1 -R "^$(sed 's/[][().*+?^$|\\]/\\&/g' <<<"$name")\$"
  if ! failures "$again" "$logs/ctest-$preset" || [[ ! -f $again.failed ]]; then
    why="its second run cannot be judged"
    return 1
  fi
  if [[ -s $again.failed ]]; then
    IFS=$'\t' read -r _ why <"$again.failed"
    show_failures "$again" 60
    return 1
  fi
  count "$again"
}

# test_build PRESET: runs the selected tests of that build, and those of the system tier that fail a second time.
test_build() {
  local preset="$1" log="$logs/ctest-$1" start=$SECONDS before=$passed before_skipped=$skipped line lines name why system
  builds_tested+=("$preset")
  selected_tests "$preset" ${filter:+-R "$filter"} >"$log.listed" || { failed+=("$preset ctest -N"); return; }
  if [[ ! -s $log.listed ]]; then
    say "Tests ($preset): this build has none of those selected"
    [[ -n $filter$area ]] || failed+=("$preset has no tests")
    return
  fi
  tests_selected=yes
  if compgen -G "build/$preset/CTestCustom.*" >/dev/null; then
    failed+=("build/$preset/CTestCustom.*, which may leave out tests")
    return
  fi
  run_tests "$preset" "$log" -j$((2 * jobs)) ${filter:+-R "$filter"}
  count "$log"
  failures "$log"
  mapfile -t lines <"$log.failed"
  if [[ ${#lines[@]} -gt 0 ]]; then
    say "Failed at first ($preset); from $log:"
    printf '%s\n' "${lines[@]}"
    show_failures "$log"
    ! grep -q '^ctest'$'\t' "$log.failed" || tail -n 20 "$log"
    system=$(selected_tests "$preset" -L system | cut -f 1)
  fi
  for line in "${lines[@]}"; do
    IFS=$'\t' read -r name why <<<"$line"
    if [[ $why == failed && ${#lines[@]} -le $((2 * kMaxFlaky)) ]] && grep -qxF -- "$name" <<<"$system" && run_again "$preset" "$name"; then
      flaky+=("$preset $name")
      say "flaky: $name, first failure: $(summary "$log" --cause "$name")"
    else
      failed+=("$preset $name")
      [[ $why == failed ]] || say "Failed: $name: $why"
    fi
  done
  [[ $passed -eq $before ]] || tests_passed=yes
  [[ $passed -gt $before || ${#lines[@]} -gt 0 || -n $filter$area ]] || failed+=("no test of $preset ran: all were skipped")
  say "Tests ($preset): $((passed - before)) passed, $((skipped - before_skipped)) skipped in $((SECONDS - start)) s"
}

# A build may have none of the selected tests, or skip all of them, but not every build.
need_selected_tests() {
  [[ ${#builds_tested[@]} -eq 0 || $tests_selected == no || $tests_passed == yes || ${#failed[@]} -gt 0 ]] ||
    failed+=("no test of ${builds_tested[*]} ran: all were skipped")
  [[ ${#builds_tested[@]} -eq 0 || $tests_selected == yes || ${#failed[@]} -gt 0 ]] ||
    failed+=("no test of ${builds_tested[*]} is selected by${filter:+ --filter '$filter'}${area:+ --area $area}")
}
