#!/bin/sh
# Fetches what is known of the resource types of AWS into .cache/registry beside go.mod:
#
#   tools/registry.sh            the schemas that the tests of Cloud Control are driven by (npm)
#   tools/registry.sh generate   also those that the embedded table is made of (PyPI)
#
# Says nothing and takes no time when the pinned versions are there already. $PYTHON names the interpreter.
set -eu

spec=0.1.216
spec_sha256=2305b840c961bf7ab982a3e67a44cd2fe1f8fad78d8f2598c0fd36fbf17c9af8
lint=1.58.0

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
dir=$root/.cache/registry
python=${PYTHON:-python3}
mkdir -p "$dir"

tarball=$dir/aws-cdk-aws-service-spec-$spec.tgz
if [ ! -f "$tarball" ]; then
	rm -f "$dir"/aws-cdk-aws-service-spec-*.tgz
	# One file of the npm registry, which needs no npm.
	"$python" - "https://registry.npmjs.org/@aws-cdk/aws-service-spec/-/aws-service-spec-$spec.tgz" "$spec_sha256" "$tarball" <<'PYTHON'
import hashlib, os, sys, urllib.request
url, want, to = sys.argv[1:]
data = urllib.request.urlopen(url, timeout=120).read()
have = hashlib.sha256(data).hexdigest()
if have != want:
    sys.exit(f"registry: {url} has the digest {have}, and not {want}")
with open(to + ".part", "wb") as file:
    file.write(data)
os.replace(to + ".part", to)
PYTHON
fi

if [ "${1:-}" = generate ] && [ ! -f "$dir/cfn_lint-$lint-py3-none-any.whl" ]; then
	rm -f "$dir"/cfn_lint-*.whl
	"$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$dir" "cfn-lint==$lint"
fi
