package savedplan_test

import (
	"errors"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// TestAsClaimed refuses a submitted plan that does more, less or something else than the lines that were approved.
func TestAsClaimed(t *testing.T) {
	t.Parallel()
	p := &engine.Plan{Actions: []engine.Planned{
		{Address: "a", Action: engine.Create, Kind: "local.File"}, {Address: "b", Action: engine.Unchanged, Kind: "local.File"}, {Address: "c", Action: engine.Delete, Kind: "local.File"},
	}}
	honest := []wire.PlanLine{{Address: "a", Action: "create", Kind: "local.File"}, {Address: "c", Action: "delete", Kind: "local.File"}}
	if err := savedplan.AsClaimed(p, wire.Plan{NewPlan: wire.NewPlan{Lines: honest}}); err != nil {
		t.Error(err)
	}
	for name, lines := range map[string][]wire.PlanLine{
		"a deletion that is not shown": honest[:1],
		"an update that is none":       {honest[0], {Address: "c", Action: "update", Kind: "local.File"}},
		"another resource":             {honest[0], {Address: "d", Action: "delete", Kind: "local.File"}},
		"nothing":                      nil,
	} {
		if err := savedplan.AsClaimed(p, wire.Plan{NewPlan: wire.NewPlan{Lines: lines}}); !errors.Is(err, engine.ErrNotApproved) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
