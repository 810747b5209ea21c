#!/usr/bin/env bash
# tools/system.sh PACKAGE…: make sure that system packages (git, bubblewrap, postgresql, iproute2, less, podman, runc …) are installed.
# Missing ones are installed with apt-get; where that is not possible, the script says in one line what to install, and exits with 1.
set -euo pipefail

installed() {
  case "$1" in
    bubblewrap) command -v bwrap ;;
    iproute2) command -v ip || command -v /sbin/ip ;;
    libgomp1) "${PYTHON:-python3}" -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' ;;
    postgresql) command -v initdb || compgen -G "/usr/lib/postgresql/*/bin/initdb" ;;
    python3-venv) "${PYTHON:-python3}" -c 'import venv, ensurepip; ensurepip.version()' ;;
    *) command -v "$1" ;;
  esac >/dev/null 2>&1
}

missing=()
for package in "$@"; do installed "$package" || missing+=("$package"); done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
if command -v apt-get >/dev/null 2>&1 && "${as_root[@]}" true >/dev/null 2>&1; then
  echo "installing ${missing[*]} (apt-get)" >&2
  export DEBIAN_FRONTEND=noninteractive
  if "${as_root[@]}" apt-get update -q >/dev/null && "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null; then
    exit 0
  fi
fi
echo "missing system packages: ${missing[*]} → install them with your package manager (Debian, Ubuntu: sudo apt install ${missing[*]})" >&2
exit 1
