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
	if ! command -v npm >/dev/null; then
		echo "registry: needs npm" >&2
		exit 1
	fi
	# npm knows its registry; the digest says that it is the file that was meant.
	npm pack --silent --pack-destination "$dir" "@aws-cdk/aws-service-spec@$spec" >/dev/null
	if ! echo "$spec_sha256  $tarball" | sha256sum --check --status; then
		rm -f "$tarball"
		echo "registry: $(basename "$tarball") is not the file that was pinned" >&2
		exit 1
	fi
fi

if [ "${1:-}" = generate ] && [ ! -f "$dir/cfn_lint-$lint-py3-none-any.whl" ]; then
	rm -f "$dir"/cfn_lint-*.whl
	"$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$dir" "cfn-lint==$lint"
fi
