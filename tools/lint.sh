#!/bin/sh
# Compiles golangci-lint with the linters of .golangci.yml alone, and puts the program where it is told:
#
#	sh tools/lint.sh FILE && FILE run ./...
#
# Without FILE it fetches the modules that this takes.
#
# The other linters are most of what an empty cache has to compile. The module is compiled from a copy whose list is without them. A linter of
# .golangci.yml that is not named here is unknown to the program, which says so and fails.
#
# Of what packages of others and of Go promise, such as that a function is deprecated or formats as printf does, the program knows what it finds
# in their source: analyzing that takes more than analyzing our own. Without $ATHANOR_WHOLE=1, as every night, it analyzes our own alone.
set -eu

file=${1:-}
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
module=github.com/golangci/golangci-lint/v2
named='errcheck errorlint forbidigo gofumpt govet ineffassign modernize nolintlint staticcheck unparam unused'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root/tools"
source=$(go mod download -json $module | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
cp -R "$source/." "$work"
chmod -R u+w "$work"
awk -v named=" $named " '
	function left(name) { return !index(named, " " name " ") }
	/^\t"/ && /\/pkg\/golinters[\/"]/ { n = split($1, path, /[\/"]/); if (left(path[n - 1])) next }
	/^\t\tlinter\.New/ { split($1, call, /[(.]/); out = left(call[3]) }
	/^\t}, nil/ { out = 0 }
	out { next }
	{ sub(/^\tplaceholderReplacer :=/, "\t_ ="); print }
' "$source/pkg/lint/lintersdb/builder_linter.go" >"$work/pkg/lint/lintersdb/builder_linter.go"
if [ "${ATHANOR_WHOLE:-}" != 1 ]; then
	awk '
		{ print }
		/^\t+for .*path := range (paths|pkg\.Imports) \{$/ { print "if m := pkg.Imports[path].Module; m == nil || !m.Main {\ncontinue\n}"; n++ }
		END { if (n != 2) { print "lint: analyses are begun elsewhere in this version" >"/dev/stderr"; exit 1 } }
	' "$source/pkg/goanalysis/runner.go" >"$work/pkg/goanalysis/runner.go"
fi
cp go.mod "$work/tools.mod"
cp go.sum "$work/tools.sum"
go mod edit -replace="$module=$work" "$work/tools.mod"
if [ -z "$file" ]; then
	go list -modfile="$work/tools.mod" -deps $module/cmd/golangci-lint >/dev/null
	exit
fi
go build -modfile="$work/tools.mod" -ldflags='-s -w' -o "$file" $module/cmd/golangci-lint
