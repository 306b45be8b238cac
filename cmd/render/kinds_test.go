package render

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

func TestKindShowsBounds(t *testing.T) {
	type bounded struct {
		Name    string         `prop:"required,maxlen=80"`
		Timeout *time.Duration `prop:"min=0s,max=12h,default=30s"`
		Retries *int           `prop:"min=1"`
		Size    *int           `prop:"max=2048,immutable"`
		Labels  []string       `prop:"maxitems=5,maxlen=20"`
	}
	fields, err := props.Fields(reflect.TypeFor[bounded](), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	Kind(&out, "house.Lamp", &reconcile.Spec{Doc: "A lamp."}, fields, nil)
	for _, line := range []string{
		"  name  string  (required, at most 80 characters)",
		"  timeout  duration  (default 30s, 0s to 12h)",
		"  retries  int  (at least 1)",
		"  size  int  (replaces, at most 2048)",
		"  labels  list of string  (at most 5 entries, at most 20 characters)",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("want %q in\n%s", line, out.String())
		}
	}
}
