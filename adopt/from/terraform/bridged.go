package terraform

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/adopt/from"
)

// bridgedPrefix begins the kinds that are the types of Terraform's own providers.
const bridgedPrefix = "tf."

// providerAddress is the source of a provider, and its alias, in its address: provider["registry.terraform.io/hashicorp/random"].other.
var providerAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`provider\["(?:registry\.terraform\.io/|registry\.opentofu\.org/)?([a-z0-9][a-z0-9._:/-]*)"\](?:\.([a-zA-Z0-9_-]+))?$`)
})

// bridged declares an object whose type has no kind of ours as one of its own provider, where that can be had. reason is why it has no kind.
func (d *draft) bridged(i *instance, reason string) {
	found := providerAddress().FindStringSubmatch(i.provider)
	if d.offer == nil || found == nil || strings.HasPrefix(found[1], "hashicorp/terraform") || i.void {
		d.entry(i, from.Unmapped, reason)
		return
	}
	kind := bridgedPrefix + i.typ
	err := d.offered(found[1])
	var facts *kindFacts
	if err == nil {
		facts = d.factsOf(kind)
		err = facts.err
	}
	if err != nil {
		d.entry(i, from.Unmapped, fmt.Sprintf("%s; as %s of its own provider: %v (--allow program=%s)", reason, kind, err, found[1]))
		return
	}
	spec := facts.kind.Spec()
	for _, p := range slices.Concat(spec.SecretProps, spec.SecretAttrs) {
		if steps := p.Steps(); len(steps) > 0 && steps[0].Key != "" && !slices.Contains(i.sensitive, steps[0].Key) {
			i.sensitive = append(i.sensitive, steps[0].Key)
		}
	}
	declared, _ := withoutEmpty(spec.Declare(i.attrs)).(map[string]any)
	o := &object{
		inst: i, line: &typeLine{typ: i.typ, kind: kind, identity: "-"}, kind: kind, id: idOf(i), props: declared,
		known: map[string]string{}, scratch: map[string]any{}, settings: "tf-" + found[1][strings.LastIndexByte(found[1], '/')+1:], source: found[1],
	}
	if found[2] != "" {
		o.settings += "-" + from.Shape(found[2])
	}
	if d.stateFile != "" {
		o.id = "tfstate:" + d.stateFile + "#" + i.address()
	}
	if !slices.ContainsFunc(d.objects, func(other *object) bool { return other.settings == o.settings }) {
		o.look = "the state does not have the configuration of its provider: write it under providers." + o.settings + ".config"
	}
	d.add(o)
}

// offered makes the kinds of a provider known, once.
func (d *draft) offered(source string) error {
	if d.offers == nil {
		d.offers = map[string]error{}
	}
	err, asked := d.offers[source]
	if !asked {
		err = d.offer(source)
		d.offers[source] = err
	}
	return err
}

// withoutEmpty leaves out what says nothing: null, empty text and empty lists and maps. Numbers are plain ones.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v)
	case string:
		if v == "" {
			return nil
		}
	case []any:
		var all []any
		for _, x := range v {
			if x = withoutEmpty(x); x != nil {
				all = append(all, x)
			}
		}
		if all == nil {
			return nil
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for name, x := range v {
			if x = withoutEmpty(x); x != nil {
				all[name] = x
			}
		}
		if len(all) == 0 {
			return nil
		}
		return all
	}
	return v
}

// bridgedSettings are the settings of the providers of bridged objects, by name.
func bridgedSettings(objects []*object) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, o := range objects {
		if o.settings != "" {
			all[o.settings] = map[string]any{"terraform": o.source}
		}
	}
	return all
}
