#!/bin/sh
# Runs the command for linux/arm64 by an emulator of that processor, beside the command of this machine: both run a whole session of the
# template local, and must print the same but for times, runs and random values.
set -eu

emulator=${ATHANOR_QEMU:-qemu-aarch64-static}
if ! command -v "$emulator" >/dev/null; then
	echo "not run: $emulator is not installed (qemu-user-static of Debian), so the binary of linux/arm64 was compiled only"
	[ -z "${ATHANOR_NO_SKIP:-}" ] # .ci/nightly installs it, and forbids what is skipped
	exit
fi
root=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$work/bin/native" ./cmd/athanor
CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build -buildvcs=false -trimpath -o "$work/bin/arm64" ./cmd/athanor

# session NAME COMMAND...: types a session, prints each command with what it prints and its exit code.
session() {
	name=$1
	shift
	mkdir -p "$work/$name/home"
	cd "$work/$name"
	export HOME="$work/$name/home" XDG_CONFIG_HOME="$work/$name/home/.config" NO_COLOR=1 TZ=UTC USER=ada LOGNAME=ada ATHANOR_NO_UPDATE_CHECK=1
	while read -r line; do
		echo "\$ athanor $line"
		code=0
		# shellcheck disable=SC2086 # the words of a line are arguments
		"$@" $line </dev/null 2>&1 || code=$?
		echo "exit code $code"
	done <<-'END'
		version
		init hello
		deploy hello --yes
		plan hello
		drift hello
		output page hello --quiet
		state list hello
		history hello
		deploy nothing --yes
		destroy hello --yes
		stage list
	END
	cd "$root"
}

# plain NAME: takes out what differs between two runs of one command, and the name of the processor.
plain() {
	sed -E -e "s|$work/$1|/home/ada|g" -e 's/[0-9]{8}-[0-9]{6}-[A-Z0-9]{6}/RUN/g' -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/g' -e 's/[0-9]{2}:[0-9]{2}:[0-9]{2}/TIME/g' \
		-e 's/[0-9]+(\.[0-9]+)?m?s\>/DURATION/g' -e 's/[0-9]+ s ago/AGO/g' -e 's/\<[0-9a-f]{8}\>/HEX/g' -e 's/^[A-Z0-9]{6}  /RUN  /' \
		-e 's/\<(amd64|arm64)\>/PROCESSOR/g' -e 's/pid [0-9]+/PID/g' -e '/^TIME \S+  (planning|reading)/d' -e 's/ {2,}/  /g' | sort_of_run
}

# sort_of_run puts lines of a run in an order of their own: resources that are ready together end in any order.
sort_of_run() {
	awk '/^TIME /{lines[n++] = $0; next} {flush()} {print} END {flush()}
		function flush(  i, j, t) {
			for (i = 1; i < n; i++) { t = lines[i]; for (j = i - 1; j >= 0 && lines[j] > t; j--) lines[j + 1] = lines[j]; lines[j + 1] = t }
			for (i = 0; i < n; i++) print lines[i]
			n = 0
		}'
}

session native "$work/bin/native" >"$work/native.txt"
session arm64 "$emulator" "$work/bin/arm64" >"$work/arm64.txt"
plain native <"$work/native.txt" >"$work/native.plain"
plain arm64 <"$work/arm64.txt" >"$work/arm64.plain"
if ! diff -u "$work/native.plain" "$work/arm64.plain"; then
	echo 'the command for linux/arm64 prints something else than that of this machine'
	exit 1
fi
for must in '^Done: 2 created' '^Nothing to do: 2 unchanged' '^Done: 2 deleted'; do
	grep -q "$must" "$work/arm64.txt" || { echo "the session of linux/arm64 has no line $must:"; cat "$work/arm64.txt"; exit 1; }
done
echo "linux/arm64 under $emulator: $(grep -c '^\$ ' "$work/arm64.txt") commands print what they print here"
