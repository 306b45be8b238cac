package plan

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// ErrOtherStore is matched by refusals to delete what carries the owner tag of another store of the stage.
var ErrOtherStore = errors.New("tagged by another state store of this stage")

// MayTake reports whether an object that is not ours may be taken over without being named: one without an owner tag,
// and one that was retained.
func MayTake(all bool, n *Node, answer adopt.Answer) bool {
	wanted := all || n.Decl.Options.Adopt == "*"
	return wanted && answer.Holder == "" && (answer.Owner.IsZero() || answer.Owner.Retained)
}

// OwnerError refuses an object in the words of a verdict.
func OwnerError(kind string, look reconcile.Look, answer adopt.Answer) *adopt.OwnerError {
	return &adopt.OwnerError{Kind: kind, Identity: look.Identity, Verdict: answer.Verdict, Owner: answer.Owner, Holder: answer.Holder}
}

// Unproven refuses to delete what may be somebody else's by now.
func Unproven(n *Node, kind, identity string) error {
	return reconcile.WithHint(fmt.Errorf("%s %s has no owner tag, and its name is not proof: it may be another object than the one in state", kind, identity),
		"--allow-delete %s deletes it all the same; `athanor state rm %s` forgets it here", n.Address, n.Address)
}

// proven refuses to replace or delete what may be somebody else's by now.
func (c *Classifier) proven(n *Node) {
	g := n.Entry.Live()
	if g == nil || n.Plan.Action != Replace || n.Plan.May || n.Look().Absent || n.Spec.Recorded || c.Guards.Names(n) {
		return
	}
	spec := n.Spec
	if n.ReplacedWhole() {
		spec = n.PresentKind(c.Catalog).Spec()
	}
	if adopt.Judge(c.EvidenceOf(n, spec, n.Job, *n.Look(), g)).Unproven {
		c.Refuse(n, Unproven(n, spec.Type, n.Look().Identity))
	}
}

// OtherStore refuses to delete what carries the owner tag of another store of this stage.
func OtherStore(kind, identity string) error {
	return reconcile.WithHint(fmt.Errorf("%s %s is %w", kind, identity, ErrOtherStore), "--take-over lets it be deleted from here")
}

// classifyFound: there is one that the record does not know, or knows only as begun.
func (c *Classifier) classifyFound(n *Node) {
	begun := n.Entry.Candidate()
	if n.ReplacedWhole() {
		classifyMoved(n, begun)
		n.Plan.Notes = append(n.Plan.Notes, "an interrupted run began it")
		return
	}
	answer := adopt.Judge(c.Evidence(n, n.Job, *n.Look(), begun))
	c.noteStore(n, answer)
	if answer.Verdict != adopt.Ours {
		c.classifyForeign(n, answer)
		return
	}
	n.Plan.Action, n.Plan.From = Recover, n.Look().Identity
	if begun != nil {
		n.Plan.Notes = append(n.Plan.Notes, "an interrupted run began it")
	}
	n.Plan.Reasons = c.reasons(n)
	escalate(n)
	if n.Plan.Action == Replace && !n.Plan.May && answer.OtherStore && !c.Options.TakeOver {
		c.Refuse(n, OtherStore(n.Spec.Type, n.Look().Identity))
		return
	}
	for _, f := range n.Others {
		if store := f.Look.Owner.Store; store != "" && store != c.Store && !c.Options.TakeOver {
			c.Refuse(n, OtherStore(f.Kind, f.Look.Identity))
			return
		}
	}
	if begun == nil && n.Unmarked() {
		c.claimedAbroad(n)
	}
}

// Unmarked reports a kind whose objects carry no owner tag, and are ours by their content or their parent.
func (n *Declaration) Unmarked() bool { return !n.Spec.Marked && (n.Spec.Same || n.Spec.ByParent) }

// noteStore says aloud that another record of this stage is at work.
func (c *Classifier) noteStore(n *Node, answer adopt.Answer) {
	if answer.OtherStore {
		n.Plan.Notes = append(n.Plan.Notes, "it was tagged by another state store of this stage")
		c.Strangers++
	}
}

// StoreWarnings says what two stores of one stage mean.
func StoreWarnings(strangers int) []string {
	if strangers == 0 {
		return nil
	}
	return []string{fmt.Sprintf("another state store has tagged %d of these for the same stack and stage: if it is still in use, the two "+
		"take objects over from each other; keep one of them, or give one another --stage", strangers)}
}

// classifyForeign: there is one, and it is not ours, or nothing tells whose.
func (c *Classifier) classifyForeign(n *Node, answer adopt.Answer) {
	if err := c.refusesForeign(n, answer); err != nil {
		c.Refuse(n, err)
		return
	}
	c.classifyAdopted(n, answer)
}

