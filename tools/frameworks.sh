#!/bin/sh
# Installs what the projects in examples/frameworks are built with into .cache/frameworks beside go.mod, from npm, pinned with their
# digests by tools/frameworks/package-lock.json. No script of a package is run.
#
# Says nothing and takes no time when they are there already.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
from=$root/tools/frameworks
dir=$root/.cache/frameworks

if cmp -s "$from/package-lock.json" "$dir/stamp/package-lock.json"; then
	exit 0
fi
if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
	echo "frameworks: needs Node.js 20.19 or newer, with npm" >&2
	exit 1
fi

# The stamp is written last, so that an interrupted run starts over.
rm -rf "$dir/stamp"
mkdir -p "$dir"
cp "$from/package.json" "$from/package-lock.json" "$dir"
cd "$dir"
npm install --ignore-scripts --no-audit --no-fund --silent
mkdir stamp
cp "$from/package-lock.json" stamp
