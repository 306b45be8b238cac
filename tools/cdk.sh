#!/bin/sh
# Makes the template of the project in tools/cdk with the real CDK, and keeps it as cmd/athanor/testdata/cdk/Shop.template.json with the
# code that it names. CDK comes from npm, pinned with its digests by tools/cdk/package-lock.json. No script of a package is run, and CDK asks
# neither AWS nor anybody else.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
dir=$root/.cache/cdk
into=$root/cmd/athanor/testdata/cdk

if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
	echo "cdk: needs Node.js 20 or newer, with npm" >&2
	exit 1
fi

rm -rf "$dir/cdk.out"
mkdir -p "$dir" "$into"
cp -R "$root/tools/cdk/." "$dir"
cd "$dir"
npm ci --ignore-scripts --no-audit --no-fund --silent
CDK_DISABLE_CLI_TELEMETRY=true node node_modules/aws-cdk/bin/cdk synth --quiet --no-notices --app 'node app.js' --output cdk.out
cp cdk.out/Shop.template.json "$into"
cp app/app.py "$into"
