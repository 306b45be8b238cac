package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Left is a resource, or a part of one, that a drift plan leaves to the next deploy.
type Left struct {
	Address string `json:"address"`
	Kind    string `json:"kind"`
	// Why is a sentence for people, such as "the program changed it".
	Why string `json:"why"`
	// Reasons are the paths that the program changed since the last deploy, where Have is what was deployed. Those that
	// somebody changed outside athanor as well are there once more, as its own: that is drift too, which the next
	// deploy reverts.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Drift is what a drift plan knows beside what was deployed.
type Drift struct {
	Of   map[string]*Deployed
	Left []Left
	// Stuck are the rows that cannot be compared at all.
	Stuck []Planned
}

// Deployed is what is known of a node as it was deployed last.
type Deployed struct {
	// Literal: its props are values in state, not to be read as tokens; secret are those to be masked.
	Literal bool
	Secret  map[tree.Path]bool
	Needs   []string
	// Moved are the paths that the program changed since, and aside those that are therefore not compared.
	Moved, Aside []tree.Path
}

// Deployed returns how an address was deployed last, nil where that is not known.
func (d *Drift) Deployed(addr string) *Deployed { return d.Of[addr] }

// classifyVanished: what was deployed is missing. It is made again as it was, unless what it was made of is not at
// hand any more.
func (c *Classifier) classifyVanished(n *Node) {
	live := n.Entry.Live()
	n.Plan.Identity = live.Identity
	c.classifyAbsent(n)
	for i := range n.Plan.Reasons {
		n.Plan.Reasons[i].Source = ByWorld
	}
	if n.builtAnew() {
		c.Block(n, reconcile.WithHint(errors.New("it was deleted outside athanor, and what it was created from changed since"), "the next deploy makes it as the program has it now"))
	}
}

// asRecorded lets others go by what state has of a node, whose repair brings it back to that. What is made anew
// will differ, and what is unchanged is as it was seen.
func (n *Node) asRecorded() {
	if n.Was == nil || n.Plan.Action == Create || n.Plan.Action == Replace || n.Plan.Action == Unchanged && !n.Look().Absent {
		return
	}
	n.Attrs, n.Unknown, n.Moving = n.Entry.Live().Attributes, false, nil
}

// yield tells apart what changed outside athanor from what follows from what an object is made of. In a drift plan the
// program's paths are left to the next deploy, and not compared here nor when it is applied.
func (c *Classifier) yield(n *Node) error {
	var err error
	if n.remade, err = n.rebuilt(); err != nil || n.Was == nil {
		return err
	}
	if err := c.changedByBoth(n); err != nil {
		return err
	}
	left := Left{Address: n.Address, Kind: n.Spec.Type, Why: "what it is made of changed"}
	var aside []tree.Path
	for _, s := range n.Look().Steps {
		moved := slices.ContainsFunc(n.Was.Moved, func(p tree.Path) bool { return p.Within(s.Path) })
		if n.remade[s.Path] {
			r := c.Reason(n, n.Job, s)
			r.Source = ByProgram
			left.Reasons = append(left.Reasons, r)
		}
		if moved || n.remade[s.Path] {
			aside = append(aside, s.Path)
		}
	}
	if len(aside) == 0 {
		return nil
	}
	if len(left.Reasons) > 0 {
		c.Drift.Left = append(c.Drift.Left, left)
	}
	n.Was.Aside = append(n.Was.Aside, aside...)
	n.Job.Ignore = slices.Concat(n.Job.Ignore, aside)
	return n.Saw(n.Kind.Compare(n.Job, *n.Look()))
}

// changedByBoth adds to what is left of a node what changed outside athanor of it too, unless the program has taken
// that over.
func (c *Classifier) changedByBoth(n *Node) error {
	if len(n.Was.Moved) == 0 {
		return nil
	}
	job := *n.Job
	job.Ignore = n.Decl.Options.IgnoreChanges
	all, err := n.Kind.Compare(&job, *n.Look())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.Drift.Left, func(l Left) bool { return l.Address == n.Address })
	left := &c.Drift.Left[i]
	for _, s := range all.Steps {
		takenOver := func(r Reason) bool { return r.Path == s.Path && !r.Secret && !s.Secret && tree.Equal(r.Want, s.Have) }
		moved := s.Path.Overlaps
		if slices.ContainsFunc(n.Was.Moved, moved) && !slices.ContainsFunc(left.Reasons, takenOver) {
			left.Reasons = append(left.Reasons, c.Reason(n, n.Job, s))
		}
	}
	return nil
}

// UnfollowedWarnings warns of what keeps the attributes that it was deployed with of something that is made again.
func UnfollowedWarnings(declared []*Node) []string {
	var texts []string
	for _, n := range declared {
		if n.Plan == nil || n.Plan.Action != Create && n.Plan.Action != Replace {
			continue
		}
		for _, user := range n.users {
			if user.Was != nil && user.Was.Literal {
				texts = append(texts, fmt.Sprintf("%s keeps what it knows of %s, which is made again; the next deploy brings it up to date", user.Address, n.Address))
			}
		}
	}
	return texts
}

// Drifted reports whether anything changed outside athanor since the last deploy, repairable or not. What the program
// has taken over since is none.
func (p *Plan) Drifted() bool {
	byWorld := func(r Reason) bool { return r.Source == ByWorld }
	return p.Pending() ||
		slices.ContainsFunc(p.Actions, func(a Planned) bool { return a.Action == Blocked && len(a.Reasons) > 0 }) ||
		slices.ContainsFunc(p.Left, func(l Left) bool { return slices.ContainsFunc(l.Reasons, byWorld) })
}
