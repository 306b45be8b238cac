package schema

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Shape is how the objects of a type come into being.
type Shape string

// The shapes of types.
const (
	// Collection is objects that a POST creates, and that the API gives an id.
	Collection Shape = "collection"
	// Named is objects that a PUT creates at a path which the client chooses.
	Named Shape = "named"
	// Setting is what an account, a zone or a parent always has, or has at most once: it is set, and put back.
	Setting Shape = "setting"
)

// Type is what the description of Cloudflare's API says of one type of object, with what it does not say (see Overlay).
// Paths have * for the elements of lists and maps. A type is shared by all callers, and never changed.
type Type struct {
	// Name is that of the kind, such as "cloudflare.turnstile.Widget".
	Name  string `json:"-"`
	Shape Shape  `json:"s"`
	// Path is that of the collection, or of the object where it has no collection, below the endpoint:
	// "/accounts/{account_id}/challenges/widgets". {scope} is accounts/ID or zones/ID.
	Path string `json:"u"`
	// ID is the property of an object that is the last part of its path; "" for a setting.
	ID string `json:"i,omitempty"`
	// The operations. Create is nil for a setting that is always there. Update replaces an object, Patch changes a part of it.
	Create *Operation `json:"c,omitempty"`
	Read   *Operation `json:"r"`
	Update *Operation `json:"up,omitempty"`
	Patch  *Operation `json:"pa,omitempty"`
	Delete *Operation `json:"d,omitempty"`
	List   *Operation `json:"l,omitempty"`
	// Root is the shape of what can be declared, without what is in the path. Answer is the shape of what is read.
	Root   *Node `json:"n"`
	Answer *Node `json:"a"`
	// CreateOnly cannot be changed, LaterOnly cannot be given in the call that creates, WriteOnly is never shown, and
	// OnceShown is shown by the call that creates alone.
	CreateOnly []tree.Path `json:"co,omitempty"`
	LaterOnly  []tree.Path `json:"lo,omitempty"`
	WriteOnly  []tree.Path `json:"wo,omitempty"`
	OnceShown  []string    `json:"os,omitempty"`

	Overlay `json:"-"`
}

// Operation is one operation of the API.
type Operation struct {
	// Name is "Turnstile.CreateWidget", Method an HTTP method.
	Name   string `json:"n"`
	Method string `json:"m"`
	// Inside is where in the answer the object, or the list of objects, is: keys joined by dots, "" for the whole.
	Inside string `json:"i,omitempty"`
	// List: the body is a list with the object as its only element. Bare: the body is the value of the property "items".
	List bool `json:"l,omitempty"`
	Bare bool `json:"b,omitempty"`
	// Pages is how a listing goes on: "page" or "cursor". "": it is whole.
	Pages string `json:"p,omitempty"`
	// Takes are the top-level properties of the body, Needs those that it must have.
	Takes []string `json:"t,omitempty"`
	Needs []string `json:"q,omitempty"`
}

// Items is the name of the property that stands for a body which is a list.
const Items = "items"

// Parents are the parts of the path that are properties too, in their order: "zone" for the zone.
func (t *Type) Parents() []string {
	var all []string
	for part := range strings.SplitSeq(t.Path, "/") {
		name, variable := strings.CutPrefix(part, "{")
		name = strings.TrimSuffix(name, "}")
		switch {
		case !variable || name == "account_id":
		case name == "zone_id", name == "scope":
			all = append(all, Zone)
		default:
			all = append(all, name)
		}
	}
	return all
}

// Zone is the property of the zone, by id or by name.
const Zone = "zone"

// ZoneOptional reports whether an object is in the account where no zone is given.
func (t *Type) ZoneOptional() bool { return strings.HasPrefix(t.Path, "/{scope}/") }

// IsParent reports whether a property is a part of the path.
func (t *Type) IsParent(name string) bool { return slices.Contains(t.Parents(), name) }

// IsBeside reports whether a property is in no body of a call: a part of the path, or what an object is known by already.
func (t *Type) IsBeside(name string) bool { return t.IsParent(name) || slices.Contains(t.Known, name) }

// within reports whether p is, or lies below, one of the patterns.
func within(p tree.Path, patterns []tree.Path) bool {
	return slices.ContainsFunc(patterns, func(q tree.Path) bool { return p.Within(q) })
}

// Changes reports whether an operation changes an object in place.
func (t *Type) Changes() bool { return t.Update != nil || t.Patch != nil }

// FixedAt reports whether nothing changes a path in place, so that another value replaces the object.
func (t *Type) FixedAt(p tree.Path) bool {
	return !t.Changes() || within(p, t.CreateOnly) || within(p, t.Immutable) || t.IsParent(string(p)) || t.ID != "" && p == tree.Path("").Key(t.ID)
}

// WriteOnlyAt reports whether a path is never shown.
func (t *Type) WriteOnlyAt(p tree.Path) bool {
	return string(p) != t.NameProp && (within(p, t.WriteOnly) || within(p, t.Hidden))
}

// SecretAt reports whether a path holds a secret.
func (t *Type) SecretAt(p tree.Path) bool {
	steps := p.Steps()
	return len(steps) > 0 && secretName(steps[len(steps)-1].Key) || within(p, t.Secret)
}

// secretWords end the names of properties that hold secrets. The description does not tell.
var secretWords = []string{
	"password", "secret", "private_key", "token_value", "api_key", "access_key", "shared_key", "tunnel_secret", "auth_token", "psk",
	"secretaccesskey", "service_key", "value_secret",
}

func secretName(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.HasSuffix(lower, word) })
}
