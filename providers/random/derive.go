package random

import (
	"encoding/base32"
	"errors"
	"strconv"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

var errNoKey = errors.New("the stage has no key to derive values from")

// derive is a Site's Derive.
type derive func(info string, n int) []byte

// info names one value: the kind and all inputs in canonical form. Addresses and stages are the key's part.
func info(kind string, inputs map[string]any) string {
	return kind + " " + string(tree.Canonical(inputs))
}

// chunk is how many bytes of a stream are derived at once.
const chunk = 64

// stream gives as many bytes as are asked for, one by one.
type stream struct {
	derive derive
	info   string
	blocks int
	left   []byte
}

func (s *stream) next() byte {
	if len(s.left) == 0 {
		s.left = s.derive(s.info+" "+strconv.Itoa(s.blocks), chunk)
		s.blocks++
	}
	b := s.left[0]
	s.left = s.left[1:]
	return b
}

// below is a number from 0 to n-1, each equally likely: draws from the incomplete last round of the 16-bit
// range are thrown away.
func (s *stream) below(n int) int {
	const all = 1 << 16
	for {
		v := int(s.next())<<8 | int(s.next())
		if v < all-all%n {
			return v % n
		}
	}
}

// choose is a text of n characters of the alphabet.
func choose(d derive, info string, alphabet []rune, n int) string {
	s, out := &stream{derive: d, info: info}, make([]rune, n)
	for i := range out {
		out[i] = alphabet[s.below(len(alphabet))]
	}
	return string(out)
}

// lowerBase32 is RFC 4648 in lower case without padding.
func lowerBase32(b []byte) string {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding).EncodeToString(b)
}
