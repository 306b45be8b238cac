package token

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrUnknown is what reading an Int, Bool or Duration answers while it is a reference.
var ErrUnknown = errors.New("known only later")

// Int is a whole number or a reference to one; "" is unset.
type Int string

// Bool is true, false or a reference to one of them; "" is unset.
type Bool string

// True and False are the literals of Bool.
const (
	True  Bool = "true"
	False Bool = "false"
)

// Duration is a span of time, such as 90s or 14d, or a reference to one; "" is unset.
type Duration string

// Secret is text whose path is secret by its type: it is masked wherever people could see it.
type Secret string

// Num is n as an Int.
func Num(n int64) Int { return Int(strconv.FormatInt(n, 10)) }

// Of is b as a Bool.
func Of(b bool) Bool { return Bool(strconv.FormatBool(b)) }

// Dur is d as a Duration.
func Dur(d time.Duration) Duration { return Duration(FormatDuration(d)) }

// IsToken reports whether i is a reference.
func (i Int) IsToken() bool { return Has(string(i)) }

// IsToken reports whether b is a reference.
func (b Bool) IsToken() bool { return Has(string(b)) }

// IsToken reports whether d is a reference.
func (d Duration) IsToken() bool { return Has(string(d)) }

// IsToken reports whether s is, or holds, a reference.
func (s Secret) IsToken() bool { return Has(string(s)) }

// Value reads the number; ok is false when it is unset. A reference is ErrUnknown.
func (i Int) Value() (v int64, ok bool, err error) {
	if i == "" {
		return 0, false, nil
	}
	if i.IsToken() {
		return 0, false, ErrUnknown
	}
	v, err = strconv.ParseInt(string(i), 10, 64)
	if err != nil {
		return 0, false, errors.New("want a whole number")
	}
	return v, true, nil
}

// Value reads the truth; ok is false when it is unset. A reference is ErrUnknown.
func (b Bool) Value() (v, ok bool, err error) {
	switch b {
	case "":
		return false, false, nil
	case True, False:
		return b == True, true, nil
	}
	if b.IsToken() {
		return false, false, ErrUnknown
	}
	return false, false, errors.New("want true or false")
}

// Value reads the span; ok is false when it is unset. A reference is ErrUnknown.
func (d Duration) Value() (v time.Duration, ok bool, err error) {
	if d == "" {
		return 0, false, nil
	}
	if d.IsToken() {
		return 0, false, ErrUnknown
	}
	v, err = ParseDuration(string(d))
	return v, err == nil, err
}

const day = 24 * time.Hour

// FormatDuration writes d in its one form: 14d, 1h30m, 90s as 1m30s. [ParseDuration] reads it back.
func FormatDuration(d time.Duration) string {
	if d == math.MinInt64 {
		return "-106751d23h47m16s854ms775us808ns"
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
		d = -d
	}
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", 1}} {
		if n := d / u.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10))
			b.WriteString(u.name)
			d %= u.size
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// ErrTooLong is what [ParseDuration] answers for a duration that no time.Duration can hold.
var ErrTooLong = errors.New("want a duration of 106751d at most")

// ParseDuration reads what time.ParseDuration reads, with days of 24 hours before the other units: 14d,
// 1d12h, 0.5d. A number needs its unit; only 0 needs none. With [ErrTooLong] it gives the longest that there is.
func ParseDuration(s string) (time.Duration, error) {
	d, ok := parseDuration(s)
	if ok {
		return d, nil
	}
	inNumber := false
	small := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			inNumber = false
			return r
		}
		if inNumber {
			return -1
		}
		inNumber = true
		return '1'
	}, s)
	if _, ok := parseDuration(small); !ok {
		return 0, errDuration
	}
	if strings.HasPrefix(s, "-") {
		return math.MinInt64, ErrTooLong
	}
	return math.MaxInt64, ErrTooLong
}

// parseDuration reports false for what is no duration, and for one that is too long.
func parseDuration(s string) (time.Duration, bool) {
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		days, rest = "0", s
	}
	whole, err := time.ParseDuration(days + "h")
	if err != nil || strings.Trim(days, "+-.0123456789") != "" || whole.Abs() > math.MaxInt64/24 {
		return 0, false
	}
	whole *= 24
	if rest == "" && ok {
		return whole, true
	}
	if ok && strings.ContainsAny(rest[:1], "+-") {
		return 0, false
	}
	if strings.HasPrefix(days, "-") {
		rest = "-" + rest
	}
	part, err := time.ParseDuration(rest)
	sum := whole + part
	if err != nil || (whole < 0) == (part < 0) && (sum < 0) != (part < 0) {
		return 0, false
	}
	return sum, true
}

var errDuration = errors.New("want a duration such as 90s, 1h30m or 14d")
