package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// ErrOtherStore is matched by refusals to delete what another store of the stage has marked.
var ErrOtherStore = errors.New("tagged by another state store of this stage")

// named is the identity that a node's thing was named by, "" when none was: what is named may be anybody's.
func (s *finder) named(n *node) string {
	if t := s.take; t != nil && t.Address == n.addr {
		return t.Identity
	}
	if n.decl == nil || n.decl.Options.Adopt == "*" {
		return ""
	}
	return n.decl.Options.Adopt
}

// mayTake reports whether an object that is not ours may be taken over without being named: one without an owner tag,
// and one that was retained.
func mayTake(all bool, n *node, answer adopt.Answer) bool {
	wanted := all || n.decl.Options.Adopt == "*"
	return wanted && answer.Holder == "" && (answer.Owner.IsZero() || answer.Owner.Retained)
}

// ownerError refuses a thing in the words of a verdict.
func ownerError(kind string, look reconcile.Look, answer adopt.Answer) *adopt.OwnerError {
	return &adopt.OwnerError{Kind: kind, Identity: look.Identity, Verdict: answer.Verdict, Owner: answer.Owner, Holder: answer.Holder}
}

// unproven refuses to delete what may be somebody else's by now.
func unproven(n *node, kind, identity string) error {
	return reconcile.WithHint(fmt.Errorf("%s %s has no owner tag, and its name is not proof: it may be another object than the one in state", kind, identity),
		"--allow-delete %s deletes it all the same; `athanor state rm %s` forgets it here", n.addr, n.addr)
}

// proven refuses to replace or delete what may be somebody else's by now.
func (c *classifier) proven(n *node) {
	g := n.rec.Live()
	if g == nil || n.plan.Action != Replace || n.plan.May || n.look.Absent || n.spec.Recorded || c.guards.names(n) {
		return
	}
	spec := n.spec
	if n.replacedWhole() {
		spec = n.presentKind(c.catalog).Spec()
	}
	if adopt.Judge(c.evidenceOf(n, spec, n.job, n.look, g)).Unproven {
		c.refuse(n, unproven(n, spec.Type, n.look.Identity))
	}
}

// otherStore refuses to delete what another store of this stage has marked.
func otherStore(kind, identity string) error {
	return reconcile.WithHint(fmt.Errorf("%s %s is %w", kind, identity, ErrOtherStore), "--take-over lets it be deleted from here")
}

// classifyFound: there is one that the record does not know, or knows only as begun.
func (c *classifier) classifyFound(ctx context.Context, n *node) {
	begun := n.rec.Candidate()
	if n.replacedWhole() {
		classifyMoved(n, begun)
		n.plan.Notes = append(n.plan.Notes, "an interrupted run began it")
		return
	}
	answer := adopt.Judge(c.evidence(n, n.job, n.look, begun))
	c.noteStore(n, answer)
	if answer.Verdict != adopt.Ours {
		c.classifyForeign(ctx, n, answer)
		return
	}
	n.plan.Action, n.plan.From = Recover, n.look.Identity
	if begun != nil {
		n.plan.Notes = append(n.plan.Notes, "an interrupted run began it")
	}
	n.plan.Reasons = c.jobs.reasons(n, n.look.Steps)
	escalate(n)
	if n.plan.Action == Replace && !n.plan.May && answer.OtherStore && !c.o.TakeOver {
		c.refuse(n, otherStore(n.spec.Type, n.look.Identity))
		return
	}
	for _, f := range n.others {
		if store := f.look.Owner.Store; store != "" && store != c.store && !c.o.TakeOver {
			c.refuse(n, otherStore(f.Kind, f.look.Identity))
			return
		}
	}
	if begun == nil && !n.spec.Marked && (n.spec.Same || n.spec.ByParent) {
		c.claimedAbroad(ctx, n)
	}
}

// noteStore says aloud that another record of this stage is at work.
func (c *classifier) noteStore(n *node, answer adopt.Answer) {
	if answer.OtherStore {
		n.plan.Notes = append(n.plan.Notes, "it was tagged by another state store of this stage")
		c.strangers++
	}
}

