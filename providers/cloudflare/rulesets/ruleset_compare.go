package rulesets

import (
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compareRuleset states every aspect of our rules, each rule by its reference, and where they stand. What others have in
// the phase is not looked at beyond that.
func compareRuleset(d *kind.Diff[liveRuleset], want RulesetProps, live liveRuleset) {
	kind.Compare(d, rulesetTable, want, RulesetProps{Zone: live.scope.zone.As(want.Zone), Phase: live.phase})
	ours := live.ours()
	change, add, drop := patchRules(want), addRules(want), dropRules(want)
	for _, op := range []*kind.Operation[liveRuleset]{add, drop} { // where the rules stand shows when all are there
		op.Affects = []tree.Path{"before", "after", "index", tree.Path("rules").Key("order")}
	}
	if mine, theirs := live.taken(); len(theirs) > 0 {
		reconcile.List(d, mark, mine, theirs, change)
	}
	for i, r := range want.Rules {
		at := tree.Path("rules").Index(i)
		have, there := ours[r.Ref]
		if !there {
			reconcile.Value(d, at, any(r), nil, add)
			continue
		}
		if r.Logging == nil && token.Has(r.Action) {
			r.Logging = have.Logging // the default is the action's
		}
		kind.CompareAt(d, at, ruleTable, r, have, change)
	}
	if slices.ContainsFunc(want.refs(), token.Has) {
		return // which of the others are wanted is known only later
	}
	extra := len(want.Rules)
	for i, r := range live.Rules {
		if ref := own(live.name, r.Ref); ref != "" && live.surplus(i, want.has) {
			reconcile.Value(d, tree.Path("rules").Index(extra), nil, any(r.declared(live.name)), drop)
			extra++
		}
	}
	compareOrder(d, want, live)
}

// mark is the path that owner tags are stated at. What tells rules of ours is their references.
const mark = tree.Path("mark")

// taken are the references that rules of others will have, and those that they have.
func (l liveRuleset) taken() (mine, theirs []string) {
	for _, r := range l.Rules {
		if r.theirs != "" {
			mine, theirs = append(mine, r.Ref), append(theirs, r.theirs)
		}
	}
	return mine, theirs
}

// takes reports whether one of ours is a rule of others still.
func (l liveRuleset) takes(ref string) bool {
	i := at(l.Rules, prefix(l.name)+ref)
	return i >= 0 && l.Rules[i].theirs != ""
}

// compareOrder states in which order ours stand, and where among others. While one is missing there is no order yet:
// where it is added follows from the same props.
func compareOrder(d *kind.Diff[liveRuleset], want RulesetProps, live liveRuleset) {
	refs := slices.DeleteFunc(live.refs(), func(ref string) bool { return !want.has(ref) })
	if len(refs) < len(want.Rules) {
		return
	}
	move := moveRules(want)
	reconcile.Value(d, tree.Path("rules").Key("order"), want.refs(), refs, move)
	place := placeOf(want, live.name, live.Rules)
	switch {
	case place.holds(live.Rules):
	case want.Before != "":
		reconcile.Value(d, "before", want.Before, "", move)
	case want.After != "":
		reconcile.Value(d, "after", want.After, "", move)
	case want.Index != nil:
		reconcile.Value(d, "index", *want.Index, indexOf(live.name, live.Rules, at(live.Rules, place.first)), move)
	}
}

func (p RulesetProps) refs() []string {
	all := make([]string, len(p.Rules))
	for i, r := range p.Rules {
		all[i] = r.Ref
	}
	return all
}

func (p RulesetProps) has(ref string) bool { return slices.Contains(p.refs(), ref) }

// refs are the author's references of our rules, in the order of the phase.
func (l liveRuleset) refs() []string {
	var all []string
	for _, r := range l.Rules {
		if ref := own(l.name, r.Ref); ref != "" && !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	}
	return all
}

// ours are our rules by the author's references, as one would declare them.
func (l liveRuleset) ours() map[string]Rule {
	all := map[string]Rule{}
	for _, ref := range l.refs() {
		all[ref] = l.Rules[at(l.Rules, prefix(l.name)+ref)].declared(l.name)
	}
	return all
}

// surplus reports a rule of ours that is not wanted, or that is the copy of one before it.
func (l liveRuleset) surplus(i int, wanted func(ref string) bool) bool {
	ref := l.Rules[i].Ref
	return !wanted(own(l.name, ref)) || at(l.Rules, ref) < i
}

// at is where a rule stands, by its reference or its id; -1 when it is not there.
func at(rules []shownRule, refOrID string) int {
	return slices.IndexFunc(rules, func(r shownRule) bool { return r.Ref == refOrID || r.ID == refOrID })
}

// place is where our rules stand among those of others.
type place struct {
	name          string
	first         string // the reference in Cloudflare of the first of ours
	last          string // that of the last
	before, after string // of or with whose rule
	index         int    // of the first, from 1; 0: anywhere
}

// placeOf is where the rules are to be. Of all rules of ours the last one in the phase has to come before the other's.
func placeOf(want RulesetProps, name string, rules []shownRule) place {
	p := place{name: name, before: want.Before, after: want.After}
	for _, r := range rules {
		if ref := own(name, r.Ref); ref != "" && want.has(ref) {
			if p.first == "" {
				p.first = r.Ref
			}
			p.last = r.Ref
		}
	}
	if want.Index != nil {
		p.index = most(*want.Index, name, rules)
	}
	return p
}

// indexOf is where a rule of ours stands among those of others, from 1.
func indexOf(name string, rules []shownRule, now int) int { return len(others(name, rules[:now])) + 1 }

// most is an index, or the last that there is.
func most(index int, name string, rules []shownRule) int {
	return min(index, len(others(name, rules))+1)
}

// holds reports that ours stand where they are to be.
func (p place) holds(rules []shownRule) bool {
	switch {
	case p.before != "":
		return at(rules, p.last) < at(rules, p.before)
	case p.after != "":
		i := at(rules, p.after)
		return i >= 0 && i < at(rules, p.first)
	case p.index > 0:
		return indexOf(p.name, rules, at(rules, p.first)) == p.index
	}
	return true
}
