package render

import (
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// CodeChange is how the files of code differ that is uploaded as an archive.
type CodeChange struct {
	Added, Modified, Deleted []string
	// Before and After are how many bytes the archives have.
	Before, After int64
}

// mostFiles is how many changed files are named.
const mostFiles = 8

// code says which files changed where a difference is that of two archives, "" where it is not, or the archives are not at hand.
func (s Style) code(r engine.Reason) string {
	have, was := r.Have.(string)
	want, is := r.Want.(string)
	if s.Code == nil || !was || !is || r.Unknown {
		return ""
	}
	before, ok := strings.CutPrefix(have, "sha256:")
	after, both := strings.CutPrefix(want, "sha256:")
	if !ok || !both {
		return ""
	}
	c, known := s.Code(before, after)
	if !known {
		return ""
	}
	var names []string
	for _, group := range []struct {
		sign  string
		names []string
	}{{"M ", c.Modified}, {"A ", c.Added}, {"D ", c.Deleted}} {
		for _, name := range group.names {
			names = append(names, group.sign+oneLine(name))
		}
	}
	text := fmt.Sprintf("%s, %s", counted(len(names), "file"), sizes(c.Before, c.After))
	if more := len(names) - mostFiles; more > 0 && !s.Detailed {
		names = append(names[:mostFiles], fmt.Sprintf("and %d more", more))
	}
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	return text
}

// sizes are two numbers of bytes in the unit of the larger one.
func sizes(before, after int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	a, b, unit := float64(before), float64(after), 0
	for max(a, b) >= 1024 && unit < len(units)-1 {
		a, b, unit = a/1024, b/1024, unit+1
	}
	format := "%.1f"
	if unit == 0 {
		format = "%.0f"
	}
	from, to := fmt.Sprintf(format, a), fmt.Sprintf(format, b)
	if from == to {
		return to + " " + units[unit]
	}
	return from + " → " + to + " " + units[unit]
}
