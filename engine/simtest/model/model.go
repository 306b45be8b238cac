// Package model says what must exist in the simulated cloud when a program has been deployed, and what the state must say
// of it. It knows the program as JSON, the kinds of the simulation, and the cloud's own table. It imports nothing of this
// module, so that a mistake of the engine is no mistake of the model: a test says so.
package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Object is one object of the cloud's table.
type Object struct {
	Kind, Region, ID, Name string
	Fields, Labels, Tags   map[string]string
	Revision               int
	Data                   int
	// Address is whose the object is in truth, tagged or not: a call created or tagged it for this address.
	Address string
	// Created: a call of ours created it. Retained: it was retained on purpose.
	Created, Retained bool
}

// Program is a graph, as far as the model reads it.
type Program struct {
	Resources []Resource     `json:"resources"`
	Outputs   map[string]any `json:"outputs"`
	Forget    []string       `json:"forget"`
}

// Resource is one declared resource.
type Resource struct {
	Address  string            `json:"address"`
	Kind     string            `json:"kind"`
	Settings map[string]string `json:"settings"`
	Props    map[string]any    `json:"props"`
	Options  struct {
		DependsOn   []string `json:"dependsOn"`
		Retain      bool     `json:"retain"`
		RenamedFrom []string `json:"renamedFrom"`
	} `json:"options"`
}

// Case is what was deployed on what.
type Case struct {
	// Program was deployed last, as JSON; nil: everything was destroyed. Earlier were deployed before.
	Program []byte
	Earlier [][]byte
	// Before is the cloud's table before the first of all commands.
	Before []Object
	// Adopt: objects that have no owner tag are taken over by their names.
	Adopt bool
	// Leaves: what is not declared may stay, as in a dev session.
	Leaves bool

	program  Program
	retained map[string]bool    // addresses whose objects may stay when nobody declares them
	renames  map[string]string  // former addresses to those that programs renamed them to
	bound    map[string]*Object // by declared address
	after    []Object
	wrong    []string
}

// kinds that keep their objects in the state alone.
func inState(kind string) bool { return kind == "sim.Note" || kind == "sim.Command" }

// kinds whose objects have no tags.
func untagged(kind string) bool {
	return kind == "sim.Plain" || kind == "sim.Child" || kind == "sim.Same"
}

// fields are the props that the cloud keeps as they are.
func fields() []string { return []string{"color", "size", "peer", "after", "base", "parent", "secret"} }

// End compares the cloud's table with what must exist, and says what is wrong.
func (c *Case) End(after []Object) []string {
	if err := c.read(); err != nil {
		return []string{err.Error()}
	}
	c.after = after
	c.bind()
	for i := range c.program.Resources {
		r := &c.program.Resources[i]
		if o := c.bound[r.Address]; o != nil {
			c.compare(r, o)
		}
	}
	c.others()
	return c.wrong
}

func (c *Case) read() error {
	c.retained, c.bound, c.wrong, c.program = map[string]bool{}, map[string]*Object{}, nil, Program{}
	c.renames = map[string]string{}
	for _, data := range c.Earlier {
		var p Program
		if err := json.Unmarshal(data, &p); err != nil {
			return err
		}
		c.mayStay(&p)
	}
	if c.Program == nil {
		return nil
	}
	err := json.Unmarshal(c.Program, &c.program)
	c.mayStay(&c.program)
	return err
}

func (c *Case) mayStay(p *Program) {
	for _, a := range p.Forget {
		c.retained[a] = true
	}
	for _, r := range p.Resources {
		if r.Options.Retain {
			c.retained[r.Address] = true
		}
		for _, old := range r.Options.RenamedFrom {
			c.renames[old] = r.Address
		}
	}
}

// bind finds the one object of each declared address.
func (c *Case) bind() {
	renamed := map[string]string{}
	declared := map[string]bool{}
	for _, r := range c.program.Resources {
		declared[r.Address] = true
		for _, old := range r.Options.RenamedFrom {
			renamed[old] = r.Address
		}
	}
	for _, r := range c.program.Resources {
		if inState(r.Kind) {
			continue
		}
		var all []*Object
		for i := range c.after {
			o := &c.after[i]
			addr := o.Address
			if to, ok := renamed[addr]; ok && (!declared[addr] || untagged(o.Kind)) {
				addr = to // what has no tags is not told that it was renamed
			}
			if addr == r.Address && (o.Created || c.takenOver(o)) || c.Adopt && addr == "" && c.given(&r, o) {
				all = append(all, o)
			}
		}
		if live := slices.DeleteFunc(slices.Clone(all), func(o *Object) bool { return o.Retained }); len(live) > 0 {
			all = live
		}
		fits := slices.DeleteFunc(slices.Clone(all), func(o *Object) bool { return o.Kind != r.Kind || o.Region != r.Settings["region"] })
		switch {
		case len(fits) == 0:
			c.violate("%s has no object of kind %s", r.Address, r.Kind)
		case len(all) > 1 && !c.retained[r.Address]:
			c.violate("%s has %d objects: %s", r.Address, len(all), ids(all))
		}
		if len(fits) > 0 {
			c.bound[r.Address] = fits[len(fits)-1]
		}
	}
}

