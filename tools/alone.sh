#!/bin/sh
# Runs go test with Go alone: in a copy of the tree without .venv and .cache, with a PATH of links that lacks Python, Node.js,
# PostgreSQL, a browser, a C compiler and tracers. What needs one of these must skip, and say so; nothing may fail or hang.
# Arguments go to go test; without any it takes ./...
set -eu
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tree" "$work/empty"

old=$IFS IFS=:
for dir in $PATH; do
	for program in "$dir"/*; do
		name=${program##*/}
		case $name in
		python* | pip* | uv* | pyenv* | node* | npm* | npx* | corepack | pnpm* | yarn* | bun* | deno*) continue ;;
		psql* | pg_* | initdb* | postgres* | pgbouncer* | createdb | dropdb) continue ;;
		chrom* | google-chrome* | firefox* | strace* | tmux | unshare | nsenter | ip) continue ;;
		gcc* | g++* | cc | c89* | c99* | c++* | cpp* | clang* | *-linux-gnu-*) continue ;;
		moto* | tofu* | terraform* | pulumi* | wrangler* | workerd*) continue ;;
		esac
		[ -x "$program" ] && ! [ -e "$work/bin/$name" ] && ln -s "$program" "$work/bin/$name"
	done
done
IFS=$old

git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create --file=- --ignore-failed-read | tar --extract --directory "$work/tree"

# What is found by its place is covered by an empty folder, where this system lets a user do so.
cover=''
for place in /usr/lib/postgresql /usr/pgsql-* /opt/homebrew/opt/postgresql*; do
	[ -d "$place" ] && cover="$cover mount --bind $work/empty $place;"
done
if [ -n "$cover" ] && ! unshare -Urm true 2>/dev/null; then
	echo "PostgreSQL is found by its place, and this system lets nobody hide it: its tests run" >&2
	cover=''
fi

[ $# -gt 0 ] || set -- ./...
run='PATH=$1; export PATH; cd "$2"; shift 2; exec go test -vet=off -timeout 40m "$@"'
clean='unset ATHANOR_NO_SKIP ATHANOR_PEERS ATHANOR_TFSTATES ATHANOR_VULNDB;'
if [ -n "$cover" ]; then
	unshare -Urm sh -c "$cover $clean $run" sh "$work/bin" "$work/tree" "$@"
else
	sh -c "$clean $run" sh "$work/bin" "$work/tree" "$@"
fi
