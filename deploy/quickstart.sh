#!/usr/bin/env bash
# From a fresh Debian 12 machine to a table of ops/s: installs packages, builds
# the programs, starts a server that holds a real directory tree, and loads it.
# `deploy/quickstart.sh --help` tells the rest.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'EOF'
Usage: deploy/quickstart.sh [--seconds N] [--tree DIR] [--jobs N] [--bin DIR]

Installs the packages that are missing, builds vfsd, vfsload and vfsctl (release),
starts vfsd on ports that are free, on the loopback interface only, with a
directory tree of this machine, runs each load unary and batched, prints the
table, and cleans up after itself.

  --seconds N  how long each load is measured; default 3
  --tree DIR   the directory whose metadata is served; default /usr
  --jobs N     compile jobs at once; default the number of CPUs
  --bin DIR    take the programs in DIR; installs and builds nothing
  --help       this text

Exit status: 0 all loads ran without an error, 1 something failed, 2 usage.
EOF
}

bad_usage() {
  printf 'quickstart: %s\n\n' "$*" >&2
  usage >&2
  exit 2
}

say() { printf '\n== %s\n' "$*"; }

seconds=3
tree=/usr
jobs=$(nproc)
bin=
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --seconds | --tree | --jobs | --bin)
      [[ $# -ge 2 ]] || bad_usage "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    --seconds=*) seconds=${1#*=} ;;
    --tree=*) tree=${1#*=} ;;
    --jobs=*) jobs=${1#*=} ;;
    --bin=*) bin=${1#*=} ;;
    *) bad_usage "unknown argument $1" ;;
  esac
  shift
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || bad_usage "--seconds needs a number from 1, not '$seconds'"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || bad_usage "--jobs needs a number from 1, not '$jobs'"
[[ -d $tree ]] || bad_usage "--tree: no directory '$tree'"
[[ -z $bin || -x $bin/vfsd ]] || bad_usage "--bin: no program vfsd in '$bin'"

scenarios=(openro3 openneg fstat statx-null statx-path procread build)

if [[ -z $bin ]]; then
  say "packages: those of deploy/packages.txt [build] that are missing"
  "$root/deploy/install-packages.sh" build

  say "build: release, $jobs jobs (some minutes the first time)"
  bin=$root/build/release/bin
  cmake -S "$root" --preset release -DVFSD_BUILD_TESTS=OFF -DVFSD_BUILD_BENCHMARKS=OFF --log-level=WARNING \
    -DCMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER-$(command -v ccache || true)}"
  cmake --build "$root/build/release" --parallel "$jobs" --target vfsd vfsload vfsctl
fi

scratch=$(mktemp -d)
server=
finish() {
  local status=$?
  trap - EXIT INT TERM
  if [[ -n $server ]] && kill -TERM "$server" 2>/dev/null; then
    say "stopping the server"
    wait "$server" || { printf 'quickstart: the server ended with status %d\n' $? >&2; status=1; }
  fi
  if [[ $status -ne 0 && -s $scratch/server.log ]]; then
    printf '\nquickstart: failed; the end of the server'\''s log:\n' >&2
    tail -n 30 "$scratch/server.log" >&2
  fi
  rm -rf "$scratch"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "server: vfsd holds the metadata of $tree"
"$bin/vfsd" --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --import "$tree" \
  --ready-file "$scratch/ready.json" >"$scratch/server.log" 2>&1 &
server=$!
waited=0
until [[ -s $scratch/ready.json ]]; do
  if ! kill -0 "$server" 2>/dev/null; then
    server=
    printf 'quickstart: the server did not start\n' >&2
    exit 1
  fi
  if ((++waited > 1200)); then
    printf 'quickstart: the server is not ready after two minutes\n' >&2
    exit 1
  fi
  sleep 0.1
done
address=$(sed -n 's/.*"listen": *\["\([^"]*\)".*/\1/p' "$scratch/ready.json")
metrics=$(sed -n 's/.*"metrics": *"\([^"]*\)".*/\1/p' "$scratch/ready.json")
cat "$scratch/server.log"

say "load: ${#scenarios[@]} scenarios, unary and batched, $seconds s each"
arguments=()
for scenario in "${scenarios[@]}"; do arguments+=(--scenario "$scenario"); done
"$bin/vfsload" run --target "$address" --server-metrics "$metrics" "${arguments[@]}" \
  --batch 1,1000 --warmup 1s --duration "${seconds}s"

say "after the load"
exec 3<>"/dev/tcp/${metrics%:*}/${metrics##*:}"
printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
handles=$(sed -n 's/^vfs_open_handles \([0-9]*\).*/\1/p' <&3)
exec 3<&-
printf 'open handles: %s\n' "$handles"
if [[ $handles != 0 ]]; then
  printf 'quickstart: the load left handles open\n' >&2
  exit 1
fi
