package registry

import (
	"slices"
	"time"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Type is what the registry says of one type. Paths have * for the elements of lists and maps. A type is shared by all
// who ask for it, and never changed.
type Type struct {
	// Name is the registry's, such as "AWS::EC2::VPC".
	Name string `json:"-"`
	// ID are the properties whose values, joined by "|", identify a resource.
	ID []tree.Path `json:"i"`
	// CreateOnly properties replace when they change; Conditional ones do sometimes, and only the service knows when.
	CreateOnly  []tree.Path `json:"c,omitempty"`
	Conditional []tree.Path `json:"cc,omitempty"`
	// ReadOnly properties cannot be set; WriteOnly ones are never shown.
	ReadOnly  []tree.Path `json:"r,omitempty"`
	WriteOnly []tree.Path `json:"w,omitempty"`
	// Loose are paths whose values come back in another form: another case, or a name that became an ARN.
	Loose []tree.Path `json:"l,omitempty"`
	// DeleteFirst: two of a kind cannot stand side by side, so that the old one goes before the new one comes.
	DeleteFirst bool `json:"d,omitempty"`
	// Stateful: it holds users' data, as far as a type can tell.
	Stateful bool `json:"st,omitempty"`
	// Tags say how it is tagged, nil when it is not.
	Tags *Tags `json:"t,omitempty"`
	// Create, Read, Delete, Update and List are its handlers; the last two may be nil.
	Create *Handler `json:"hc"`
	Read   *Handler `json:"hr"`
	Delete *Handler `json:"hd"`
	Update *Handler `json:"hu,omitempty"`
	List   *Handler `json:"hl,omitempty"`
	// Grants are the permissions of all handlers in short, by the letters of those that need them.
	Grants map[string]string `json:"hp,omitempty"`

	// Root is the shape of its properties, and Definitions are those that nodes refer to by name.
	Root        *Node            `json:"n"`
	Definitions map[string]*Node `json:"$,omitempty"`
}

// Tags say how a type is tagged.
type Tags struct {
	// Property holds the tags.
	Property string `json:"p"`
	// Key and Value are the names in a list of objects; "" for a map.
	Key   string `json:"k,omitempty"`
	Value string `json:"v,omitempty"`
	// Also are truths that an entry must have beside key and value.
	Also []string `json:"also,omitempty"`
	// OnCreate: tags can be given in the call that creates. Fixed: they cannot be changed later.
	OnCreate bool `json:"c,omitempty"`
	Fixed    bool `json:"f,omitempty"`
}

// Handler is what AWS runs for one operation.
type Handler struct {
	// Permissions are the actions of IAM that the caller needs.
	Permissions []string `json:"-"`
	// Minutes bound it; 0 is the registry's default of two hours.
	Minutes int `json:"m,omitempty"`
	// Needs are the properties that a listing asks for.
	Needs []string `json:"n,omitempty"`
}

// Timeout bounds the operation.
func (h *Handler) Timeout() time.Duration {
	if h == nil || h.Minutes == 0 {
		return 2 * time.Hour // https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
	}
	return time.Duration(h.Minutes) * time.Minute
}

// within reports whether p is, or lies below, one of the patterns.
func within(p tree.Path, patterns []tree.Path) bool {
	return slices.ContainsFunc(patterns, func(q tree.Path) bool { return p.Within(q) })
}

// Replaces reports whether a change at a path replaces the resource, for sure or sometimes.
func (t *Type) Replaces(p tree.Path) (always, sometimes bool) {
	return within(p, t.CreateOnly), within(p, t.Conditional)
}

// ReadOnlyAt reports whether nothing can be set at a path.
func (t *Type) ReadOnlyAt(p tree.Path) bool { return within(p, t.ReadOnly) }

// WriteOnlyAt reports whether a path is never shown.
func (t *Type) WriteOnlyAt(p tree.Path) bool { return within(p, t.WriteOnly) }

// LooseAt reports whether what is shown at a path may have another form than what was set.
func (t *Type) LooseAt(p tree.Path) bool { return within(p, t.Loose) }

// Finding is how a resource is found without state.
type Finding string

// The ways to find a resource, best first.
const (
	ByName   Finding = "name"    // its identity is the author's to choose
	ByTags   Finding = "tags"    // its owner tag is written when it is created
	ByParent Finding = "parent"  // the listing shows it, and it is matched by what cannot change
	Nowhere  Finding = "nothing" // not at all: a lost state means a second one
)

// Finding is the best way for the type.
func (t *Type) Finding() Finding {
	chosen := func(p tree.Path) bool { return !t.ReadOnlyAt(p) }
	switch {
	case !slices.ContainsFunc(t.ID, func(p tree.Path) bool { return !chosen(p) }):
		return ByName
	case t.Tags != nil && t.Tags.OnCreate:
		return ByTags
	case t.List != nil:
		return ByParent
	}
	return Nowhere
}
