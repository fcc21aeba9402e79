# Installs and uses the project as README.md tells a user. Sourced by tools/test.

# commands FILE TEXT: the block of shell commands that follows the first line with TEXT in a page.
commands() {
  sed -n "/$2/,\$p" "$1" | sed -n '/^```sh$/,/^```$/p' | sed '1d; /^```$/,$d'
}

# install_as_readme_says ROOT [CMAKE_OPTION...]: every command as printed, but for the prefix and more options of the first.
install_as_readme_says() {
  local root="$1" installing using
  shift
  rm -rf "$root"
  installing=$(commands README.md 'To install:$')
  using=$(commands libmrc/README.md 'With the library installed:$')
  [[ $installing == cmake* && $using == *pkg-config* ]] || { echo "README.md or libmrc/README.md has no commands to follow"; return 1; }
  installing=${installing/$'\n'/" $*"$'\n'}
  export PKG_CONFIG_PATH=$root/lib/pkgconfig
  bash -euxc "${installing//\/usr\/local/$root}" && bash -euxc "${using//\/usr\/local/$root}" &&
    use_installed "$root"
}

# The other parts, each by one run of a program.
use_installed() {
  local root="$1" program
  for program in "$root"/bin/* "$root"/sbin/*; do
    "$program" --version || return
  done
  LD_PRELOAD=$root/lib/libmrc-verbs.so ibv_devices | grep mrc0 &&
    "$root/bin/nccl-net-bench" "$root/lib/libnccl-net-mrc.so" --test all --ranks 2 --sizes 64K
}
