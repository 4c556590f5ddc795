#!/usr/bin/env bash
# Builds vfsd's benchmarks and runs one suite; works on a fresh Debian 12
# machine and from any working directory. `tests/bench/run.sh --help` tells the
# rest.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

usage() {
  cat <<'EOT'
Usage: tests/bench/run.sh SUITE [--quick] [--no-install] [--no-instructions]

Installs the packages that are missing, builds the release preset, runs a suite
and prints, besides its details, one line a result:

  RATIO <name> <value> <op> <goal> <met|short>

Suites:
  core   the core in the process, against the local kernel (system calls on a
         private tmpfs), against a naive rival (maps and one mutex), and against
         itself with one fast path switched off; how it grows, and what a file
         takes of memory. CPU time an operation, in slices that take turns, on
         pinned threads; the median with a 95 % interval.
  wire   what the wire costs: single calls against an empty echo service, the
         time of one call in flight, batches in rows and columns against the
         local kernel and against the core in the process, each fast path on and
         off. Client and server on the same two processors.
  peers  the same questions asked of Redis, etcd and nfs-ganesha, set up as
         their documentation advises (tests/bench/peers).

  --quick            at most two minutes; leaves out what needs a tree of ten
                     million files (which takes 6 GB of memory)
  --no-install       do not look for missing packages
  --no-instructions  do not count instructions (by valgrind, a minute)
  --help             this text

Needs two processors. A mount namespace for the private tmpfs needs root or user
namespaces; without, a directory of /dev/shm serves. Environment:
CMAKE_CXX_COMPILER_LAUNCHER as for tests/run.sh. Exit status: 0 measured (short
of a goal or not), 1 an answer was wrong or something failed, 2 usage.
EOT
}

bad_usage() {
  printf 'tests/bench/run.sh: %s\n\n' "$*" >&2
  usage >&2
  exit 2
}

say() { printf '\n== %s\n' "$*"; }

suite=
install=true
instructions=true
arguments=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --quick) arguments+=(--quick) ;;
    --no-install) install=false ;;
    --no-instructions) instructions=false ;;
    -*) bad_usage "unknown option $1" ;;
    *)
      [[ -z $suite ]] || bad_usage "one suite at a time"
      suite=$1
      ;;
  esac
  shift
done
[[ -n $suite ]] || bad_usage "which suite?"
case $suite in
  core | wire | peers) ;;
  *) bad_usage "no suite '$suite'; there are: core wire peers" ;;
esac

if $install; then
  say "packages: build test bench"
  sections=(build test bench)
  [[ $suite == peers ]] && sections+=(peers)
  "$root/deploy/install-packages.sh" "${sections[@]}"
fi

cd "$root"
say "build: preset release"
launcher=${CMAKE_CXX_COMPILER_LAUNCHER-$(command -v ccache || true)}
cmake --preset release -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DVFSD_BUILD_BENCHMARKS=ON --log-level=WARNING
cmake --build build/release --parallel "$(nproc)" --target "${suite}_bench"
bench=$root/build/release/bin/${suite}_bench

# Instructions of one operation: the difference of a run of many operations and
# one of fewer, so that making the tree does not count.
count_instructions() {
  local scenario few many
  printf '%-12s %s\n' scenario instructions/operation
  for scenario in openro3 openneg fstat statx-null statx-path procread; do
    few=$(collected "$scenario" 10000)
    many=$(collected "$scenario" 20000)
    printf '%-12s %d\n' "$scenario" $(((many - few) / 10000))
  done
}

collected() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" --once "$1" --operations "$2" 2>&1 |
    sed -n 's/.*Collected : //p'
}

if [[ $suite == core ]] && $instructions; then
  say "instructions (callgrind)"
  count_instructions
fi

if [[ $suite == peers ]]; then
  say "versions"
  dpkg-query --show redis-server etcd-server nfs-ganesha nfs-ganesha-mem libnfs13 libhiredis0.14
fi

say "$suite"
"$bench" "${arguments[@]}"
