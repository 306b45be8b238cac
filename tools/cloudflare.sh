#!/bin/sh
# Fetches what the tests of providers/cloudflare are held to into .cache/cloudflare beside go.mod: the descriptions of
# Cloudflare's operations as operations.json and others.json, wrangler, Cloudflare's own client, and miniflare with workerd, its own
# runtime. All come from npm, pinned with their digests by tools/cloudflare/package-lock.json. No script of a package is
# run: workerd is a program in an optional package for each kind of machine, which needs none.
#
# Says nothing and takes no time when they are there already.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
from=$root/tools/cloudflare
dir=$root/.cache/cloudflare

if [ -f "$dir/operations.json" ] && [ -f "$dir/others.json" ] && cmp -s "$from/package-lock.json" "$dir/stamp/package-lock.json" &&
	cmp -s "$from/operations.mjs" "$dir/stamp/operations.mjs"; then
	exit 0
fi
if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
	echo "cloudflare: needs Node.js 20 or newer, with npm" >&2
	exit 1
fi

# The stamp is written last, so that an interrupted run starts over.
rm -rf "$dir/stamp" "$dir/operations.json" "$dir/others.json"
mkdir -p "$dir"
cp "$from/package.json" "$from/package-lock.json" "$from/operations.mjs" "$dir"
cd "$dir"
# Not "npm ci": it wants the builds for other machines too, which a lock file written here does not name.
npm install --ignore-scripts --no-audit --no-fund --silent
node operations.mjs
mkdir stamp
cp "$from/package-lock.json" "$from/operations.mjs" stamp
