#!/usr/bin/env bash
# Measures what a newcomer waits for: the README's first command with nothing compiled and nothing downloaded, in a copy of the
# example. It prints the seconds, and how many times what the same machine needs to compile net/http from nothing: machines differ by
# more than two from hour to hour, and what is compared is work. It fails above COLD_LIMIT times that (11 unless it is set).
# What of it can be counted is held by TestFirstCommandCompilesLittle in bench, with every run of the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

limit=${COLD_LIMIT:-11}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/cache" "$work/modules" "$work/config"
git ls-files -z examples/site | tar --null --files-from=- --create --file=- | tar --extract --directory "$work"

export CGO_ENABLED=0 GOGC=100 # a newcomer sets none
# millis COMMAND...: runs it, and puts into $ms how long that took.
millis() {
	local begin
	begin=$(date +%s%N)
	"$@"
	ms=$((($(date +%s%N) - begin) / 1000000))
}

millis env GOCACHE="$work/cache" GOMODCACHE="$work/modules" GOFLAGS="${GOFLAGS:-} -modcacherw" XDG_CONFIG_HOME="$work/config" \
	go run ./cmd/athanor deploy "$work/examples/site" --yes
first=$ms
millis env GOCACHE="$work/yardstick" go build net/http
printf 'cold time of the first command: %d.%03d s, %d.%02d times that of net/http (limit %d)\n' \
	$((first / 1000)) $((first % 1000)) $((first / ms)) $((first * 100 / ms % 100)) "$limit"
((first < limit * ms))
