package execute

import (
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// permit decides whether what a look shows may be taken and changed: it is ours, or the plan says that it is taken over,
// and the plan announces every change that it calls for.
func (s *settler) permit(n *plan.Node, job *reconcile.Job, g *state.Generation, look reconcile.Look) error {
	if n.Spec.Recorded {
		if len(look.Steps) == 0 {
			return nil
		}
		return s.permitRun(n, job)
	}
	answer, found, err := s.allowed(n, job, g, look)
	if err != nil {
		return err
	}
	if err := s.claim(n, g, look, answer, found); err != nil {
		return err
	}
	return s.permitSteps(n, job, g, look)
}

// claim enters an object as this address's own, where it was not yet.
func (s *settler) claim(n *plan.Node, g *state.Generation, look reconcile.Look, answer adopt.Answer, found bool) error {
	if !found && (n.Doing() != plan.Adopt || answer.Verdict == adopt.Ours) {
		return nil
	}
	if by := s.Jobs.Owners.Claim(state.Object{Kind: n.Spec.Type, Location: n.Access.Place, Identity: look.Identity}, n.Address); by != "" {
		return &adopt.OwnerError{Kind: n.Spec.Type, Identity: look.Identity, Verdict: adopt.Foreign, Holder: by}
	}
	g.Identity = look.Identity
	if n.Doing() == plan.Create && n.Unsought {
		s.came(n, answer, look)
	}
	return nil
}

// adopts reports whether somebody else's object may be taken over: the one that the plan showed, as it was then, or
// one that no plan could look for.
func (s *settler) adopts(n *plan.Node, look reconcile.Look, answer adopt.Answer, found bool) bool {
	if n.Doing() == plan.Adopt {
		return look.Identity == n.Look().Identity && look.Owner == n.Look().Owner && answer.Holder == ""
	}
	return n.Doing() == plan.Create && n.Unsought && found && plan.MayTake(s.adoptAll, n, answer)
}

// came accounts for an object that the plan could not look for, since what it goes by was not known yet.
func (s *settler) came(n *plan.Node, answer adopt.Answer, look reconcile.Look) {
	n.As = plan.Recover
	if answer.Verdict != adopt.Ours {
		n.As = plan.Adopt
	}
	note := "found: " + look.Identity
	if answer.OtherStore {
		note += ", tagged by another state store of this stage"
	}
	s.emit(plan.Event{Type: plan.EventWarning, Address: n.Address, Kind: n.KindName(), Action: n.Doing(), Note: note})
}

// allowed judges whose an object is that a look shows, and whether the plan announces that it is taken over where it
// is not in state.
func (s *settler) allowed(n *plan.Node, job *reconcile.Job, g *state.Generation, look reconcile.Look) (answer adopt.Answer, found bool, err error) {
	found = g.Identity == "" && g.Intent == nil
	answer = adopt.Judge(s.Evidence(n, job, look, g))
	if answer.Verdict != adopt.Ours && !s.adopts(n, look, answer, found) {
		return answer, found, reconcile.WithHint(plan.OwnerError(n.Spec.Type, look, answer), "take it over with --adopt, or give the resource another name")
	}
	if found && n.Doing() == plan.Create && !n.Unsought && s.mayBeOlder(g) {
		return answer, found, reconcile.ErrReadAgain // the plan saw none: it may have been deleted before, and be shown still
	}
	if found || n.Doing() == plan.Adopt && answer.Verdict != adopt.Ours {
		err = s.permits(n, s.proposed(n, operation.Take, g, look))
	}
	return answer, found, err
}
