package props

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first asked for: kinds have many of them, and no command
// needs more than a few. One that is wrong panics then, as [regexp.MustCompile] does.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
