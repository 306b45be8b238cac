package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unique"
)

// maxDepth bounds how deep a document may nest, so that a hostile one cannot use up the stack.
const maxDepth = 1000

// SyntaxError says where a document stops being JSON that a tree can hold.
type SyntaxError struct {
	// Offset is in bytes from the start.
	Offset int
	Why    string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("json: at %d: %s", e.Offset, e.Why) }

// Decode reads one JSON document. Whole numbers without fraction and exponent are int64, all others float64.
// Duplicate keys, numbers out of range and anything after the document are errors: a *SyntaxError.
func Decode(data []byte) (any, error) {
	return read(data, false)
}

// read reads a document. An exact one is written by a person or a program of theirs, and has no decimal that would be
// rounded; what services write is taken as it is.
func read(data []byte, exact bool) (any, error) {
	d := decoder{s: string(data), exact: exact}
	d.space()
	v, _ := d.value(0)
	if err := d.end(); err != nil {
		return nil, err
	}
	return v, nil
}

// end is what was wrong with the document, that more follows it included.
func (d *decoder) end() error {
	if d.err == nil {
		if d.space(); d.at < len(d.s) {
			d.fail("more follows the document")
		}
	}
	if d.err != nil {
		return d.err
	}
	return nil
}

type decoder struct {
	s     string
	at    int
	exact bool
	// apart: what is read shares no memory with the document, of which little is kept. Names of entries share it with each other.
	apart bool
	err   *SyntaxError
	// elements of the lists that are open, so that each list is made once and of its own size.
	elements []any
	// written is space for the canonical form of what is compared with a value.
	written []byte
}

func (d *decoder) fail(why string) (any, bool) {
	if d.err == nil {
		d.err = &SyntaxError{Offset: d.at, Why: why}
	}
	return nil, false
}

