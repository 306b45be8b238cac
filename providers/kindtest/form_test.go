package kindtest

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/rest"
)

// TestFormOfDocuments is about a test that does not say how the service of its kind keeps documents.
func TestFormOfDocuments(t *testing.T) {
	const says = "house.PostBell creates objects whose ids the service gives"
	if err := sameForm([]string{"house.GetBell", "house.PostBell"}, nil); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %s", err, says)
	}
	for _, call := range []string{"house.PutBell", "house.PostBell"} {
		if err := sameForm([]string{call}, []rest.Documents{{Named: "title"}}); err != nil {
			t.Error(err)
		}
	}
}
