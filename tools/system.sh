#!/usr/bin/env bash
# What the tests need of the machine besides Python: found, or installed from Debian's packages, or asked for loudly.
set -euo pipefail

missing=()
have() { command -v "$1" >/dev/null 2>&1 || compgen -G "$2" >/dev/null 2>&1; }
have git "/usr/bin/git" || missing+=(git)
have bwrap "/usr/bin/bwrap" || missing+=(bubblewrap)
have initdb "/usr/lib/postgresql/*/bin/initdb" || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
if command -v apt-get >/dev/null 2>&1; then
  echo "installing ${missing[*]} (apt-get)" >&2
  export DEBIAN_FRONTEND=noninteractive
  if "${as_root[@]}" apt-get update -q >/dev/null && "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null; then
    exit 0
  fi
fi
echo "the tests need: ${missing[*]}" >&2
echo "  → install them with this machine's package manager, then run this again" >&2
exit 1
