package adopt

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
	"unicode"

	"github.com/athanor-dev/athanor/reconcile"
)

// Slots is the number of generated names of one address. A replacement takes the lowest slot that no generation of the
// address has.
const Slots = 4

// hashLength is 8 characters of base32: 40 bits over the whole identity, so that cutting the readable part
// never makes two addresses equal.
const hashLength = reconcile.GeneratedEnd - len("-")

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Name returns the generated name of an address: stack-stage-address to read, then a hash of location, stack, stage, whole
// address and slot, in the alphabet and length that the service accepts. It can be recomputed from the program alone.
func Name(n reconcile.Naming, place reconcile.Place, stack, stage, address string, slot int) string {
	sum := sha256.Sum256([]byte(strings.Join(
		[]string{place.Provider, place.Account, place.Region, stack, stage, address, strconv.Itoa(slot)}, "\x00")))
	tail := "-" + lowerBase32.EncodeToString(sum[:])[:hashLength] + n.Suffix
	head := shape(n, Prefix(n, stack, stage)+address)
	if room := n.Max - len(tail); n.Max > 0 && len(head) > room {
		head = strings.TrimRight(head[:max(room, 0)], "-")
	}
	return head + tail
}

// Prefix returns how the generated names of a stage begin, where the limit of the service does not cut it.
func Prefix(n reconcile.Naming, stack, stage string) string {
	return shape(n, stack+"-"+stage) + "-"
}

// shape writes a name in the alphabet of the service. A run of other characters becomes one "-".
func shape(n reconcile.Naming, s string) string {
	allowed := n.Allowed
	if allowed == nil {
		allowed = func(r rune) bool {
			return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
		}
	}
	if n.Lower {
		s = strings.ToLower(s)
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < unicode.MaxASCII && allowed(r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
