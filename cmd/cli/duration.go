package cli

import (
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// NewDuration returns the value of a [GenericFlag] with a duration, and what it is without the flag. It may have days, as durations of a
// program may: 30d, 1d12h. The library's own flags with a duration know none.
func NewDuration(without time.Duration) Generic { return (*duration)(&without) }

// duration is the value of a flag. Its text is the library's: [Context.Duration] reads it.
type duration time.Duration

// String implements [Generic].
func (d *duration) String() string { return time.Duration(*d).String() }

// Set implements [Generic].
func (d *duration) Set(text string) error {
	parsed, err := token.ParseDuration(text)
	if err == nil {
		*d = duration(parsed)
	}
	return err
}
