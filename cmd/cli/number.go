package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// Duration is the value of a [GenericFlag] with a duration, and what it is without the flag. It may have days, as durations of a
// program may: 30d, 1d12h. The library's own flags with a duration know none. [Context.Duration] reads it.
type Duration struct {
	Value time.Duration
	// Least and Most bound what the flag takes. Most 0 is no bound.
	Least, Most time.Duration
}

// String implements [Generic]. Its text is the library's.
func (d *Duration) String() string { return d.Value.String() }

// Set implements [Generic].
func (d *Duration) Set(text string) error {
	given, err := token.ParseDuration(text)
	switch {
	case errors.Is(err, token.ErrTooLong) && given > 0, err == nil && d.Most > 0 && given > d.Most:
		return fmt.Errorf("at most %s", token.FormatDuration(most(d.Most).Truncate(24*time.Hour)))
	case err != nil && given == 0:
		return errors.New("it is no duration such as 90s, 72h or 30d")
	case given < d.Least:
		return fmt.Errorf("at least %s", token.FormatDuration(d.Least))
	}
	d.Value = given
	return nil
}

// Count is the value of a [GenericFlag] with a whole number, and what it is without the flag. [Context.Int] and [Context.Uint64] read it.
type Count struct {
	Value int64
	// Least and Most bound what the flag takes. Most 0 is no bound.
	Least, Most int64
}

// String implements [Generic]. Its text is the library's.
func (c *Count) String() string { return strconv.FormatInt(c.Value, 10) }

// Set implements [Generic].
func (c *Count) Set(text string) error {
	given, err := strconv.ParseInt(text, 10, 64) // the nearest that there is where it is too large
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return errors.New("it is no whole number")
	case given < c.Least:
		return fmt.Errorf("at least %d", c.Least)
	case err != nil, c.Most > 0 && given > c.Most:
		return fmt.Errorf("at most %d", most(c.Most))
	}
	c.Value = given
	return nil
}

// most is an upper bound, which is the largest number where there is none.
func most[T ~int64](bound T) T {
	if bound == 0 {
		return math.MaxInt64
	}
	return bound
}
