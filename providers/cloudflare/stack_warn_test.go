package cloudflare_test

import (
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
)

// TestDateIsWarnedOf: a plan warns of an old compatibility date of a Worker that is not there yet, once, and of no other.
func TestDateIsWarnedOf(t *testing.T) {
	s := newStage(t)
	recent := time.Now().AddDate(0, -1, 0).Format(time.DateOnly)
	program := func(st *athanor.Stack) error {
		for name, date := range map[string]string{"old": "2021-01-01", "new": recent} {
			workers.NewWorker(st, name, workers.WorkerProps{Code: workers.Script("export default {}"), CompatibilityDate: date})
		}
		return nil
	}
	for range 2 {
		if _, err := s.plan(program); err != nil {
			t.Fatal(err)
		}
	}
	if have := s.e.Catalog.Warnings(); len(have) != 1 || !strings.HasPrefix(have[0], "old: compatibilityDate 2021-01-01 is older than two years") {
		t.Errorf("warned of %q", have)
	}
	if have := s.e.Catalog.Warnings(); len(have) > 0 {
		t.Errorf("warned again of %q", have)
	}
}
