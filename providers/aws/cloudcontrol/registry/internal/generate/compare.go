package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// facts are what another extraction says of a type.
type facts struct {
	ID, CreateOnly, ConditionalCreateOnly, ReadOnly, WriteOnly, Required []string

	Handlers map[string]struct{ TimeoutInMinutes int }
	Tagging  struct {
		Taggable    bool
		TagProperty string
	}
	Props map[string]json.RawMessage
}

// compare prints where the table and other facts disagree.
func compare(file string, types map[string]*registry.Type) error {
	r, err := os.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	others := map[string]facts{}
	if err := json.NewDecoder(text).Decode(&others); err != nil {
		return err
	}
	counts, compared := notes{}, 0
	for _, name := range keys(others) {
		f := others[name]
		served := slices.ContainsFunc([]string{"create", "read", "delete"}, func(h string) bool { _, ok := f.Handlers[h]; return !ok })
		t := types[name]
		if t == nil {
			if !served {
				fmt.Printf("%s: served there, and not here\n", name)
			}
			continue
		}
		compared++
		disagreements(t, f, func(what, here, there string) {
			counts[what]++
			fmt.Printf("%s: %s: here %s, there %s\n", name, what, here, there)
		})
	}
	fmt.Printf("compared %d types; disagreements: %v\n", compared, map[string]int(counts))
	return nil
}

func disagreements(t *registry.Type, f facts, say func(what, here, there string)) {
	for _, list := range []struct {
		what  string
		here  []tree.Path
		there []string
	}{
		{"identifier", t.ID, f.ID},
		{"createOnly", t.CreateOnly, f.CreateOnly},
		{"conditionalCreateOnly", t.Conditional, f.ConditionalCreateOnly},
		{"readOnly", t.ReadOnly, f.ReadOnly},
		{"writeOnly", t.WriteOnly, f.WriteOnly},
		{"required", asPaths(t.Root.Required), f.Required},
	} {
		here, there := flat(texts(list.here)), flat(list.there)
		if !slices.Equal(here, there) {
			say(list.what, fmt.Sprint(only(here, there)), fmt.Sprint(only(there, here)))
		}
	}
	for name, h := range map[string]*registry.Handler{"create": t.Create, "update": t.Update, "delete": t.Delete, "list": t.List} {
		other, ok := f.Handlers[name]
		switch {
		case ok != (h != nil):
			say("handler "+name, fmt.Sprint(h != nil), fmt.Sprint(ok))
		case ok && h.Minutes != other.TimeoutInMinutes:
			say("timeout", fmt.Sprint(h.Minutes), fmt.Sprint(other.TimeoutInMinutes))
		}
	}
	if here := t.Tags != nil; here != f.Tagging.Taggable {
		say("taggable", fmt.Sprint(here), fmt.Sprint(f.Tagging.Taggable))
	}
	for prop := range f.Props {
		if t.Root.Properties[prop] == nil {
			say("property", "", prop)
		}
	}
}

func asPaths(names []string) []tree.Path {
	var out []tree.Path
	for _, n := range names {
		out = append(out, pathOf(n))
	}
	return out
}

func texts(paths []tree.Path) []string {
	var out []string
	for _, p := range paths {
		var words []string
		for _, s := range p.Steps() {
			if !s.Any {
				words = append(words, s.Key)
			}
		}
		out = append(out, strings.Join(words, "/"))
	}
	return out
}

// flat is a sorted list of pointers without the steps into lists, which are written in several ways.
func flat(list []string) []string {
	var out []string
	for _, p := range list {
		var words []string
		for w := range strings.SplitSeq(p, "/") {
			if w != "*" && w != "items" && w != "properties" {
				words = append(words, w)
			}
		}
		out = append(out, strings.Join(words, "/"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func only(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
