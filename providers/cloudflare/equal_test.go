package cloudflare_test

import (
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic"
)

// silence declares an object without a name and without an owner tag: nothing but what is declared identifies it.
func silence(p generic.Props) athanor.Program {
	return func(s *athanor.Stack) error {
		generic.NewResource(s, "silence", "cloudflare.alerting.Silence", p)
		return nil
	}
}

// TestReplacedByLess replaces an object by one that is declared with less. All that is declared of the new one the old one
// has too, and yet the old one is not taken for it.
func TestReplacedByLess(t *testing.T) {
	s := newStage(t)
	less := generic.Props{"start_time": "2026-01-01T00:00:00Z", "policy_id": "0da2b59ef118439d8097bdfb215203c9"}
	more := generic.Props{"end_time": "2026-02-01T00:00:00Z", "start_time": less["start_time"], "policy_id": less["policy_id"]}
	s.deploy(silence(more))
	path := "/accounts/ACCOUNT/alerting/v3/silences"
	before := s.result(path).([]any)[0].(map[string]any)
	if sum := s.deploy(silence(less)); sum.Replaced != 1 || sum.Failed+sum.Blocked != 0 {
		t.Errorf("replaced: %+v", sum)
	}
	all := s.result(path).([]any)
	if len(all) != 1 {
		t.Fatalf("there are %v", all)
	}
	if now := all[0].(map[string]any); now["id"] == before["id"] || now["end_time"] == before["end_time"] {
		t.Errorf("it was %v, and is %v", before, now)
	}
	s.s.Reset()
	if sum := s.deploy(silence(less)); sum.Created+sum.Updated+sum.Replaced+sum.Deleted != 0 || len(s.s.Wrote()) > 0 {
		t.Errorf("nothing changed: %+v, wrote %v", sum, s.s.Wrote())
	}
}
