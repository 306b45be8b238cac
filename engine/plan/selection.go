package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Choose selects the addresses that the options leave, of those declared and undeclared. Without an option that is all.
func (x *Index) Choose(o PlanOptions, undeclared []*Node) (*Chosen, error) {
	if o.Take != nil {
		n, err := x.taker(o.Take.Address)
		return &Chosen{Only: map[*Node]bool{n: true}}, err
	}
	if len(o.Target)+len(o.Exclude)+len(o.Replace) == 0 {
		return &Chosen{}, nil
	}
	all := slices.Concat(x.Sorted, undeclared)
	var wrong []error
	for _, chosen := range []struct {
		flag  string
		globs []string
	}{{"--target", o.Target}, {"--exclude", o.Exclude}, {"--replace", o.Replace}} {
		for _, glob := range idle(chosen.globs, all) {
			wrong = append(wrong, idleError(chosen.flag, glob, all))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	if len(o.Target)+len(o.Exclude) == 0 {
		return &Chosen{}, nil
	}
	selected := selection(all, x.Nodes, o.Target, o.Exclude)
	return &Chosen{Only: selected}, x.contradictions(o, all, selected)
}

// contradictions refuses the globs of --target and --replace that match nodes none of which is selected.
func (x *Index) contradictions(o PlanOptions, all []*Node, selected map[*Node]bool) error {
	var wrong []error
	for _, glob := range unselected(o.Target, all, selected) {
		wrong = append(wrong, contradiction("--target", glob, "--exclude", o.Exclude))
	}
	for _, glob := range unselected(o.Replace, all, selected) {
		if targeted := selection(all, x.Nodes, o.Target, nil); len(unselected([]string{glob}, all, targeted)) > 0 {
			wrong = append(wrong, contradiction("--replace", glob, "--target", o.Target))
		} else {
			wrong = append(wrong, contradiction("--replace", glob, "--exclude", o.Exclude))
		}
	}
	return errors.Join(wrong...)
}

// unselected returns the globs that match nodes, none of which is selected.
func unselected(globs []string, all []*Node, selected map[*Node]bool) []string {
	return slices.DeleteFunc(slices.Clone(globs), func(glob string) bool {
		matches := false
		for _, n := range all {
			if graph.Match(glob, n.Address) {
				if selected[n] {
					return true
				}
				matches = true
			}
		}
		return !matches
	})
}

// chooses says what each option that chooses resources does.
var chooses = map[string]string{
	"--target":  "selects what it matches and what that needs, and leaves out the rest",
	"--exclude": "leaves out what it matches and what needs that",
	"--replace": "replaces what it matches where that is selected",
}

// contradiction refuses a glob of one flag all of whose nodes the globs of another leave out.
func contradiction(flag, glob, other string, others []string) error {
	quoted := make([]string, len(others))
	for i, o := range others {
		quoted[i] = fmt.Sprintf("%q", o)
	}
	err := fmt.Errorf("%s %q and %s %s contradict each other: the second leaves out all that the first matches", flag, glob, other, strings.Join(quoted, ", "))
	return reconcile.WithHint(reconcile.WithHint(err, "%s %s", other, chooses[other]), "%s %s", flag, chooses[flag])
}

// idleError refuses a glob that matches no node, and names what may have been meant.
func idleError(flag, glob string, all []*Node) error {
	err := fmt.Errorf("%s %q is neither declared nor in state", flag, glob)
	if strings.Contains(glob, "*") {
		err = fmt.Errorf("%s %q matches nothing that is declared or in state", flag, glob)
	}
	_, end, inScope := strings.Cut(glob, "/")
	var near []string
	for _, n := range all {
		near = append(near, n.Address)
		if scope, _, ok := strings.Cut(n.Address, "/"); ok && inScope {
			near = append(near, scope+"/"+end)
		}
	}
	near = slices.DeleteFunc(near, func(g string) bool { return len(idle([]string{g}, all)) > 0 })
	if meant, ok := props.Nearest(glob, near); ok {
		return reconcile.WithHint(err, "did you mean %s?", meant)
	}
	return reconcile.WithHint(err, "`athanor graph` lists what is declared, `athanor state list` what is in state")
}

// idle returns the globs that match no node. One of asterisks alone means everything, be that nothing.
func idle(globs []string, all []*Node) []string {
	return slices.DeleteFunc(slices.Clone(globs), func(glob string) bool {
		return strings.Trim(glob, "*") == "" || slices.ContainsFunc(all, func(n *Node) bool { return graph.Match(glob, n.Address) })
	})
}

// IdleWarnings name the globs that permit something, or put it into the cloud, and match no node. A run that is repeated may have
// deleted what they matched: they are no errors.
func IdleWarnings(o PlanOptions, declared, undeclared []*Node) []string {
	var remote, warnings []string
	if o.Dev != nil {
		remote = o.Dev.Remote
	}
	if len(o.AllowDelete)+len(remote) == 0 {
		return nil
	}
	all := slices.Concat(declared, undeclared)
	for _, glob := range idle(o.AllowDelete, all) {
		warnings = append(warnings, fmt.Sprintf("--allow-delete %s matches nothing that is declared or in state", glob))
	}
	for _, glob := range idle(remote, all) {
		warnings = append(warnings, fmt.Sprintf("--remote %s matches nothing that is declared or in state", glob))
	}
	return warnings
}

// selection returns the nodes that globs of targets and exclusions leave. Targets come with what they need; an exclusion takes
// along what needs it.
func selection(all []*Node, at map[string]*Node, targets, excludes []string) map[*Node]bool {
	selected := make(map[*Node]bool, len(all))
	var include func(*Node)
	include = func(n *Node) {
		if selected[n] {
			return
		}
		selected[n] = true
		for _, a := range n.Needs {
			if up := at[a]; up != nil && up.Decl != nil && n.Decl != nil {
				include(up)
			}
		}
	}
	for _, n := range all {
		if len(targets) == 0 || Matches(targets, n.Address) || n.Read != nil {
			include(n)
		}
	}
	var exclude func(*Node)
	exclude = func(n *Node) {
		if !selected[n] {
			return
		}
		delete(selected, n)
		for _, user := range n.users {
			exclude(user)
		}
	}
	for _, n := range all {
		if Matches(excludes, n.Address) {
			exclude(n)
		}
	}
	return selected
}

// Chosen says which addresses a plan is about.
type Chosen struct {
	Only map[*Node]bool // nil: all
	but  map[*Node]bool // left out of them
}

// IsSelected reports that the options leave an address.
func (c *Chosen) IsSelected(n *Node) bool { return (c.Only == nil || c.Only[n]) && !c.but[n] }

// Deselect takes one node off what the plan is about.
func (c *Chosen) Deselect(n *Node) {
	if c.but == nil {
		c.but = map[*Node]bool{}
	}
	c.but[n] = true
}

// PassOver leaves a node that is not selected as the record has it.
func PassOver(n *Node) {
	n.Plan = &Planned{Address: n.Address, Kind: n.Spec.Type, Action: Unchanged, Needs: n.Needs, Notes: []string{"not selected"}}
	if g := n.Entry.Live(); g != nil {
		n.Attrs, n.Plan.Identity, n.Plan.Generation = g.Attributes, g.Identity, g.Number
		return
	}
	n.Unknown = true
}

// Surviving refuses to delete what something that stays still needs.
func (l *Leftovers) Surviving(n *Node, all []*Node) {
	if l.Only == nil && l.but == nil || n.Plan == nil || n.Plan.Action != Delete {
		return
	}
	for _, other := range all {
		if !l.IsSelected(other) && other.Entry != nil && slices.Contains(other.Entry.Needs, n.Address) {
			l.Refuse(n, reconcile.WithHint(fmt.Errorf("%s still needs it and is not selected", other.Address), "--target %s as well", other.Address))
			return
		}
	}
}
