package simtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// place is where a scenario was cut.
type place struct {
	sc  *scenario
	ref *outcome
	// base is what the program declares, before what was deployed last in the setup; nil when nothing was.
	base, before *engine.Graph
	// event was the last one; cut is the address that it is about, or else the first that is declared.
	event, cut string
	outcome    simtest.Outcome
}

// next is what is done after a cut.
type next struct {
	// early happens before the cut run, late between the cut and the next command. Both may run commands and judge them.
	early, late func(context.Context, *simtest.Sim, *outcome)
	do          simtest.Command
	opts        *engine.PlanOptions // nil: those of the scenario
	// program is what must exist afterwards; nil: nothing.
	program *engine.Graph
	// more is how many creations of an address may come beside those of the scenario.
	more int
	// lost: the state, or a part of it, is lost on the way.
	lost bool
}

// nextCommand is one column of the second axis.
type nextCommand struct {
	name string
	// lost: the state, or a part of it, is lost. That runs into the stated limits of recovery.
	lost bool
	// other: it is not the same program that follows.
	other bool
	// cells: the matrix plays it as well.
	cells bool
	of    func(*place) *next // nil: it does not apply
}

// columns are the second axis: what may follow a cut.
func columns() []nextCommand {
	return slices.Concat([]nextCommand{
		{name: "same", cells: true, of: func(p *place) *next { return p.same() }},
		{name: "edited in place", other: true, cells: true, of: func(p *place) *next { return p.paints() }},
		{name: "another name", other: true, of: func(p *place) *next { return p.declares(p.edit(otherName)).creating(1) }},
		{name: "another parent", other: true, of: func(p *place) *next { return p.declares(p.edit(otherParent)).creating(1) }},
		{name: "another location", other: true, of: func(p *place) *next { return p.declares(p.edit(otherRegion)).creating(1) }},
		{name: "replaced", other: true, of: func(p *place) *next { return p.declares(p.edit(resized)).creating(1) }},
		{name: "replaced, deleted first", other: true, of: func(p *place) *next { return p.declares(p.edit(resizedFirst)).creating(1) }},
		{name: "another kind", other: true, of: func(p *place) *next { return p.declares(p.edit(otherKind)).creating(1) }},
		{name: "reverted", other: true, of: func(p *place) *next { return p.declares(p.before).creating(1) }},
		{name: "removed", other: true, of: func(p *place) *next { return p.declares(p.edit(undeclared)).creating(1) }},
		{name: "renamed", other: true, of: func(p *place) *next { return p.declares(p.edit(renamed)).creating(1) }},
		{name: "source renamed", other: true, of: func(p *place) *next { return p.declares(p.edit(sourceRenamed)).creating(1) }},
		{name: "destroy", other: true, cells: true, of: func(p *place) *next { return p.destroys(p.base) }},
		{name: "destroy without the program", other: true, cells: true, of: func(p *place) *next { return p.destroys(nil) }},
	}, losses(), others())
}

// losses are columns in which the state is lost, or another one.
func losses() []nextCommand {
	gone := func(n *next) *next {
		if n != nil {
			n.late = func(_ context.Context, s *simtest.Sim, _ *outcome) { s.Lose() }
		}
		return n
	}
	without := func(p *place, n *next) *next {
		if n = p.knowing(n); n != nil {
			n.late = func(ctx context.Context, s *simtest.Sim, out *outcome) {
				if _, err := s.LoseEntry(ctx, p.cut); err != nil {
					out.violate("losing the entry of %s: %v", p.cut, err)
				}
			}
		}
		return n
	}
	return []nextCommand{
		{name: "entry lost, same", lost: true, of: func(p *place) *next { return without(p, p.same()) }},
		{name: "entry lost, destroy", other: true, lost: true, of: func(p *place) *next { return without(p, p.destroys(p.base)) }},
		{name: "store lost, same", lost: true, cells: true, of: func(p *place) *next { return gone(p.same()) }},
		{name: "store lost, edited", other: true, lost: true, of: func(p *place) *next { return gone(p.paints()) }},
		{name: "store lost, destroy", other: true, lost: true, of: func(p *place) *next { return gone(p.destroys(p.base)) }},
		{name: "store of before", lost: true, of: (*place).backup},
		{name: "another machine", lost: true, of: (*place).elsewhere},
	}
}

