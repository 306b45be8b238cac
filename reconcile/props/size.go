package props

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// Size is a number of bytes, written 256KiB or 5GB.
type Size int64

// The units of sizes: powers of 1024 and of 1000.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
	KB  Size = 1e3
	MB  Size = 1e6
	GB  Size = 1e9
	TB  Size = 1e12
)

var errSize = errors.New("want a size such as 256KiB or 5GB")

type unit struct {
	name string
	size Size
}

// sizeUnits are in the order of preference for writing.
var sizeUnits = []unit{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"TB", TB}, {"GB", GB}, {"MB", MB}, {"KB", KB}, {"B", 1}}

// String is the size in the largest unit that divides it, powers of 1024 first; [ParseSize] reads it back.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s%u.size == 0 && s != 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return "0B"
}

// maxDigits bounds a number of a size that has a fraction.
const maxDigits = 100

// ParseSize reads a number with its unit: B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers
// of 1024).
func ParseSize(s string) (Size, error) {
	digits := strings.TrimRight(s, "BKMGTi")
	name := strings.TrimSpace(s[len(digits):])
	for _, u := range sizeUnits {
		if u.name != name {
			continue
		}
		digits = strings.TrimSpace(digits)
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
			if product := Size(n) * u.size; product/u.size == Size(n) {
				return product, nil
			}
			return 0, errSize
		}
		if len(digits) > maxDigits || strings.Trim(digits, "+-.0123456789") != "" {
			return 0, errSize
		}
		size, ok := new(big.Rat).SetString(digits)
		if !ok {
			return 0, errSize
		}
		if size.Mul(size, new(big.Rat).SetInt64(int64(u.size))); !size.IsInt() || !size.Num().IsInt64() {
			return 0, errSize
		}
		return Size(size.Num().Int64()), nil
	}
	return 0, errSize
}
