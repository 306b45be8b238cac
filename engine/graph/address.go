package graph

import (
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// CheckAddress says what is wrong with an address. An address is segments joined by "/", each beginning with a letter and
// going on with letters, digits, "-" and "_"; the last may carry a key in brackets: net/subnet[a].
func CheckAddress(addr string) error {
	rest, key, keyed := strings.Cut(addr, "[")
	if keyed {
		k, closed := strings.CutSuffix(key, "]")
		if !closed || k == "" || strings.ContainsFunc(k, func(r rune) bool { return !addressRune(r) && r != '.' }) {
			return badAddress(addr, "its key in brackets is made of letters, digits, '.', '-' and '_'")
		}
	}
	if len(addr) > 300 {
		return badAddress(addr[:40]+"…", "it is longer than 300 bytes")
	}
	for seg := range strings.SplitSeq(rest, "/") {
		if seg == "" || !letter(rune(seg[0])) || strings.ContainsFunc(seg, func(r rune) bool { return !addressRune(r) }) {
			return badAddress(addr, "each part begins with a letter and goes on with letters, digits, '-' and '_'")
		}
	}
	return nil
}

// ErrAddress is matched by errors about malformed addresses.
var ErrAddress = errors.New("bad address")

func badAddress(addr, why string) error {
	return reconcile.WithHint(fmt.Errorf("%w %q", ErrAddress, addr), "%s", why)
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func addressRune(r rune) bool { return letter(r) || r >= '0' && r <= '9' || r == '-' || r == '_' }
