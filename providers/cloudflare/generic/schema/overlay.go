package schema

import (
	"slices"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Overlay is what the description does not say of a type.
type Overlay struct {
	// NameProp is the property that objects are called by, "" when they have no name. NameGiven: athanor cannot make one up.
	// NameShown is the property that shows the name, where that is another one.
	NameProp  string
	NameShown string
	NameGiven bool
	// Tag is the property of text that the owner tag is written into, behind the author's own text; "" when there is none.
	// TagMost bounds its length, 0 when there is no bound.
	Tag     string
	TagMost int
	// Immutable cannot be changed although the description says so, Hidden is never shown, Secret holds secrets.
	Immutable, Hidden, Secret []tree.Path
	// Known are attributes that only a creation shows, and that can be declared of an object which somebody else has created.
	Known []string
	// Refused cannot be declared, with the reason.
	Refused map[tree.Path]string
	// Unordered are lists whose order does not count.
	Unordered []tree.Path
	// Data says what data of users an object holds, "" for none.
	Data string
	// Ready says when an object can be used. Nil: at once.
	Ready *Ready
	// Token reads the token that a connector of the object runs with, at "/token" below the object's path. Nil: it has none.
	Token *Operation
	// Off are properties with their values, all of which an answer has when there is no such object; nil stands for null too. Default: none,
	// the API refuses to read what is not there, or answers nothing.
	Off map[string]any
	// Note is a sentence for the documentation. Page is where Cloudflare documents the type.
	Note, Page string
}

// Ready says when an object can be used, by one of its properties.
type Ready struct {
	// Property is that one. Pending are its values while the service is at work. Until is what somebody must do while it has
	// none of the values Done, or, without those, while it is not set.
	Property      string
	Pending, Done []string
	Until         string
}

// byHand says that a type has no property of that role, although one is called so.
const byHand = "-"

// overlay adds what is known by hand to what follows from names of properties.
func (t *Type) overlay() {
	known := overlays[t.Name]
	t.Overlay = known
	if known.NameProp == "" {
		t.NameProp = t.likelyName()
	}
	if known.Tag == "" {
		t.Tag = t.likelyTag()
	}
	if t.NameShown == "" {
		t.NameShown = t.NameProp
	}
	if t.NameProp == byHand {
		t.NameProp = ""
	}
	if t.Tag == byHand {
		t.Tag = ""
	}
}

// likelyName is the property that objects are called by: the id, where the client chooses it, else one called so that is
// shown too.
func (t *Type) likelyName() string {
	if t.Shape == Setting {
		return ""
	}
	if t.Root.Properties[t.ID] != nil && t.Root.Properties[t.ID].Types == "s" {
		return t.ID
	}
	for _, name := range []string{"name", "title", "friendly_name", "client_name", "label"} {
		if t.isText(name) && t.List != nil {
			return name
		}
	}
	return ""
}

// likelyTag is the property of free text that can carry an owner tag. A description does where there is no name: it is
// shown to people.
func (t *Type) likelyTag() string {
	if t.Shape != Collection || t.List == nil {
		return ""
	}
	candidates := []string{"comment", "comments", "notes"}
	if t.NameProp == "" || t.NameProp == byHand {
		candidates = append(candidates, "description")
	}
	for _, name := range candidates {
		if t.isText(name) && !slices.Contains(t.LaterOnly, tree.Path(name)) {
			return name
		}
	}
	return ""
}

// isText reports a property of free text that can be given and is shown.
func (t *Type) isText(name string) bool {
	given, shown := t.Root.Properties[name], t.Answer.Properties[name]
	return given != nil && given.Types == "s" && len(given.Enum) == 0 && shown != nil && shown.Types == "s"
}
