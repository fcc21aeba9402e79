# Sourced by the scripts in tools/.

# forget_settings [NAME...]: what follows is not steered by what the caller's shell or this host is set to, but for these.
forget_settings() {
  local name
  for name in $(compgen -A export | grep -E '^(MRC|GTEST|TEST|NCCL)_' || true); do
    [[ " $* " == *" $name "* ]] || unset "$name"
  done
  export MRC_CONFIG=/dev/null
}
