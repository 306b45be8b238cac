package model

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is what the state says of one address, as it is read from the bytes of the store.
type Entry struct {
	Address     string
	Needs       []string
	Generations []Generation
	Props       map[string]any
}

// Generation is one object of an entry.
type Generation struct {
	State, Kind, Region, Identity string
	Intent                        bool
}

// State compares the state with what End found in the cloud: one live generation for each declared address, of the object
// that is there, with what the references need; and nothing else. Outputs are those that the state has.
func (c *Case) State(entries []Entry, outputs map[string]any) []string {
	c.wrong = nil
	known := map[string]bool{}
	for i := range c.program.Resources {
		r := &c.program.Resources[i]
		known[r.Address] = true
		at := slices.IndexFunc(entries, func(e Entry) bool { return e.Address == r.Address })
		if at < 0 {
			c.violate("state: %s has no entry", r.Address)
			continue
		}
		c.entry(r, &entries[at])
	}
	for _, e := range entries {
		if !known[e.Address] {
			c.violate("state: there is an entry of %s, which is not declared", e.Address)
		}
	}
	for name, v := range c.program.Outputs {
		if want := c.text(v); fmt.Sprint(outputs[name]) != want {
			c.violate("state: the output %s is %v, not %s", name, outputs[name], want)
		}
	}
	for name := range outputs {
		if _, declared := c.program.Outputs[name]; !declared {
			c.violate("state: the output %s is not declared", name)
		}
	}
	return c.wrong
}

func (c *Case) entry(r *Resource, e *Entry) {
	if len(e.Generations) != 1 || e.Generations[0].State != "live" || e.Generations[0].Intent {
		c.violate("state: %s has the generations %v, not one that is live", r.Address, e.Generations)
		return
	}
	g := e.Generations[0]
	if o := c.bound[r.Address]; o != nil && (g.Identity != o.ID || g.Kind != o.Kind || g.Region != o.Region) {
		c.violate("state: %s is %v, and the object is %s %s in %q", r.Address, g, o.Kind, o.ID, o.Region)
	}
	if want := c.needs(r); !slices.Equal(e.Needs, want) {
		c.violate("state: %s needs %v, and its entry says %v", r.Address, want, e.Needs)
	}
	for name, v := range r.Props {
		if s, isText := v.(string); isText && name != "secret" && !strings.Contains(s, ".key⟧") && fmt.Sprint(e.Props[name]) != c.text(s) {
			c.violate("state: %s.%s is %v, not %q", r.Address, name, e.Props[name], c.text(s))
		}
	}
}

// needs are the addresses that a declaration refers to.
func (c *Case) needs(r *Resource) []string {
	needs := slices.Clone(r.Options.DependsOn)
	for _, at := range reference.FindAllStringSubmatch(fmt.Sprint(r.Props), -1) {
		needs = append(needs, at[1])
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}