// refusesForeign returns why an object that is not ours is not taken over, nil when it is.
func (c *Classifier) refusesForeign(n *Node, answer adopt.Answer) error {
	refusal := OwnerError(n.Spec.Type, *n.Look(), answer)
	named := c.Options.Take.Named(n)
	switch {
	case answer.Holder != "":
		return reconcile.WithHint(refusal, "renamedFrom: [%s] moves it here; two addresses cannot share it", answer.Holder)
	case answer.Sibling && c.Elses(n, answer.Owner.Address):
		return reconcile.WithHint(refusal, "%s is declared too, and two addresses cannot share it", answer.Owner.Address)
	case named != "" && n.Job.ID == named, MayTake(c.Options.Adopt, n, answer):
		return nil
	case answer.Sibling:
		return reconcile.WithHint(refusal, "renamedFrom: [%s] says that it is the same resource", answer.Owner.Address)
	case answer.Owner.Retained:
		return reconcile.WithHint(refusal, "--adopt takes it over, or give the resource another name")
	case !answer.Owner.IsZero():
		return reconcile.WithHint(refusal, "to take it over all the same, name it: options: {adopt: %[1]q} (Adopt(%[1]q) in Go)", n.Look().Identity)
	default:
		return reconcile.WithHint(refusal, "take it over with --adopt, or give the resource another name")
	}
}

// classifyAdopted: somebody else's object is taken over. What nothing can change in place is announced as a replacement
// where that was asked for, and else refused.
func (c *Classifier) classifyAdopted(n *Node, answer adopt.Answer) {
	n.Plan.Action, n.Plan.From = Adopt, n.Look().Identity
	n.Plan.Reasons = c.reasons(n)
	if o := answer.Owner; !o.IsZero() {
		n.Plan.Notes = append(n.Plan.Notes, fmt.Sprintf("it was %s of %s/%s, which no longer owns it then", o.Address, o.Stack, o.Stage))
	}
	if !n.Spec.Marked {
		c.claimedAbroad(n)
	}
	fixed := CertainSteps(n.Look().Replaces())
	if len(fixed) == 0 || n.Plan.Action != Adopt {
		return
	}
	if Matches(c.Options.Replace, n.Address) && answer.Owner.IsZero() {
		n.Plan.Action = Replace
		return
	}
	c.Refuse(n, reconcile.WithHint(fmt.Errorf("cannot be adopted as declared: %w", &reconcile.ReplaceError{Steps: fixed}),
		"declare what is there, adopt it, and change it afterwards; or --replace %s", n.Address))
}

// AsksAbroad reports whether what is decided of a found object goes by the owners of objects in other stages.
func (c *Classifier) AsksAbroad(n *Node) bool {
	if n.Spec.Marked || n.Look().Absent || n.Entry.Live() != nil || n.ReplacedWhole() || n.Spec.Recorded {
		return false
	}
	begun := n.Entry.Candidate()
	answer := adopt.Judge(c.Evidence(n, n.Job, *n.Look(), begun))
	if answer.Verdict == adopt.Ours {
		return begun == nil && n.Unmarked()
	}
	return c.refusesForeign(n, answer) == nil
}

// claimedAbroad goes by whether another stage of this store has in state what carries no owner tag. Where an identity
// says the account it is one object; without one it may be of another machine or folder, and is only said.
func (c *Classifier) claimedAbroad(n *Node) {
	holder := c.Abroad[SeenObject(n)]
	switch {
	case c.AbroadErr != nil:
		c.Block(n, c.AbroadErr)
	case holder == "":
	case n.Access.Place.Account == "":
		n.Plan.Notes = append(n.Plan.Notes, "also in state as "+holder+": if both are the same object, keep one of the two addresses")
	default:
		e := &adopt.OwnerError{Kind: n.Spec.Type, Identity: n.Look().Identity, Verdict: adopt.Foreign, Holder: holder}
		c.Refuse(n, reconcile.WithHint(e, "let it go there first (forget), or give the resource another name"))
	}
}

// OneOwner refuses that two addresses claim one object which neither has in state.
func (c *Classifier) OneOwner() {
	claims := map[state.Object]*Node{}
	for _, n := range c.Declared {
		if n.Plan == nil || n.Look().Absent || n.Entry.Live() != nil || n.Look().Identity == "" || n.Spec.Recorded {
			continue
		}
		switch n.Plan.Action {
		case Adopt, Recover, Replace:
		default:
			continue
		}
		p := SeenObject(n)
		if other := claims[p]; other != nil {
			c.Refuse(n, fmt.Errorf("%s names the same %s: %s", other.Address, p.Kind, p.Identity))
			continue
		}
		claims[p] = n
	}
}
