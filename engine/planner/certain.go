package planner

import (
	"context"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// certain reads a declared node again as long as reading may show what was there before the last write, and what it shows
// would lead to another decision.
func (k *walk) certain(ctx context.Context, n *plan.Node) error {
	asked := false
	return observe.Certain(ctx, func() (time.Time, error) {
		if asked {
			n.SetLook(reconcile.Look{})
			n.Looked, n.Current, n.Others, n.Slot, n.Unsought = false, false, nil, 0, false
			k.lookAt(ctx, n)
		}
		asked = true
		if n.Err != nil {
			return time.Time{}, n.Err
		}
		if until := k.olderUntil(n); time.Until(until) > 0 {
			return until, nil
		}
		return time.Time{}, nil
	}, func(until time.Time) {
		if k.tell == nil {
			return
		}
		note := (&reconcile.HiddenError{Until: until}).Error()
		if !n.Look().NotYet {
			note = "reads may still show what was there before the last run, until " + until.Local().Format(time.TimeOnly)
		}
		k.tell(plan.Event{Type: plan.EventProgress, Address: n.Address, Kind: n.Spec.Type, Note: note})
	})
}

// olderUntil returns until when reading may show what was there before the last write, zero when what it shows can be
// believed: it is none of the values that athanor has replaced, or the decision is the same without it.
func (k *walk) olderUntil(n *plan.Node) time.Time {
	if n.Spec.Recorded || k.o.NoObserve || k.o.Dev != nil {
		return time.Time{}
	}
	switch g := n.Present(); {
	case g == nil && (n.Look().Absent || k.lastRun.IsZero() || adopt.Judge(k.Evidence(n, n.Job, *n.Look(), nil)).Verdict != adopt.Ours):
		return time.Time{}
	case g == nil: // the last run may have deleted it
		return k.lastRun.Add(n.Spec.Visibility)
	case n.ReplacedWhole():
		return time.Time{} // it is replaced, whatever reading shows
	case n.Look().NotYet && !declaresState(n, g):
		return n.Look().HiddenUntil
	case n.Look().Absent || time.Since(g.Written) >= n.Spec.Visibility || !k.showsReplaced(n, g):
		return time.Time{}
	default:
		return g.Written.Add(n.Spec.Visibility)
	}
}

// propsOf are the props that a generation was reconciled with, or begun with.
func propsOf(e *state.Entry, g *state.Generation) map[string]any {
	switch {
	case g.Intent != nil && g.Intent.Props != nil:
		return g.Intent.Props
	case g.Props != nil:
		return g.Props
	default:
		return e.Props
	}
}

// declaresState reports whether a node declares what state has, as far as that is known.
func declaresState(n *plan.Node, g *state.Generation) bool {
	if n.Job == nil {
		return false // a creation that was begun with other values
	}
	same := true
	plan.Differences(propsOf(n.Entry, g), n.Job.Props, func(p tree.Path, _, _ any) { same = same && plan.Within(n.Job.Unknown, p) })
	return same
}

// showsReplaced reports whether a value that reading shows is one that athanor has replaced. Any other value was set outside.
// Files are not compared: what was built of them is not kept.
func (k *walk) showsReplaced(n *plan.Node, g *state.Generation) bool {
	if len(g.Replaced) == 0 {
		return false
	}
	job := k.RecordedJob(n, n.Access, g)
	if job.Props = propsOf(n.Entry, g); job.Props == nil {
		return false
	}
	job.Had, job.Ignore = job.Props, n.Entry.Options().IgnoreChanges
	look, err := n.Kind.Compare(job, *n.Look())
	return err == nil && slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool {
		return !plan.IsMarkStep(s) && !slices.ContainsFunc(n.Spec.Files, s.Path.Overlaps) &&
			wasReplaced(g, s)
	})
}

// wasReplaced reports whether a difference shows a value that an update replaced.
func wasReplaced(g *state.Generation, s reconcile.Step) bool {
	for p, digests := range g.Replaced {
		if len(digests) == 0 && p.Overlaps(s.Path) || p == s.Path && slices.Contains(digests, s.HaveDigest) {
			return true
		}
	}
	return false
}
