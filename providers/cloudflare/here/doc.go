// Package here is this machine as a location of Cloudflare's objects: what the local variants of its kinds have in common.
//
// It knows the location, one dev session's Workers as they run, and where on disk the objects of a stage keep their data. It
// does not know kinds; how Workers run is the business of package miniflare.
package here

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// family begins the names of local variants, and is the provider that offers them.
const family = "miniflare"

// Type is the name of the local variant of a kind of Cloudflare.
func Type(kind string) string { return family + strings.TrimPrefix(kind, "cloudflare") }

// Provider offers local variants. It asks nothing of Cloudflare.
func Provider(kinds ...reconcile.Any) reconcile.Provider {
	return reconcile.Provider{
		Name: family, Kinds: kinds,
		Open: func(context.Context, any) (reconcile.Cloud, error) { return Machine(), nil },
	}
}

// Machine is the way to this machine.
func Machine() reconcile.Cloud { return machine{} }

type machine struct{}

// Place has no account.
func (machine) Place(context.Context) (reconcile.Place, error) {
	return reconcile.Place{Provider: family}, nil
}

// Classify waits for nothing: what does not work here works when something is mended.
func (machine) Classify(error) reconcile.Class { return reconcile.Unknown }

// ID is that of an object, the same whenever it is asked for, and another for each generation: nothing is found in a new
// object that an old one left. It shows that the object is here and not at Cloudflare.
func ID(m reconcile.Mark) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{m.Stack, m.Stage, m.Address, strconv.FormatUint(m.Generation, 10)}, "\x00")))
	return idPrefix + hex.EncodeToString(sum[:13])
}

const idPrefix = "local-"

// Elsewhere reports an id that no object of this machine has.
func Elsewhere(id string) bool { return id != "" && !token.Has(id) && !strings.HasPrefix(id, idPrefix) }

// Name is one for an object that the author gave none: lower-case letters, digits and -, at most 63.
func Name(m reconcile.Mark) string {
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, m.Stack+"-"+m.Address)
	const longest, tail = 63, 8
	id := ID(m)
	return strings.Trim(readable[:min(len(readable), longest-tail-1)], "-") + "-" + id[len(id)-tail:]
}
