package props

import (
	"errors"
	"math"
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
		f, err := strconv.ParseFloat(digits, 64)
		f *= float64(u.size)
		if err != nil || strings.Trim(digits, "-.0123456789") != "" || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
			return 0, errSize
		}
		return Size(f), nil
	}
	return 0, errSize
}
