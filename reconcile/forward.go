package reconcile

import (
	"maps"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Forwarding is implemented by the settings of a provider of which one may hold references and secrets. Settings are needed before
// anything is resolved, so that one is forwarded: each resource that is declared with the settings has it as a prop, and its values,
// what it depends on and what is secret of it are those of a prop.
type Forwarding interface {
	// Forwards names the setting, and the prop that it is forwarded in.
	Forwards() (setting, prop string)
}

// Forwarded returns props with the setting that is forwarded in them. Props stay as they are where settings forward nothing, and where
// the setting holds no references.
func Forwarded(by Forwarding, settings, props map[string]any) map[string]any {
	if by == nil {
		return props
	}
	setting, prop := by.Forwards()
	if !HoldsToken(settings[setting]) {
		return props
	}
	props = maps.Clone(props)
	if props == nil {
		props = map[string]any{}
	}
	props[prop] = settings[setting]
	return props
}

// HoldsToken reports whether a text in a tree holds a token.
func HoldsToken(v any) bool {
	found := false
	tree.Walk(v, func(_ tree.Path, x any) bool {
		text, ok := x.(string)
		found = found || ok && token.Has(text)
		return !found
	})
	return found
}
