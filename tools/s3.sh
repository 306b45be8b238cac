#!/bin/sh
# Fetches the servers that the store in a bucket is tested with into .cache/s3 beside go.mod: versitygw (a Go module) and
# ministack (PyPI), which keep the conditions of writes, and s3rver (npm), which does not. All are pinned. No script of a
# package is run.
#
# Says nothing and takes no time when they are there already.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
from=$root/tools/s3
dir=$root/.cache/s3

pins() { cat "$from/go.mod" "$from/main.go" "$from/requirements.txt" "$from/package-lock.json"; }

# Scripts of a Python environment name its folder, so that one that was moved does not start.
if [ -f "$dir/stamp" ] && pins | cmp -s - "$dir/stamp" && "$dir/python/bin/pip" --version >/dev/null 2>&1; then
	exit 0
fi
python=${PYTHON:-python3}
if ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	echo "s3: needs Python 3.11 or newer with its venv module (Debian: apt-get install python3-venv)" >&2
	exit 1
fi
if ! command -v npm >/dev/null; then
	echo "s3: needs Node.js with npm" >&2
	exit 1
fi

# The stamp is written last, so that an interrupted run starts over.
mkdir -p "$dir"
rm -f "$dir/stamp"
# With other flags than those of $GOFLAGS, Go's own packages would be compiled once more.
CGO_ENABLED=0 go -C "$from" build -ldflags '-s -w' -o "$dir/versitygw" .
"$python" -m venv --clear "$dir/python"
"$dir/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --requirement "$from/requirements.txt"
cp "$from/package.json" "$from/package-lock.json" "$dir"
(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --silent)
pins >"$dir/stamp"
