package session

import (
	"testing"
	"time"
)

// TestCostIsThatOfThePlan: a plan that is shown again after its reader thought about it took as long as before.
func TestCostIsThatOfThePlan(t *testing.T) {
	began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return began.Add(d) }
	for name, c := range map[string]struct {
		reads     int64
		made, now time.Time
		want      string
	}{
		"shown at once":     {2, at(time.Second), at(time.Second), "2 reads, 1.0s"},
		"shown again":       {2, at(time.Second), at(time.Hour), "2 reads, 1.0s"},
		"made by somebody":  {1, at(-time.Hour), at(time.Second), "1 read, 1.0s"},
		"never made":        {1, time.Time{}, at(time.Second), "1 read, 1.0s"},
		"without any reads": {0, at(time.Second), at(time.Second), ""},
	} {
		if got := costOf(c.reads, began, c.made, c.now); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
