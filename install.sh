#!/bin/sh
# Installs athanor into a folder of yours: downloads the archive for this system, compares its checksum, writes the binary.
#
#   curl -fsSL https://github.com/athanor-dev/athanor/releases/latest/download/install.sh | sh
#
# ATHANOR_VERSION      the version, as v1.2.3 (default: the newest)
# ATHANOR_INSTALL_DIR  the folder (default: ~/.local/bin)
# ATHANOR_RELEASES     where releases are (default: https://github.com/athanor-dev/athanor/releases)
# ATHANOR_SIGNERS      a file of allowed signers (ssh-keygen(1)): the signature of the checksums is verified by it
#
# It needs no root, changes no configuration, and sends nothing but the requests for these files.
set -eu

fail() {
	printf 'error: %s\n' "$1" >&2
	if [ $# -gt 1 ]; then printf 'hint:  %s\n' "$2" >&2; fi
	exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# fetch FILE: downloads a file of the release into the working folder.
fetch() {
	if has curl; then
		case $base in https:*) only='=https' ;; *) only='=http,https' ;; esac
		curl --fail --silent --show-error --location --proto "$only" --connect-timeout 20 --retry 2 --output "$work/$1" "$base/$1" 2>"$work/why"
	elif has wget; then
		wget --no-verbose --timeout=20 --tries=3 --output-document="$work/$1" "$base/$1" 2>"$work/why"
	else
		fail 'neither curl nor wget is installed' 'install one of them'
	fi || fail "$base/$1 cannot be downloaded: $(tail -1 "$work/why")" 'is that version released, and is the address reachable? ATHANOR_VERSION and ATHANOR_RELEASES choose them'
}

# checksum FILE: prints its SHA-256.
checksum() {
	if has sha256sum; then
		sha256sum "$1"
	elif has shasum; then
		shasum -a 256 "$1"
	else
		openssl dgst -sha256 -r "$1"
	fi | cut -d' ' -f1
}

# All is in a function, so that a download of this script that breaks off runs nothing.
main() {
	releases=${ATHANOR_RELEASES:-https://github.com/athanor-dev/athanor/releases}
	version=${ATHANOR_VERSION:-latest}
	if [ -z "${ATHANOR_INSTALL_DIR:-}${HOME:-}" ]; then fail 'HOME is not set' 'set ATHANOR_INSTALL_DIR'; fi
	folder=${ATHANOR_INSTALL_DIR:-$HOME/.local/bin}
	case $version in
	latest) base=$releases/latest/download ;;
	v[0-9]*) base=$releases/download/$version ;;
	*) fail "ATHANOR_VERSION=$version is no version" 'ATHANOR_VERSION=v1.2.3, or leave it out for the newest' ;;
	esac
	case $(uname -s) in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	*) fail "there is no archive for $(uname -s)" 'on Windows: scoop install athanor, or the .zip of the release' ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) machine=amd64 ;;
	aarch64 | arm64) machine=arm64 ;;
	*) fail "there is no archive for $(uname -m)" 'build it: go build ./cmd/athanor' ;;
	esac
	archive=athanor-$system-$machine.tar.gz
	if ! { has sha256sum || has shasum || has openssl; }; then
		fail 'none of sha256sum, shasum and openssl is installed, so the download cannot be verified' 'install one of them'
	fi

	work=$(mktemp -d) || fail 'no temporary folder can be made' 'set TMPDIR'
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM
	mkdir -p "$folder" 2>"$work/why" || fail "$folder cannot be made: $(tail -1 "$work/why")" 'ATHANOR_INSTALL_DIR=DIR chooses another folder'
	if [ ! -w "$folder" ]; then fail "$folder cannot be written" 'ATHANOR_INSTALL_DIR=DIR chooses another folder'; fi

	fetch SHA256SUMS
	if [ -n "${ATHANOR_SIGNERS:-}" ]; then
		fetch SHA256SUMS.sig
		signer=$(ssh-keygen -Y find-principals -f "$ATHANOR_SIGNERS" -s "$work/SHA256SUMS.sig" 2>"$work/why") &&
			ssh-keygen -Y verify -n athanor-release -f "$ATHANOR_SIGNERS" -I "$signer" -s "$work/SHA256SUMS.sig" <"$work/SHA256SUMS" >/dev/null 2>"$work/why" ||
			fail "the signature of $base/SHA256SUMS is not of $ATHANOR_SIGNERS: $(tail -1 "$work/why")" 'nothing was installed'
	fi
	want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
	if [ -z "$want" ]; then fail "$base/SHA256SUMS does not list $archive"; fi
	fetch "$archive"
	have=$(checksum "$work/$archive")
	if [ "$have" != "$want" ]; then
		fail "$archive has the checksum $have, and SHA256SUMS says $want" 'nothing was installed; try again, and report it when it stays so'
	fi
	tar -xzf "$work/$archive" -C "$work" athanor || fail "$archive cannot be unpacked"
	"$work/athanor" version >"$work/said" 2>"$work/why" || fail "the binary does not run here: $(tail -1 "$work/why")"

	# The new binary takes the place of an old one at once, also while that runs.
	new=$folder/.athanor.$$
	trap 'rm -rf "$work" "$new"' EXIT
	cp "$work/athanor" "$new" && chmod 755 "$new" && mv -f "$new" "$folder/athanor" ||
		fail "$folder/athanor cannot be written" 'ATHANOR_INSTALL_DIR=DIR chooses another folder'
	printf '%s is in %s\n' "$(head -1 "$work/said")" "$folder/athanor"
	case :$PATH: in
	*:"$folder":*) printf 'next:  athanor init my-stack\n' ;;
	*) printf 'next:  export PATH="%s:$PATH", then athanor init my-stack\n' "$folder" ;;
	esac
}

main
