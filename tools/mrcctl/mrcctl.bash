# Completion of mrcctl for bash: commands and options, as its own help lists them.
_mrcctl() {
  local word words=() current="${COMP_WORDS[COMP_CWORD]}"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ "$word" == -* ]] || words+=("$word")
  done
  # A word that is an argument ends the descent through the commands.
  local help
  while help=$("${COMP_WORDS[0]}" "${words[@]}" --help 2>/dev/null); [[ -z "$help" && ${#words[@]} -gt 0 ]]; do
    unset 'words[-1]'
  done
  local commands options
  commands=$(sed -n '/^Subcommands:/,$ s/^  \([a-z][a-z-]*\) .*/\1/p' <<< "$help")
  options=$(grep -oE -- '(^|[ ,])--[a-z][a-z-]*' <<< "$help" | tr -d ' ,')
  case "${COMP_WORDS[COMP_CWORD-1]}" in
    create|modify|expand|--socket) compopt -o default 2>/dev/null; return ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$commands $options" -- "$current")
}
complete -F _mrcctl mrcctl
