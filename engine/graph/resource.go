package graph

import (
	"fmt"
	"reflect"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Resource is one declared resource.
type Resource struct {
	Address string `json:"address"`
	Kind    string `json:"kind"`
	// Settings are the provider's settings in its scope; absent ones are the provider's defaults.
	Settings map[string]any `json:"settings,omitempty"`
	// Props is a tree; strings may hold tokens in their plain spelling.
	Props   map[string]any `json:"props,omitempty"`
	Options Options        `json:"options,omitzero"`
	// Source is where it is declared, file:line or file:line:column, for messages; no part of the digest.
	Source string `json:"source,omitempty"`
	// Bound says which call of the program bound each row of the prop bindings, by the key of the row; no part of the digest.
	Bound map[string]string `json:"bound,omitempty"`
}

// Read is something used and not owned: read in every plan, never written, tagged or deleted. One of ID and Query
// is set; Query are props that name it (a given name, or exact property matches among a listing).
type Read struct {
	Address  string         `json:"address"`
	Kind     string         `json:"kind"`
	Settings map[string]any `json:"settings,omitempty"`
	ID       string         `json:"id,omitempty"`
	Query    map[string]any `json:"query,omitempty"`
	Source   string         `json:"source,omitempty"`
}

// Options change how the engine treats one resource.
type Options struct {
	// DependsOn are further addresses that must be as declared before.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Protect refuses deletion and replacement, at plan.
	Protect bool `json:"protect,omitempty"`
	// Retain removes from state instead of deleting; the object's owner tag is rewritten to retained.
	Retain bool `json:"retain,omitempty"`
	// DeletedWith is an address whose deletion takes this one along.
	DeletedWith string `json:"deletedWith,omitempty"`
	// RenamedFrom are earlier addresses.
	RenamedFrom []string `json:"renamedFrom,omitempty"`
	// Adopt takes over the object with this identity, whatever its owner; "*" takes what is found by name and has no
	// owner tag.
	Adopt string `json:"adopt,omitempty"`
	// IgnoreChanges are paths (wildcards allowed) that are not compared, replacements included.
	IgnoreChanges []tree.Path `json:"ignoreChanges,omitempty"`
	// ReplaceOn are paths whose change replaces.
	ReplaceOn []tree.Path `json:"replaceOn,omitempty"`
	// DeleteFirst deletes the old object before the new one is created.
	DeleteFirst bool `json:"deleteFirst,omitempty"`
	// AllowReplace and AllowDelete give leave where users' data would go.
	AllowReplace bool `json:"allowReplace,omitempty"`
	AllowDelete  bool `json:"allowDelete,omitempty"`
	// Timeouts bound operations; zero fields mean the kind's.
	Timeouts Timeouts `json:"timeouts,omitzero"`
	// Before and After are hooks around whatever changes the resource.
	Before []Hook `json:"before,omitempty"`
	After  []Hook `json:"after,omitempty"`
}

// Hook runs around a change: a command in the stack's directory, or a function of the program.
type Hook struct {
	// Run is a shell command; it sees ATHANOR_ADDRESS, ATHANOR_KIND, ATHANOR_ACTION, ATHANOR_STACK and ATHANOR_STAGE.
	Run string `json:"run,omitempty"`
	// Func is the id of a function in Funcs.Hooks.
	Func string `json:"func,omitempty"`
}

// AppendCanonical appends a resource as it stands in the document, without its source, in canonical form: its fields in
// the order of their names.
func (r *Resource) AppendCanonical(b []byte) ([]byte, error) {
	b = tree.AppendCanonical(append(b, `{"address":`...), r.Address)
	b = tree.AppendCanonical(append(b, `,"kind":`...), r.Kind)
	if !r.Options.IsZero() {
		options, err := OptionsTree(&r.Options)
		if err != nil {
			return nil, fmt.Errorf("graph: %s: %w", r.Address, err)
		}
		b = tree.AppendCanonical(append(b, `,"options":`...), options)
	}
	for _, part := range []struct {
		name  string
		props map[string]any
	}{{"props", r.Props}, {"settings", r.Settings}} {
		if len(part.props) == 0 {
			continue
		}
		var plain any = part.props
		if !tree.Is(plain) {
			var err error
			if plain, err = tree.Of(plain); err != nil {
				return nil, fmt.Errorf("graph: %s: %s: %w", r.Address, part.name, err)
			}
		}
		b = append(append(append(b, ',', '"'), part.name...), '"', ':')
		b = tree.AppendCanonical(b, plain)
	}
	return append(b, '}'), nil
}

// OptionsTree returns options as the graph document writes them, nil when none is set.
func OptionsTree(o *Options) (map[string]any, error) {
	t, err := props.Encode(o)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	for name, v := range t {
		if list, ok := v.([]any); ok && len(list) == 0 {
			delete(t, name)
		}
	}
	if len(t) == 0 {
		return nil, nil
	}
	return t, nil
}

// IsZero reports that no option is set.
func (o *Options) IsZero() bool { return reflect.ValueOf(o).Elem().IsZero() }

// OnlyOrders reports that nothing is given, or nothing but further addresses that come before, as nearly all resources have it.
func (o *Options) OnlyOrders() bool {
	if len(o.DependsOn) == 0 {
		return o.IsZero()
	}
	rest := *o
	rest.DependsOn = nil
	return rest.IsZero()
}
