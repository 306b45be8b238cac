package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// AbroadName is an address of another stage as this one writes it: STACK/STAGE:ADDRESS.
func AbroadName(stage statestore.Stage, addr string) string { return stage.String() + ":" + addr }

// SplitAbroad reads STACK/STAGE:ADDRESS.
func SplitAbroad(name string) (stage statestore.Stage, addr string, ok bool) {
	where, addr, ok := strings.Cut(name, ":")
	stack, stageName, both := strings.Cut(where, "/")
	return statestore.Stage{Stack: stack, Name: stageName}, addr, ok && both
}

// BetweenStages refuses to plan a stage while one of its objects is in the state of another stage too, because a move there was
// interrupted. A move that was interrupted before the other stage had the object, or after this one gave it up, needs nothing.
func BetweenStages(ctx context.Context, w *Draft) error {
	refused := &RefusedError{}
	for _, addr := range slices.Sorted(maps.Keys(w.Records)) {
		rec := w.Records[addr]
		other, there, arrives := SplitAbroad(rec.MovingFrom)
		if !arrives {
			var leaves bool
			if other, there, leaves = SplitAbroad(rec.MovingTo); !leaves {
				continue
			}
		}
		snap, err := w.Planner.Store.Load(ctx, other)
		if err != nil {
			return err
		}
		row, known := snap.Rows[there]
		if !known || !state.Shares(w.Snap.Rows[addr], row) {
			w.Records[addr] = rec.Clone()
			w.Records[addr].MovingTo, w.Records[addr].MovingFrom = "", ""
			continue
		}
		source, from, target, to := w.Stage, addr, other, there
		if arrives {
			source, from, target, to = other, there, w.Stage, addr
		}
		refused.Problems = append(refused.Problems, Problem{Address: addr, Err: reconcile.WithHint(
			fmt.Errorf("its move from %s to %s was interrupted: both stages have it", AbroadName(source, from), AbroadName(target, to)),
			"athanor state mv %s %s --stack %s --stage %s finishes it", from, AbroadName(target, to), source.Stack, source.Name)})
	}
	if len(refused.Problems) > 0 {
		return refused
	}
	return nil
}
