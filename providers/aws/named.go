package aws

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// ErrForeign says that an identity names something of another account or region.
var ErrForeign = errors.New("it is in another place")

var errNoName = errors.New("it is found by its name, and has none")

// Foreign is [ErrForeign] for an identity that is not of a place.
func Foreign(id string, place reconcile.Place) error {
	return fmt.Errorf("%w: %s, and not in %s", ErrForeign, id, place)
}

// Names is how the objects of a kind are named.
type Names[A any] struct {
	// Of is the name in the attributes of the state.
	Of func(A) string
	// In is the name in what follows the account in an ARN. It may make something up of what names other objects, whose ARN
	// is another one then.
	In func(resource string) string
	// Bare is the name in an identity that is no ARN. Nil: it is the name.
	Bare func(id string) string
	// ARN names an object in a location.
	ARN func(place reconcile.Place, name string) ARN
}

// NameOf is the name by which an object is searched: that in state, else that of the identity that somebody gave, which may
// be an ARN in the same place, since that is what people paste, else the physical name.
func NameOf[P, A any](site kind.Site[P, A], names Names[A]) (string, error) {
	switch {
	case site.Last != nil:
		return names.Of(*site.Last), nil
	case site.ID != "":
		return names.named(site.ID, site.Location)
	case site.Name != "":
		return site.Name, nil
	}
	return "", errNoName
}

func (n Names[A]) named(id string, place reconcile.Place) (string, error) {
	p, ok := ARN(id).Parse()
	switch {
	case ok:
		name := n.In(p.Resource)
		if ARN(id) != n.ARN(place, name) {
			return "", Foreign(id, place)
		}
		return name, nil
	case n.Bare != nil:
		return n.Bare(id), nil
	}
	return id, nil
}