// others are columns in which something else comes before the same command.
func others() []nextCommand {
	return []nextCommand{
		{name: "plan and drift", cells: true, of: (*place).asked},
		{name: "saved plan", of: (*place).saved},
		{name: "a third value outside", of: (*place).thirdValue},
		{name: "deleted outside", of: (*place).deletedOutside},
		{name: "a stranger outside", of: (*place).strangerOutside},
		{name: "dev", of: (*place).dev},
		{name: "kind unknown", of: (*place).unknownKind},
	}
}

// knowing is a command whose user knows that the state may lack entries, as this machine says of a state that was put back.
func (p *place) knowing(n *next) *next {
	if n == nil {
		return nil
	}
	opts := p.sc.opts
	if n.opts != nil {
		opts = *n.opts
	}
	opts.Incomplete = true
	n.opts = &opts
	return n
}

// same is the command that was cut, once more.
func (p *place) same() *next {
	n := &next{do: p.sc.do, program: p.sc.do.Graph}
	if p.lossy() {
		n.more = 1
	}
	return n
}

// lossy reports that a cut makes the scenario create an address anew, for the reason that the scenario gives.
func (p *place) lossy() bool { return p.sc.again > 0 }

// declares deploys another program.
func (p *place) declares(g *engine.Graph) *next {
	if g == nil {
		return nil
	}
	n := &next{do: simtest.Command{Graph: g}, program: g}
	if p.sc.do.Destroy || p.lossy() {
		n.more = 1 // what was deleted is declared again
	}
	return n
}

func (n *next) creating(more int) *next {
	if n != nil {
		n.more += more
	}
	return n
}

func (p *place) destroys(program *engine.Graph) *next {
	return &next{do: simtest.Command{Destroy: true, Program: program}, opts: &engine.PlanOptions{TakeOver: p.sc.opts.TakeOver}}
}

// edit is the program with the cut resource changed; nil when that is not to be had.
func (p *place) edit(change func(*engine.Graph, *engine.Resource) bool) *engine.Graph {
	if p.base == nil {
		return nil
	}
	g := copied(p.base)
	for i := range g.Resources {
		if g.Resources[i].Address == p.cut {
			if change(g, &g.Resources[i]) {
				return g
			}
			return nil
		}
	}
	return nil
}

// paints changes the color of what the cut was about. An object whose size is that color is replaced.
func (p *place) paints() *next {
	if p.base == nil {
		return nil
	}
	replaces := slices.ContainsFunc(p.base.Resources, func(r engine.Resource) bool { return r.Props["size"] == "⟦"+p.cut+".color⟧" })
	n := p.declares(p.edit(painted))
	if replaces {
		return n.creating(1)
	}
	return n
}

// copied is a program that can be changed.
func copied(g *engine.Graph) *engine.Graph {
	data, err := json.Marshal(g)
	if err != nil {
		panic(err) // a program of the scenarios is plain data
	}
	var c engine.Graph
	if err := json.Unmarshal(data, &c); err != nil {
		panic(err)
	}
	return &c
}

func inState(r *engine.Resource) bool { return r.Kind == "sim.Note" || r.Kind == "sim.Command" }

func setProp(r *engine.Resource, name string, value any) bool {
	if r.Props == nil {
		r.Props = m{}
	}
	r.Props[name] = value
	return true
}

// painted changes in place.
func painted(_ *engine.Graph, r *engine.Resource) bool {
	if inState(r) {
		return setProp(r, "text", "painted")
	}
	return setProp(r, "color", "painted")
}

func otherName(_ *engine.Graph, r *engine.Resource) bool {
	name, given := r.Props["name"].(string)
	return given && setProp(r, "name", name+"-other")
}

func otherParent(g *engine.Graph, r *engine.Resource) bool {
	if r.Kind != "sim.Child" {
		return false
	}
	setProp(r, "parent", "⟦other.id⟧")
	g.Resources = append(g.Resources, res("Named", "other", m{}))
	return true
}

func otherRegion(_ *engine.Graph, r *engine.Resource) bool {
	if inState(r) || r.Kind == only {
		return false
	}
	r.Settings = m{"region": "west"}
	return true
}

// only is the kind of which there can be one object: nothing replaces it that does not delete it first.
const only = "sim.Quota"

func resized(_ *engine.Graph, r *engine.Resource) bool {
	return !inState(r) && r.Kind != only && setProp(r, "size", "resized")
}

func resizedFirst(_ *engine.Graph, r *engine.Resource) bool {
	r.Options.DeleteFirst = true
	return !inState(r) && !r.Options.Retain && setProp(r, "size", "resized")
}