// storeWarnings says what two stores of one stage mean.
func storeWarnings(strangers int) []string {
	if strangers == 0 {
		return nil
	}
	return []string{fmt.Sprintf("another state store has tagged %d of these for the same stack and stage: if it is still in use, the two "+
		"take objects over from each other; keep one of them, or give one another --stage", strangers)}
}

// classifyForeign: there is one, and it is not ours, or nothing tells whose.
func (c *classifier) classifyForeign(ctx context.Context, n *node, answer adopt.Answer) {
	refusal := ownerError(n.spec.Type, n.look, answer)
	named := c.named(n)
	switch {
	case answer.Holder != "":
		c.refuse(n, reconcile.WithHint(refusal, "renamedFrom: [%s] moves it here; two addresses cannot share it", answer.Holder))
		return
	case answer.Sibling && c.elses(n, answer.Owner.Address):
		c.refuse(n, reconcile.WithHint(refusal, "%s is declared too, and two addresses cannot share it", answer.Owner.Address))
		return
	case named != "" && n.job.ID == named, mayTake(c.o.Adopt, n, answer):
	case answer.Sibling:
		c.refuse(n, reconcile.WithHint(refusal, "renamedFrom: [%s] says that it is the same resource", answer.Owner.Address))
		return
	case answer.Owner.Retained:
		c.refuse(n, reconcile.WithHint(refusal, "--adopt takes it over, or give the resource another name"))
		return
	case !answer.Owner.IsZero():
		c.refuse(n, reconcile.WithHint(refusal, "to take it over all the same, name it: options: {adopt: %[1]q} (Adopt(%[1]q) in Go)", n.look.Identity))
		return
	default:
		c.refuse(n, reconcile.WithHint(refusal, "take it over with --adopt, or give the resource another name"))
		return
	}
	c.classifyAdopted(ctx, n, answer)
}

// classifyAdopted: somebody else's thing is taken over. What nothing can change in place is announced as a replacement
// where that was asked for, and else refused.
func (c *classifier) classifyAdopted(ctx context.Context, n *node, answer adopt.Answer) {
	n.plan.Action, n.plan.From = Adopt, n.look.Identity
	n.plan.Reasons = c.jobs.reasons(n, n.look.Steps)
	if o := answer.Owner; !o.IsZero() {
		n.plan.Notes = append(n.plan.Notes, fmt.Sprintf("it was %s of %s/%s, which no longer owns it then", o.Address, o.Stack, o.Stage))
	}
	if !n.spec.Marked {
		c.claimedAbroad(ctx, n)
	}
	fixed := certain(n.look.Replaces())
	if len(fixed) == 0 || n.plan.Action != Adopt {
		return
	}
	if matches(c.o.Replace, n.addr) && answer.Owner.IsZero() {
		n.plan.Action = Replace
		return
	}
	c.refuse(n, reconcile.WithHint(fmt.Errorf("cannot be adopted as declared: %w", &reconcile.ReplaceError{Steps: fixed}),
		"declare what is there, adopt it, and change it afterwards; or --replace %s", n.addr))
}

// claimedAbroad finds out whether another stage of this store has on record what carries no mark. Where an identity
// says the account it is one thing; without one it may be of another machine or folder, and is only said.
func (c *classifier) claimedAbroad(ctx context.Context, n *node) {
	holder, err := c.abroad.owner(ctx, state.Object{Kind: n.spec.Type, Location: n.access.Place, Identity: n.look.Identity})
	switch {
	case err != nil:
		c.block(n, err)
	case holder == "":
	case n.access.Place.Account == "":
		n.plan.Notes = append(n.plan.Notes, "also in state as "+holder+": if both are the same object, keep one of the two addresses")
	default:
		e := &adopt.OwnerError{Kind: n.spec.Type, Identity: n.look.Identity, Verdict: adopt.Foreign, Holder: holder}
		c.refuse(n, reconcile.WithHint(e, "let it go there first (forget), or give the resource another name"))
	}
}

