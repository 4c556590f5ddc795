#!/usr/bin/env bash
# Installs the Debian packages that vfsd needs, from deploy/packages.txt.
#
# Asks dpkg first and calls apt-get for what is missing only, so it costs
# nothing once everything is there and needs no rights then. Daemons that come
# with a package (Prometheus) are installed but not started.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=$here/packages.txt

sections_of_list() { sed -n 's/^\[\(.*\)\]$/\1/p' "$list"; }

usage() {
  cat <<EOF
Usage: deploy/install-packages.sh [--list] [SECTION…]

Installs the packages of the named sections of deploy/packages.txt (without a
name: build). Sections: $(sections_of_list | tr '\n' ' ')

  --list   print the packages of the sections, one a line, and install nothing
  --help   this text

Exit status: 0 all are installed, 1 they could not be installed, 2 usage.
EOF
}

fail() {
  printf 'install-packages: %s\n' "$*" >&2
  exit 1
}

only_list=false
sections=()
for argument in "$@"; do
  case $argument in
    --help | -h) usage; exit 0 ;;
    --list) only_list=true ;;
    -*)
      printf 'install-packages: unknown option %s\n\n' "$argument" >&2
      usage >&2
      exit 2
      ;;
    *)
      if ! sections_of_list | grep -qxF -- "$argument"; then
        printf 'install-packages: no section [%s] in %s\n\n' "$argument" "$list" >&2
        usage >&2
        exit 2
      fi
      sections+=("$argument")
      ;;
  esac
done
[[ ${#sections[@]} -gt 0 ]] || sections=(build)

# Lines are PACKAGE, or PACKAGE (COMMAND): where the command is there, however it
# came, the package counts as installed.
packages=()
declare -A command_of=()
for section in "${sections[@]}"; do
  while read -r package command; do
    packages+=("$package")
    command=${command#(}
    [[ -z $command ]] || command_of[$package]=${command%)}
  done < <(
    awk -v want="[$section]" '
      /^\[/ { in_section = ($0 == want); next }
      in_section && NF && $1 !~ /^#/ { print $1, $2 }' "$list")
done

if $only_list; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  fail "this machine has no dpkg and apt-get; vfsd is built on Debian 12 (bookworm).
Elsewhere, use the container image: deploy/compose.yaml"
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=()
for package in "${packages[@]}"; do
  [[ -n ${command_of[$package]-} ]] && command -v "${command_of[$package]}" >/dev/null && continue
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null ||
    fail "not root and no sudo; as root, run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

printf 'install-packages: installing %d missing of [%s]: %s\n' \
  "${#missing[@]}" "${sections[*]}" "${missing[*]}" >&2

# policy-rc.d is Debian's way to say that an installation must start no daemon.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi

log=$(mktemp)
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
    --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    "${missing[@]}" >"$log" 2>&1
}
# The package lists of a fresh machine are absent or stale; on others the
# download of new ones is time lost.
if ! install; then
  "${as_root[@]}" apt-get update -q -o Acquire::Retries=3 >>"$log" 2>&1 || true
  if ! install; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: ${missing[*]}"
  fi
fi
rm -f "$log"