func otherKind(g *engine.Graph, r *engine.Resource) bool {
	data, err := json.Marshal(g)
	text := string(data)
	if err != nil || inState(r) || r.Kind == "sim.Child" || r.Kind == "sim.Attached" || r.Kind == only || strings.Contains(text, "⟦"+r.Address+".revision⟧") || strings.Contains(text, "⟦"+r.Address+".key⟧") {
		return false
	}
	if r.Kind == "sim.Assigned" {
		r.Kind = "sim.Named"
	} else {
		r.Kind = "sim.Assigned"
		delete(r.Props, "name")
	}
	return true
}

// undeclared removes a resource, and what refers to it.
func undeclared(g *engine.Graph, r *engine.Resource) bool {
	address := r.Address
	g.Resources = slices.DeleteFunc(g.Resources, func(r engine.Resource) bool { return r.Address == address })
	refers := func(v any) bool { return strings.Contains(fmt.Sprint(v), "⟦"+address+".") }
	for i := range g.Resources {
		r := &g.Resources[i]
		for name, v := range r.Props {
			if refers(v) {
				delete(r.Props, name)
			}
		}
		r.Options.DependsOn = slices.DeleteFunc(r.Options.DependsOn, func(a string) bool { return a == address })
		if r.Options.DeletedWith == address {
			r.Options.DeletedWith = ""
		}
		if r.Kind == "sim.Note" && r.Props["text"] == nil {
			setProp(r, "text", "nothing")
		}
	}
	for name, v := range g.Outputs {
		if refers(v) {
			delete(g.Outputs, name)
		}
	}
	return true
}

// renamed gives a resource another address, and what refers to it.
func renamed(g *engine.Graph, r *engine.Resource) bool {
	old := r.Address
	if slices.ContainsFunc(g.Resources, func(other engine.Resource) bool { return slices.Contains(other.Options.RenamedFrom, old) }) {
		return false // the program gives the old address to another
	}
	r.Address, r.Options.RenamedFrom = old+"-renamed", append([]string{old}, r.Options.RenamedFrom...)
	data, err := json.Marshal(g)
	if err != nil {
		return false
	}
	var changed engine.Graph
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), "⟦"+old+".", "⟦"+r.Address+".")), &changed); err != nil {
		return false
	}
	for i := range changed.Resources {
		o := &changed.Resources[i].Options
		for k, a := range o.DependsOn {
			if a == old {
				o.DependsOn[k] = old + "-renamed"
			}
		}
		if o.DeletedWith == old {
			o.DeletedWith = old + "-renamed"
		}
	}
	*g = changed
	return true
}

// sourceRenamed renames what a resource refers to.
func sourceRenamed(g *engine.Graph, r *engine.Resource) bool {
	text := fmt.Sprint(r.Props)
	for i := range g.Resources {
		if up := &g.Resources[i]; up.Address != r.Address && strings.Contains(text, "⟦"+up.Address+".") {
			return renamed(g, up)
		}
	}
	return false
}

// backup goes on with the store as it was before the scenario.
func (p *place) backup() *next {
	n := p.knowing(p.same())
	var restore func()
	n.early = func(ctx context.Context, s *simtest.Sim, out *outcome) {
		b, err := s.Backup(ctx)
		if err != nil {
			out.violate("backup: %v", err)
		}
		restore = func() { s.Restore(b) }
	}
	n.late = func(context.Context, *simtest.Sim, *outcome) { restore() }
	return n
}

// elsewhere goes on at another machine, without the state: nothing is deleted there before it is told to take over.
func (p *place) elsewhere() *next {
	if p.base == nil || slices.ContainsFunc(p.base.Resources, func(r engine.Resource) bool { return slices.Contains(untagged(), r.Kind) }) {
		return nil
	}
	n := p.same()
	opts := p.sc.opts
	opts.TakeOver = true
	n.opts = &opts
	n.late = func(ctx context.Context, s *simtest.Sim, out *outcome) {
		s.Move()
		if p.sc.opts.TakeOver {
			return
		}
		before := len(s.Cloud.Effects())
		s.Run(ctx, p.sc.do, nil)
		for _, e := range s.Cloud.Effects()[before:] {
			if e.Op == "delete" && e.Owner.Store != s.StoreID() {
				out.violate("another machine deleted without being told to take over: %s", e)
			}
		}
	}
	return n
}

func untagged() []string {
	return []string{"sim.Plain", "sim.Child", "sim.Same", "sim.Note", "sim.Command"}
}