// oneOwner refuses that two addresses claim one thing which neither has on record.
func (c *classifier) oneOwner() {
	claims := map[state.Object]*node{}
	for _, n := range c.declared {
		if n.plan == nil || n.look.Absent || n.rec.Live() != nil || n.look.Identity == "" || n.spec.Recorded {
			continue
		}
		switch n.plan.Action {
		case Adopt, Recover, Replace:
		default:
			continue
		}
		p := state.Object{Kind: n.spec.Type, Location: n.access.Place, Identity: n.look.Identity}
		if other := claims[p]; other != nil {
			c.refuse(n, fmt.Errorf("%s names the same %s: %s", other.addr, p.Kind, p.Identity))
			continue
		}
		claims[p] = n
	}
}

// permit decides whether what a look shows may be taken and changed: it is ours, or the plan says that it is taken over,
// and the plan announces every change that it calls for.
func (s *settler) permit(n *node, job *reconcile.Job, g *state.Generation, look reconcile.Look) error {
	if n.spec.Recorded {
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
	return s.permitSteps(n, g, look)
}

// claim enters an object as this address's own, where it was not yet.
func (s *settler) claim(n *node, g *state.Generation, look reconcile.Look, answer adopt.Answer, found bool) error {
	if !found && (n.doing() != Adopt || answer.Verdict == adopt.Ours) {
		return nil
	}
	if by := s.jobs.owners.Claim(state.Object{Kind: n.spec.Type, Location: n.access.Place, Identity: look.Identity}, n.addr); by != "" {
		return &adopt.OwnerError{Kind: n.spec.Type, Identity: look.Identity, Verdict: adopt.Foreign, Holder: by}
	}
	g.Identity = look.Identity
	if n.doing() == Create && n.unsought {
		s.came(n, answer, look)
	}
	return nil
}

// adopts reports whether somebody else's thing may be taken over: the one that the plan showed, as it was then, or
// one that no plan could look for.
func (s *settler) adopts(n *node, look reconcile.Look, answer adopt.Answer, found bool) bool {
	if n.doing() == Adopt {
		return look.Identity == n.look.Identity && look.Owner == n.look.Owner && answer.Holder == ""
	}
	return n.doing() == Create && n.unsought && found && mayTake(s.adoptAll, n, answer)
}

// came accounts for a thing that the plan could not look for, since what it goes by was not known yet.
func (s *settler) came(n *node, answer adopt.Answer, look reconcile.Look) {
	n.as = Recover
	if answer.Verdict != adopt.Ours {
		n.as = Adopt
	}
	note := "found: " + look.Identity
	if answer.OtherStore {
		note += ", tagged by another state store of this stage"
	}
	s.emit(Event{Type: EventWarning, Address: n.addr, Kind: n.kindName(), Action: n.doing(), Note: note})
}

// ours keeps of several finds those that are ours, if there are any: what is somebody else's is nothing to condemn.
func (s *finder) ours(n *node, finds []found) []found {
	if len(finds) < 2 {
		return finds
	}
	own := slices.Clone(finds)
	own = slices.DeleteFunc(own, func(f found) bool {
		return adopt.Judge(s.evidence(n, f.job, f.look, nil)).Verdict != adopt.Ours
	})
	if len(own) == 0 {
		return finds[:1]
	}
	return own
}

// allowed judges whose an object is that a look shows, and whether the plan announces that it is taken over where it
// is not in state.
func (s *settler) allowed(n *node, job *reconcile.Job, g *state.Generation, look reconcile.Look) (answer adopt.Answer, found bool, err error) {
	found = g.Identity == "" && g.Intent == nil
	answer = adopt.Judge(s.evidence(n, job, look, g))
	if answer.Verdict != adopt.Ours && !s.adopts(n, look, answer, found) {
		return answer, found, reconcile.WithHint(ownerError(n.spec.Type, look, answer), "take it over with --adopt, or give the resource another name")
	}
	if found && n.doing() == Create && !n.unsought && s.mayBeOlder(g) {
		return answer, found, reconcile.ErrReadAgain // the plan saw none: it may have been deleted before, and be shown still
	}
	if found || n.doing() == Adopt && answer.Verdict != adopt.Ours {
		err = s.permits(n, s.proposed(n, operation.Take, g, look))
	}
	return answer, found, err
}
