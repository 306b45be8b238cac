package statestore_test

import (
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// TestAgo: a unit gives way to the next one at its border, and two days are the first that are counted in days.
func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Minute: "0 s", 0: "0 s", time.Minute - 1: "59 s", time.Minute: "1 min", time.Hour - 1: "59 min", time.Hour: "1 h",
		48*time.Hour - 1: "47 h", 48 * time.Hour: "2 days", 1000 * time.Hour: "41 days",
	} {
		if got := statestore.Ago(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
