package cli

import (
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// withDays replaces flags with a duration by ones that take days too, as durations of a program do: 30d, 1d12h.
func withDays(flags []Flag) []Flag {
	for i, f := range flags {
		if d, ok := f.(*DurationFlag); ok {
			flags[i] = &urfave.GenericFlag{
				Name: d.Name, Category: d.Category, Usage: d.Usage, EnvVars: d.EnvVars, Aliases: d.Aliases, Value: new(duration(d.Value)),
			}
		}
	}
	return flags
}

// duration is the value of a flag. Its text is the library's: [Context.Duration] reads it.
type duration time.Duration

// String implements [urfave.Generic].
func (d *duration) String() string { return time.Duration(*d).String() }

// Set implements [urfave.Generic].
func (d *duration) Set(text string) error {
	parsed, err := token.ParseDuration(text)
	if err == nil {
		*d = duration(parsed)
	}
	return err
}
