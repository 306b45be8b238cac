package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// Canonical is v as JSON in its one form: no white space, keys in order, no HTML escaping, each number
// written one way whether it is an int64 or a float64. Equal trees have equal canonical forms, and others
// have not. Bytes that are not UTF-8 are kept as the escapes \udc80 to \udcff, which [Decode] turns back.
//
// It panics on what is no tree; [Of] makes one.
func Canonical(v any) []byte { return AppendCanonical(nil, v) }

// AppendCanonical appends the canonical form of v to b.
func AppendCanonical(b []byte, v any) []byte {
	switch at := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, at)
	case int64:
		return strconv.AppendInt(b, at, 10)
	case float64:
		return appendFloat(b, at)
	case string:
		return appendString(b, at)
	case []any:
		b = append(b, '[')
		for i, e := range at {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendCanonical(b, e)
		}
		return append(b, ']')
	case map[string]any:
		return appendMap(b, at)
	}
	panic(foreign(v))
}

// Digest is the SHA-256 of the canonical form of v, in hex.
func Digest(v any) string {
	var space [1024]byte
	sum := sha256.Sum256(AppendCanonical(space[:0], v))
	return hex.EncodeToString(sum[:])
}

func appendMap(b []byte, m map[string]any) []byte {
	var space [16]string
	b = append(b, '{')
	for i, k := range AppendKeys(space[:0], m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, k), ':')
		b = AppendCanonical(b, m[k])
	}
	return append(b, '}')
}

// appendFloat writes whole numbers as integers where int64 holds them, and all others with an exponent or a
// fraction, so that reading back gives the same kind of number.
func appendFloat(b []byte, f float64) []byte {
	if n, ok := integral(f); ok {
		return strconv.AppendInt(b, n, 10)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		panic(fmt.Sprintf("tree: %v is no JSON number", f))
	}
	if math.Abs(f) >= 1e21 || math.Abs(f) < 1e-6 || math.Abs(f) >= 1<<63 {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = appendEscape(append(b, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[start:i]...), `\udc`...)
			b = append(b, hexDigits[c>>4], hexDigits[c&15])
			start = i + 1
		}
		i += n
	}
	return append(append(b, s[start:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\t':
		return append(b, `\t`...)
	case '\r':
		return append(b, `\r`...)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

func foreign(v any) string { return fmt.Sprintf("tree: a %T is no tree", v) }
