package postgres

import (
	"bytes"
	"crypto/sha256"
	"math"
)

// An index entry of PostgreSQL has at most 2.7 kB, while addresses and identities may be longer. A key of up to
// maxKey bytes is stored as it is; of a longer one the beginning and a digest of all of it. Such a key has one byte more
// than any that is stored whole, so that no key can be made to look like another one.
const (
	maxKey   = 1000
	keptKey  = maxKey + 1 - sha256.Size
	endOfAll = maxKey + 2 // bytes of the highest bound
)

// shortened is how a key is stored; long says whether the whole key must stand beside it.
func shortened(key []byte) (stored []byte, long bool) {
	if len(key) <= maxKey {
		return key, false
	}
	sum := sha256.Sum256(key)
	return append(bytes.Clone(key[:keptKey]), sum[:]...), true
}

// span is the stored keys from lo to before hi among which are all that begin with prefix. It has others too when the
// prefix is longer than what is kept of a long key.
func span(prefix []byte) (lo, hi []byte) {
	lo = append([]byte{}, prefix[:min(len(prefix), keptKey)]...) // never nil, which SQL takes for unknown
	for end := len(lo); end > 0; end-- {
		if lo[end-1] < math.MaxUint8 {
			hi = bytes.Clone(lo[:end])
			hi[end-1]++
			return lo, hi
		}
	}
	return lo, bytes.Repeat([]byte{math.MaxUint8}, endOfAll)
}
