#!/usr/bin/env bash
# tools/fresh_machine.sh: do the commands of the README work on a machine that nobody has prepared? Runs them in fresh clones of the
# last commit, with the system's own Python, an empty HOME and a minimal PATH: the demo and a smoke test; then, as an ordinary user
# without sudo and bubblewrap, the demo, also without a network. Exits with 3 and a message if that Python can't be used.
set -euo pipefail
cd "$(dirname "$0")/.."
python=/usr/bin/python3
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "fresh-machine: NOT RUN: $python is missing, or older than 3.11" >&2
  exit 3
fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# What the package index may need on this machine; nothing else of this environment is used.
settings=(PIP_RETRIES=9)
for name in $(compgen -e | grep -iE '^(PIP_.*|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|(HTTPS?|ALL|NO)_PROXY)$'); do
  settings+=("$name=${!name}")
done

say() { echo "fresh-machine: $*" >&2; }

# fresh NAME SETTING… COMMAND…: the output of a command in the clone NAME; if it fails, the script fails.
fresh() {
  local clone="$folder/$1/clone" home="$folder/$1/home" output
  shift
  say "$*"
  if ! output="$(cd "$clone" && "${as_user[@]}" env -i "${settings[@]}" HOME="$home" PATH="$path" "$@" 2>&1)"; then
    tail -n 60 <<<"$output" >&2
    say "FAILED: $*"
    return 1
  fi
  echo "$output"
}

# expect OUTPUT TEXT: fail unless a line of the output contains the text.
expect() {
  grep --quiet --fixed-strings -- "$2" <<<"$1" && return
  tail -n 60 <<<"$1" >&2
  say "FAILED: the output has no line with: $2"
  return 1
}

clone() {
  mkdir -p "$folder/$1/home"
  git clone --quiet . "$folder/$1/clone"
}

say "as $(id -un), with $("$python" --version)"
clone first
as_user=() path=/usr/bin:/bin
expect "$(fresh first make demo MODEL=scripted)" "demeanor serve"
fresh first make .venv/.ready-tests >/dev/null
expect "$(fresh first .venv/bin/python -m pytest tests/test_public_api.py tests/journeys/test_first_steps.py \
  tests/judge/effects tests/core/redaction tests/plugins/cluster/test_archive.py)" " passed"

say "as an ordinary user without sudo, on a machine without bubblewrap"
clone second
mkdir "$folder/bin"
ln -s /usr/bin/* "$folder/bin/"
rm -f "$folder/bin/bwrap" "$folder/bin/sudo"
path="$folder/bin"
if [ "$(id -u)" -eq 0 ]; then
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
  chown -R 65534:65534 "$folder/second"
  chmod 755 "$folder"
fi
output="$(fresh second make demo MODEL=scripted PYTHON="$python")"
expect "$output" "bwrap is not on PATH; using --sandbox"
expect "$output" "demeanor serve"
output="$(fresh second PIP_NO_INDEX=1 PIP_FIND_LINKS= HTTPS_PROXY=http://127.0.0.1:9 make demo PYTHON="$python")"
expect "$output" "left out the examples with qwen2.5-coder-1.5b: it can't be downloaded"
if grep --quiet '^install' <<<"$output"; then
  say "FAILED: the second demo installs something" && exit 1
fi
say "all commands work"