// takenOver reports whether an object was there before and nobody's, and may be ours now.
func (c *Case) takenOver(o *Object) bool {
	return c.Adopt && slices.ContainsFunc(c.Before, func(b Object) bool { return b.ID == o.ID && b.Region == o.Region && !b.Created })
}

func (c *Case) given(r *Resource, o *Object) bool {
	name, ok := r.Props["name"]
	return ok && name == o.Name && r.Kind == o.Kind && !o.Created
}

func ids(all []*Object) string {
	var names []string
	for _, o := range all {
		names = append(names, o.Kind+" "+o.ID)
	}
	return strings.Join(names, ", ")
}

func (c *Case) violate(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// compare holds an object to its declaration.
func (c *Case) compare(r *Resource, o *Object) {
	for _, f := range fields() {
		if want := c.text(r.Props[f]); o.Fields[f] != want {
			c.violate("%s.%s is %q, not %q", r.Address, f, o.Fields[f], want)
		}
	}
	labels, _ := r.Props["labels"].(map[string]any)
	for k, v := range labels {
		if o.Labels[k] != c.text(v) {
			c.violate("%s.labels.%s is %q, not %q", r.Address, k, o.Labels[k], c.text(v))
		}
	}
	for k := range o.Labels {
		if _, wanted := labels[k]; !wanted {
			c.violate("%s.labels.%s is not declared", r.Address, k)
		}
	}
	if name, given := r.Props["name"]; given && o.Name != c.text(name) {
		c.violate("%s has the name %q, not %q", r.Address, o.Name, c.text(name))
	}
	if !untagged(r.Kind) && o.Tags["athanor:id"] != r.Address {
		c.violate("%s has the owner tag %q", r.Address, o.Tags["athanor:id"])
	}
}

// others: what belongs to no declared address is retained on purpose, or was there before and is as it was.
func (c *Case) others() {
	ours := map[string]bool{}
	for _, o := range c.bound {
		ours[o.Region+"|"+o.ID] = true
	}
	for i := range c.after {
		o := &c.after[i]
		switch {
		case ours[o.Region+"|"+o.ID] || c.retained[o.Address] || c.Leaves:
		case o.Created:
			if _, declared := c.bound[o.Address]; !declared {
				c.violate("%s %s of %s is left", o.Kind, o.ID, o.Address)
			}
		case !c.Adopt && !c.untouched(o):
			c.violate("%s %s is not ours and was changed", o.Kind, o.ID)
		}
	}
	for _, b := range c.Before {
		still := func(o Object) bool { return o.ID == b.ID && o.Region == b.Region && !o.Created }
		if !b.Created && b.Address == "" && !c.Adopt && !slices.ContainsFunc(c.after, still) {
			c.violate("%s %s was not ours and is missing", b.Kind, b.ID)
		}
	}
}

func (c *Case) untouched(o *Object) bool {
	return slices.ContainsFunc(c.Before, func(b Object) bool {
		return b.ID == o.ID && b.Region == o.Region && maps.Equal(b.Fields, o.Fields) && maps.Equal(b.Labels, o.Labels) && maps.Equal(b.Tags, o.Tags)
	})
}

var reference = regexp.MustCompile(`⟦([^⟦⟧]+)\.([a-z]+)⟧`)

// text is a prop with its references resolved.
func (c *Case) text(v any) string {
	if v == nil {
		return ""
	}
	return reference.ReplaceAllStringFunc(fmt.Sprint(v), func(ref string) string {
		at := reference.FindStringSubmatch(ref)
		return c.attribute(at[1], at[2])
	})
}

// attribute is what a resource is known to have: an object's own, and of what lives in the state that which its props say.
func (c *Case) attribute(address, name string) string {
	if o := c.bound[address]; o != nil {
		return map[string]string{
			"id": o.ID, "name": o.Name, "color": o.Fields["color"], "revision": fmt.Sprint(o.Revision), "key": "key of " + o.ID,
		}[name]
	}
	for i := range c.program.Resources {
		if r := &c.program.Resources[i]; r.Address == address && inState(r.Kind) {
			t := c.text(r.Props["text"])
			return map[string]string{"text": t, "short": t[:min(3, len(t))]}[name]
		}
	}
	return "no attribute " + address + "." + name
}
