#!/usr/bin/env bash
# tools/harbor.sh [FOLDER]: create an environment with the pinned Harbor and Demeanor (default: .venv-harbor).
# Harbor needs Python 3.12 or newer and has its own pins, so it gets an environment of its own.
# Exits with 3 and a message if there is no such Python.
set -euo pipefail
cd "$(dirname "$0")/.."
venv="${1:-.venv-harbor}"

if [ "$venv/.ready" -nt constraints-harbor.txt ] && [ "$venv/.ready" -nt pyproject.toml ]; then exit 0; fi

candidates() {
  [ -z "${PYTHON312:-}" ] || echo "$PYTHON312"
  for version in 3.12 3.13 3.14; do
    local found
    found="$(command -v "python$version" || true)"
    [ -z "$found" ] || echo "$found"
    for root in "${PYENV_ROOT:-$HOME/.pyenv}" "${found%/shims/*}"; do # versions installed by pyenv, also when HOME points elsewhere
      ls -d "$root/versions/$version".*/bin/python3 2>/dev/null || true
    done
  done
  command -v python3 || true
}

python=""
while IFS= read -r candidate; do # a pyenv shim of a version that is not installed fails
  if "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; then
    python="$candidate"
    break
  fi
done < <(candidates)

if [ -z "$python" ]; then
  cat >&2 <<'MESSAGE'
──────────────────────────────────────────────────────────────────────────────
harbor: NO Python 3.12 or newer was found: all tests with Harbor are SKIPPED
  → install one, or set its path: make PYTHON312=/path/to/python3.12 test
──────────────────────────────────────────────────────────────────────────────
MESSAGE
  exit 3
fi

echo "harbor: installing Harbor into $venv (about a minute, once)" >&2
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --constraint constraints-harbor.txt harbor --editable .
touch "$venv/.ready"
