#!/bin/sh
# Puts moto, the AWS that the tests of providers/aws talk to, into .venv beside go.mod.
# Says nothing and takes half a second when the pinned versions are there already.
# $PYTHON names the interpreter: python3 by default.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
pins=$root/tools/moto-requirements.txt
venv=$root/.venv
stamp=$venv/moto-requirements.txt

# The server is tried as well: an interpreter that was upgraded leaves an environment that looks whole.
if [ -x "$venv/bin/moto_server" ] && cmp -s "$pins" "$stamp" && "$venv/bin/moto_server" --help >/dev/null 2>&1; then
	exit 0
fi

python=${PYTHON:-python3}
if ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	echo "moto: needs Python 3.11 or newer with its venv module (Debian: apt-get install python3-venv)" >&2
	exit 1
fi

# The stamp is written last, so that an interrupted run starts over.
"$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --requirement "$pins"
"$venv/bin/moto_server" --help >/dev/null
cp "$pins" "$stamp"
