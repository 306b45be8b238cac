package render

import (
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// mostFiles is how many changed files are named.
const mostFiles = 8

// files says which files changed of a value that is made of files, such as code. A file that was deleted counts among those that there are.
func (s Style) files(c *reconcile.FileChanges) string {
	text := howMany(c) + ", " + sizes(c.Before, c.After)
	if c.CountedAlone {
		return text
	}
	var names []string
	glue := " "
	if s.Width > 0 {
		glue = unbroken // what was done to a file stays beside its name
	}
	for _, group := range []struct {
		sign  string
		names []string
	}{{"M", c.Modified}, {"A", c.Added}, {"D", c.Deleted}} {
		for _, name := range group.names {
			names = append(names, group.sign+glue+oneLine(name))
		}
	}
	if c.Count+len(c.Deleted) == 1 {
		return strings.Join(names, ", ") + ", " + sizes(c.Before, c.After)
	}
	if more := len(names) - mostFiles; more > 0 && !s.Detailed {
		names = append(names[:mostFiles], fmt.Sprintf("and %d more", more))
	}
	return text + ": " + strings.Join(names, ", ")
}

// howMany says how many files changed, of how many.
func howMany(c *reconcile.FileChanges) string {
	all := counted(c.Count+len(c.Deleted), "file")
	if c.CountedAlone || c.Count+len(c.Deleted) == 1 {
		return all
	}
	return fmt.Sprintf("%d of %s", len(c.Added)+len(c.Modified)+len(c.Deleted), all)
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
