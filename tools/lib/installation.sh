# Installs and uses the project as README.md tells a user. Sourced by tools/test.

# commands FILE TEXT: the block of shell commands that follows the first line with TEXT in a page.
commands() {
  sed -n "/$2/,\$p" "$1" | sed -n '/^```sh$/,/^```$/p' | sed '1d; /^```$/,$d'
}

# install_as_readme_says ROOT [CMAKE_OPTION...]: every command as printed, but for the prefix and more options of the first. The
# prefix is a link without spaces to ROOT: LD_PRELOAD and the flags of pkg-config are words that spaces separate.
install_as_readme_says() {
  local root="$1" links prefix installing using status=0
  shift
  installing=$(commands README.md 'To install:$')
  using=$(commands libmrc/README.md 'With the library installed:$')
  [[ $installing == cmake* && $using == *pkg-config* ]] || { echo "README.md or libmrc/README.md has no commands to follow"; return 1; }
  installing=${installing/$'\n'/" $*"$'\n'}
  rm -rf "$root"
  mkdir -p "$root"
  links=$(mktemp -d) || return 1
  prefix=$links/root
  ln -s "$root" "$prefix"
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  { bash -euxc "${installing//\/usr\/local/$prefix}" && bash -euxc "${using//\/usr\/local/$prefix}" &&
    use_installed "$prefix"; } || status=1
  rm -r "$links"
  return "$status"
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
