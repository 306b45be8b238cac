package plan

import (
	"testing"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestReasonOfARename: what no prop spells, such as an owner tag, differs by the program where the resource has another address
// now. What a prop spells as it was deployed was changed outside all the same.
func TestReasonOfARename(t *testing.T) {
	t.Parallel()
	props := map[string]any{"size": int64(1)}
	for _, c := range []struct {
		from string
		path tree.Path
		want Source
	}{
		{"", "mark[1]", ByWorld}, {"", "size", ByWorld}, {"old", "mark[1]", ByProgram}, {"old", "size", ByWorld},
	} {
		n := declaredAs("new")
		n.From, n.Spec, n.Entry = c.from, &reconcile.Spec{}, &state.Entry{Address: "new", Props: props}
		r := deciding(PlanOptions{}).Reason(n, &reconcile.Job{Props: props}, reconcile.Step{Path: c.path, Have: "one", Want: "other"})
		if r.Source != c.want {
			t.Errorf("%s of a resource from %q: by %s, want by %s", c.path, c.from, r.Source, c.want)
		}
	}
}