func (d *decoder) space() {
	for d.at < len(d.s) {
		switch d.s[d.at] {
		case ' ', '\n', '\t', '\r':
			d.at++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (d *decoder) peek() byte {
	if d.at < len(d.s) {
		return d.s[d.at]
	}
	return 0
}

func (d *decoder) value(depth int) (any, bool) {
	if depth > maxDepth {
		return d.fail("nested too deep")
	}
	switch c := d.peek(); {
	case c == '{':
		return d.object(depth)
	case c == '[':
		return d.list(depth)
	case c == '"':
		s, ok := d.text()
		if d.apart {
			s = strings.Clone(s)
		}
		return s, ok
	case c == '-' || '0' <= c && c <= '9':
		return d.number()
	case c == 0 && d.at == len(d.s):
		return d.fail("the document ends too early")
	}
	for _, w := range []struct {
		text string
		v    any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if strings.HasPrefix(d.s[d.at:], w.text) {
			d.at += len(w.text)
			return w.v, true
		}
	}
	return d.fail("want a value")
}

func (d *decoder) object(depth int) (any, bool) {
	m := map[string]any{}
	ok := d.members(func(name string, start int) bool {
		if _, twice := m[name]; twice {
			d.at = start
			d.fail(fmt.Sprintf("key %q is given twice", name))
			return false
		}
		v, ok := d.value(depth + 1)
		if d.apart {
			name = unique.Make(name).Value()
		}
		m[name] = v
		return ok
	})
	return m, ok
}

// members goes through an object. member is called at each value, with the name and where that begins, and reads the value.
func (d *decoder) members(member func(name string, start int) bool) bool {
	d.at++
	d.space()
	if d.peek() == '}' {
		d.at++
		return true
	}
	for {
		if d.space(); d.peek() != '"' {
			d.fail("want a key in quotes")
			return false
		}
		start := d.at
		name, ok := d.text()
		if !ok {
			return false
		}
		if d.space(); d.peek() != ':' {
			d.fail("want a colon after the key")
			return false
		}
		d.at++
		if d.space(); !member(name, start) {
			return false
		}
		if more, ok := d.more('}'); !more {
			return ok
		}
	}
}

func (d *decoder) list(depth int) (any, bool) {
	d.at++
	d.space()
	if d.peek() == ']' {
		d.at++
		return []any{}, true
	}
	from := len(d.elements)
	for {
		d.space()
		v, ok := d.value(depth + 1)
		if !ok {
			return nil, false
		}
		d.elements = append(d.elements, v)
		if more, ok := d.more(']'); !more {
			list := slices.Clone(d.elements[from:])
			d.elements = d.elements[:from]
			return list, ok
		}
	}
}

// more passes over the comma or the end of a list or object.
func (d *decoder) more(end byte) (more, ok bool) {
	d.space()
	switch d.peek() {
	case ',':
		d.at++
		return true, true
	case end:
		d.at++
		return false, true
	}
	d.fail("want a comma or " + string(end))
	return false, false
}

func (d *decoder) text() (string, bool) {
	s, end, why := scanString(d.s, d.at+1)
	d.at = end
	if why != "" {
		d.fail(why)
		return "", false
	}
	return s, true
}

func (d *decoder) number() (any, bool) {
	start := d.at
	if d.peek() == '-' {
		d.at++
	}
	whole := d.digits()
	lead := d.s[d.at-whole : d.at]
	if whole == 0 || whole > 1 && lead[0] == '0' {
		return d.fail("want a number without leading zeros")
	}
	integer := true
	if d.peek() == '.' {
		d.at++
		if integer = false; d.digits() == 0 {
			return d.fail("want digits after the point")
		}
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		d.at++
		if c := d.peek(); c == '+' || c == '-' {
			d.at++
		}
		if integer = false; d.digits() == 0 {
			return d.fail("want digits in the exponent")
		}
	}
	text := d.s[start:d.at]
	if integer {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			d.at = start
			return d.fail("a whole number out of range")
		}
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d.at = start
		return d.fail("a number out of range")
	}
	if d.exact && !Exact(text, f) {
		d.at = start
		return d.fail(inexact)
	}
	return f, true
}

// inexact is why a decimal is refused that would be rounded.
const inexact = "a decimal with more digits than a number keeps"

// Exact reports whether a decimal is the shortest one that means the same float, so that nothing of it is lost.
func Exact(decimal string, f float64) bool {
	digits, power := significant(decimal)
	shortest, same := significant(strconv.FormatFloat(f, 'e', -1, 64))
	return digits == shortest && (digits == "" || power == same)
}

// significant returns the digits of a decimal without zeros at its ends, and the power of ten of the last of them.
func significant(decimal string) (digits string, power int) {
	mantissa, exponent := strings.TrimLeft(decimal, "+-"), ""
	if e := strings.IndexAny(mantissa, "eE"); e >= 0 {
		mantissa, exponent = mantissa[:e], mantissa[e+1:]
	}
	power, _ = strconv.Atoi(exponent) // one that is none is 0, or that of a number out of range
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	digits = strings.TrimRight(all, "0")
	return digits, power - len(fraction) + len(all) - len(digits)
}

func (d *decoder) digits() int {
	n := 0
	for c := d.peek(); '0' <= c && c <= '9'; c = d.peek() {
		d.at++
		n++
	}
	return n
}

// scanString reads a JSON string whose opening quote lies before start. It returns the text and the offset
// after the closing quote, or why it is none and where.
func scanString(s string, start int) (text string, end int, why string) {
	i := start
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= ' ' && s[i] < utf8.RuneSelf {
		i++
	}
	if i < len(s) && s[i] == '"' {
		return s[start:i], i + 1, ""
	}
	b := append(make([]byte, 0, i-start+16), s[start:i]...)
	for i < len(s) {
		switch c := s[i]; {
		case c == '"':
			return string(b), i + 1, ""
		case c < ' ':
			return "", i, "a control character in a string"
		case c == '\\':
			if b, end, why = appendUnescaped(b, s, i); why != "" {
				return "", i, why
			}
			i = end
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return "", i, "text that is not UTF-8"
			}
			b = append(b, s[i:i+n]...)
			i += n
		}
	}
	return "", i, "a string is not closed"
}

// appendUnescaped appends what the escape at s[i] stands for, and returns the offset after it.
func appendUnescaped(b []byte, s string, i int) (_ []byte, end int, why string) {
	const plain, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i+1 >= len(s) {
		return b, i, "a string is not closed"
	}
	if k := strings.IndexByte(plain, s[i+1]); k >= 0 {
		return append(b, means[k]), i + 2, ""
	}
	r, ok := escapedUnit(s, i)
	switch {
	case !ok:
		return b, i, "an escape that JSON does not have"
	case 0xdc80 <= r && r <= 0xdcff:
		return append(b, byte(r)), i + 6, ""
	case !utf16.IsSurrogate(r):
		return utf8.AppendRune(b, r), i + 6, ""
	}
	low, ok := escapedUnit(s, i+6)
	pair := utf16.DecodeRune(r, low)
	if !ok || pair == utf8.RuneError {
		return b, i, "half a surrogate pair"
	}
	return utf8.AppendRune(b, pair), i + 12, ""
}

// escapedUnit reads the \uXXXX at s[i].
func escapedUnit(s string, i int) (rune, bool) {
	if i+6 > len(s) || s[i] != '\\' || s[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
	return rune(n), err == nil
}
