#!/usr/bin/env bash
# Builds vfsd and runs its tests; works on a fresh Debian 12 machine and from
# any working directory. `tests/run.sh --help` tells the rest.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'EOF'
Usage: tests/run.sh [LABEL…] [--preset PRESET] [--jobs N] [--no-install]

Installs the packages that are missing, configures, builds, and runs the tests
that carry one of the labels. Without a label: all but those that are meant for
a night (differential-long, soak).

Labels: a test's label is the name of its folder under tests/:
  lint           include floors, formatting, proto style, scripts; builds nothing
  unit           one noun of the code each
  contract       the core's invariants, with object counts back at baseline
  differential   the core and the service against this machine's kernel
  stress         many threads, short
  fuzz           random input, short
  e2e            the real programs, and clients in other languages
  deploy         the image, the compose file, Prometheus and the dashboard
  docs           what the documentation says is what the programs do

  --preset PRESET  dev, release, asan-ubsan, tsan or clang of CMakePresets.json;
                   default release
  --jobs N         compile and test jobs at once; default the number of CPUs
  --no-install     do not look for missing packages
  --help           this text

Environment: CMAKE_CXX_COMPILER_LAUNCHER, the compiler's launcher; ccache if it
is not set and ccache is there. Exit status: 0 all passed, 1 something failed,
2 usage.
EOF
}

bad_usage() {
  printf 'tests/run.sh: %s\n\n' "$*" >&2
  usage >&2
  exit 2
}

say() { printf '\n== %s\n' "$*"; }

preset=release
jobs=$(nproc)
install=true
labels=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --preset) [[ $# -ge 2 ]] || bad_usage "--preset needs a name"; preset=$2; shift ;;
    --preset=*) preset=${1#*=} ;;
    --jobs) [[ $# -ge 2 ]] || bad_usage "--jobs needs a number"; jobs=$2; shift ;;
    --jobs=*) jobs=${1#*=} ;;
    --no-install) install=false ;;
    -*) bad_usage "unknown option $1" ;;
    *) labels+=("$1") ;;
  esac
  shift
done
case $preset in
  dev | release | asan-ubsan | tsan | clang) ;;
  *) bad_usage "no preset $preset" ;;
esac
[[ $jobs =~ ^[1-9][0-9]*$ ]] || bad_usage "--jobs needs a number, not '$jobs'"

wants() {
  [[ ${#labels[@]} -eq 0 ]] && return 0
  local label
  for label in "${labels[@]}"; do [[ $label == "$1" ]] && return 0; done
  return 1
}

if $install; then
  sections=(build test bench)
  [[ $preset == clang ]] && sections+=(clang)
  wants deploy && sections+=(containers)
  say "packages: ${sections[*]}"
  "$root/deploy/install-packages.sh" "${sections[@]}"
fi

launcher=${CMAKE_CXX_COMPILER_LAUNCHER-$(command -v ccache || true)}
cd "$root"

# Nobody measures a sanitizer.
benchmarks=ON
[[ $preset == asan-ubsan || $preset == tsan ]] && benchmarks=OFF

say "configure: preset $preset"
cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DVFSD_BUILD_TESTS=ON \
  -DVFSD_BUILD_BENCHMARKS=$benchmarks --log-level=WARNING
build=$root/build/$preset

filter=(--label-exclude '^(differential-long|soak)$')
if [[ ${#labels[@]} -gt 0 ]]; then
  known=$(ctest --test-dir "$build" --print-labels | sed -n 's/^  \([a-z].*\)$/\1/p')
  for label in "${labels[@]}"; do
    grep -qxF -- "$label" <<<"$known" ||
      bad_usage "no test carries the label '$label'; there are: $(tr '\n' ' ' <<<"$known")"
  done
  filter=(--label-regex "^($(IFS='|'; printf '%s' "${labels[*]}"))\$")
fi

needs_build=false
for label in "${labels[@]-any}"; do
  [[ $label == lint ]] || needs_build=true
done
if $needs_build; then
  say "build: $jobs jobs"
  cmake --build "$build" --parallel "$jobs"
fi

# A sanitizer's finding is a failure, not a line in a log.
export ASAN_OPTIONS=${ASAN_OPTIONS-detect_stack_use_after_return=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1:halt_on_error=1}
export TSAN_OPTIONS=${TSAN_OPTIONS-halt_on_error=1:second_deadlock_stack=1}
ctest=(ctest)
# GCC 12's ThreadSanitizer cannot map its shadow where the kernel randomizes
# addresses by more than 28 bits.
if [[ $preset == tsan && $(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0) -gt 28 ]]; then
  ctest=(setarch "$(uname -m)" --addr-no-randomize ctest)
fi

say "test: preset $preset, labels ${labels[*]:-all but differential-long and soak}"
status=0
"${ctest[@]}" --test-dir "$build" "${filter[@]}" --output-on-failure --no-tests=error --parallel "$jobs" || status=1
exit "$status"
