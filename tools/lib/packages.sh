# The one list of Debian packages this project needs, and how to install those that are missing.
#
# Sourced by tools/test, tools/demo and tools/bench, which then call: need_packages GROUP...
# Groups: build (compile the library and the tools), test (compile and run the tests), fuzz (the libFuzzer targets),
# long (what only `tools/test --long` runs), bench (what only the benchmark needs), lab (network namespaces).
# Everything comes from Debian 12 (bookworm) main.

# package | groups | what for
readonly MRC_PACKAGES='
cmake             | build       | configures the build, 3.25 or newer
ninja-build       | build       | runs it
g++               | build       | compiler, 12 or newer
libc6-dev         | build       | C headers
pkg-config        | build       | finds ISA-L
libabsl-dev       | build       | containers and spans
libisal-dev       | build       | the ICRC polynomial at memory speed
libyaml-cpp-dev   | build       | configuration files
nlohmann-json3-dev| build       | reports
libcli11-dev      | build       | command lines
libboost-dev      | build       | Asio and Beast: sockets, timers and the web page of mrcd
prometheus-cpp-dev| build       | metrics of mrcd
libspdlog-dev     | build       | log of mrcd
libibverbs-dev    | build       | infiniband/verbs.h
libdpdk-dev       | test bench  | the DPDK datapath, which is left out without it
ns3               | test        | simulator: ns-3 and its CMake package
libns3-dev        | test        | its headers
libgsl-dev        | test        | the CMake package of ns-3 names it
openmpi-bin       | test bench  | mpirun, which shares a sweep of the simulator and runs MPI over the shim
libopenmpi-dev    | test bench  | compiles an MPI program for it
mpich             | test bench  | another MPI over the shim
libmpich-dev      | test bench  | compiles for that
libgtest-dev      | test        | unit tests
libgmock-dev      | test        | their matchers
python3           | build test  | tests of two processes, style test, ABI test
git               | test bench  | lists the files that the style test looks at; other revisions to compare with
binutils          | test        | lists the exported symbols
iproute2          | test bench lab | namespaces and veth pairs
ibverbs-utils     | test        | verbs programs over the shim: ibv_devinfo, ibv_*_pingpong
perftest          | test bench  | verbs programs over the shim: ib_write_bw and its kin
ucx-utils         | test        | ucx_perftest over the shim
libucx-dev        | test        | its example ucp_client_server over the shim
fio               | test        | its RDMA engine over the shim
qemu-system-x86   | test        | the migration of a machine by RDMA over the shim
rdmacm-utils      | test        | rdma_cm programs over the shim: rping, ucmatose, rstream
qperf             | test        | qperf over the shim by rdma_cm
infiniband-diags  | test        | ibstat over the shim
hwloc-nox         | test        | lstopo over the shim
frr               | test        | reads and runs the static routes that mrc-fabric renders for it
python3-pyverbs   | test        | conformance of the shim, verb by verb
chromium          | test        | the web page of mrcd in a real browser
tshark            | test        | runs the Wireshark dissector over golden and captured packets
clang-format-14   | test        | checks the layout of sources (tests/facts/style)
clang-14          | fuzz        | compiler with libFuzzer and the analysis of locks
libclang-rt-14-dev| fuzz        | its run-time libraries
llvm-14           | fuzz        | readable stacks in reports
clang-tidy-14     | long        | static analysis of the whole tree (tools/dev/tidy)
hpcc              | long        | HPC Challenge over the shim
netpipe-openmpi   | long        | NetPIPE over the shim, by Open MPI
netpipe-mpich2    | long        | by MPICH
netpipe-tcp       | long        | by TCP, whose sockets librspreload takes over
netbase           | long        | /etc/protocols, for that
prometheus        | long        | promtool: reads the alert rules and runs their test
nftables          | test bench  | random loss: a gray link for the monitor, and under one TCP stream
libfabric-bin     | test        | fi_* over the shim
'

say() { printf '%s\n' "== $*"; }
die() { printf '%s\n' "$0: $*" >&2; exit 1; }

# Names of the packages of the given groups that are not installed.
missing_packages() {
  local name groups purpose group
  while IFS='|' read -r name groups purpose; do
    name="${name// /}"
    [[ -n "$name" ]] || continue
    for group in "$@"; do
      if [[ " $groups " == *" $group "* ]]; then
        dpkg-query -W -f='${db:Status-Abbrev}' "$name" 2>/dev/null | grep -q '^.i' || printf '%s\n' "$name"
        break
      fi
    done
  done <<< "$MRC_PACKAGES"
}

# Runs a command as root, or prints the command that a user with the rights has to run.
as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  elif command -v sudo >/dev/null && [[ -t 0 ]]; then
    sudo "$@"
  else
    return 77
  fi
}

# need_packages GROUP...: installs and reports missing packages, or fails with the command to run.
need_packages() {
  command -v dpkg-query >/dev/null || { say "Not a Debian system: packages are not checked (tools/lib/packages.sh lists them)"; return 0; }
  local missing log
  mapfile -t missing < <(missing_packages "$@")
  if [[ ${#missing[@]} -eq 0 ]]; then
    say "Packages: all that are needed for '$*' are installed"
    return 0
  fi
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  log=$(mktemp)
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120)
  local status=0
  as_root "${apt[@]}" install --no-install-recommends "${missing[@]}" >"$log" 2>&1 </dev/null || status=$?
  if [[ $status -ne 0 && $status -ne 77 ]]; then
    # Usually the package lists are missing or old, as on a fresh machine.
    status=0
    { as_root "${apt[@]}" update && as_root "${apt[@]}" install --no-install-recommends "${missing[@]}"; } \
      >>"$log" 2>&1 </dev/null || status=$?
  fi
  if [[ $status -eq 77 ]]; then
    rm -f "$log"
    die "packages are missing and this user may not install them (neither root nor sudo). Ask somebody who may to run:
  apt-get update && apt-get install -y ${missing[*]}"
  elif [[ $status -ne 0 ]]; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "apt-get failed (above). Needed: ${missing[*]}"
  fi
  rm -f "$log"
  say "Installed: ${missing[*]}"
}

# quietly LOG WHAT COMMAND...: runs with output to LOG, and shows the end of it when the command fails.
quietly() {
  local log="$1" what="$2" start=$SECONDS
  shift 2
  mkdir -p "$(dirname "$log")"
  if "$@" >"$log" 2>&1 </dev/null; then
    say "$what: done in $((SECONDS - start)) s"
    return 0
  fi
  say "$what: FAILED after $((SECONDS - start)) s; the end of $log:"
  tail -n 60 "$log"
  return 1
}
