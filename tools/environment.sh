#!/usr/bin/env bash
# tools/environment.sh VENV SET: install a set of requirements (demo, tests or docs) into the environment VENV, which is created if
# it is missing. PYTHON is the Python to create it with.
set -euo pipefail
cd "$(dirname "$0")/.."
venv="$1" python="${PYTHON:-python3}"
case "$2" in # ready: the sets that are installed afterwards
  demo) extra=local ready=(demo) purpose="the demo" ;;
  tests) extra=tests ready=(demo tests) purpose="the tests" ;;
  docs) extra=docs ready=(docs) purpose="the website and the benchmarks" ;;
  *) exit 2 ;;
esac

trap 'echo "stopped; run make again to continue" >&2; exit 130' INT

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

version="$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)" ||
  fail "Demeanor needs Python 3.11 or newer: $python does not start" "  → install it, or name another one: make PYTHON=python3.12 …"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "Demeanor needs Python 3.11 or newer: $python is Python $version" "  → name another one: make PYTHON=python3.12 …"

if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  PYTHON="$python" tools/system.sh python3-venv || exit 1 # Debian has venv in a package of its own
  rebuild=()
  [ ! -e "$venv/pyvenv.cfg" ] || rebuild=(--clear)
  "$python" -m venv "${rebuild[@]}" "$venv"
fi

# Shows the work of pip: on a terminal as one line that changes, elsewhere not at all.
show_progress() {
  local columns=0
  [ ! -t 2 ] || columns="$(stty size <&2 2>/dev/null | cut -d' ' -f2)"
  awk -v columns="${columns:-80}" '
    function show(text) { if (columns) { printf "\r\033[K%s", substr("  " text, 1, columns - 1); fflush() } }
    $1 == "Collecting" { name = $2; sub(/[^A-Za-z0-9._-].*/, "", name); show("package " ++count ": " name) }
    $1 == "Downloading" { show("package " count ": " name ", downloading " $(NF - 1) " " $NF) }
    /Retrying/ { show("the package index does not answer, trying again") }
    /^Installing collected packages/ { show("unpacking " count " packages") }
    END { if (columns) printf "\r\033[K" }' >&2
}

log="$venv/install.log"
echo "installing the requirements of $purpose into $venv (Python $version)" >&2
if ! "$venv/bin/python" -m pip --disable-pip-version-check install --constraint constraints.txt --editable ".[$extra]" 2>&1 |
  tee "$log" | show_progress; then
  { grep '^ *ERROR' "$log" || tail -n 4 "$log"; } | tail -n 4 >&2
  fail "the requirements of $purpose can't be installed; the whole output of pip is in $log" \
    "  → if the package index can't be reached, run make again when it can"
fi
echo "installed in $SECONDS s" >&2
touch "${ready[@]/#/$venv/.ready-}"
