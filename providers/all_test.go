package providers_test

import (
	"testing"

	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
)

// All kinds are valid, no two share a name, and each says what it is.
func TestAllKindsRegister(t *testing.T) {
	t.Parallel()
	all := providers.All()
	for i := range all {
		all[i].Validated = false // here they are
	}
	catalog, err := reconcile.NewCatalog(all...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range catalog.Types() {
		kind, _ := catalog.Kind(name)
		spec := kind.Spec()
		if _, err := spec.Props(); err != nil || spec.Doc == "" {
			t.Errorf("%s: documentation %q (%v)", name, spec.Doc, err)
		}
		if _, err := spec.Attrs(); err != nil {
			t.Errorf("%s: attributes: %v", name, err)
		}
	}
}

// described counts how often a kind is asked for what takes a look at its types.
type described struct {
	reconcile.Any
	times *int
}

func (d described) Spec() *reconcile.Spec { *d.times++; return d.Any.Spec() }
func (d described) Validate() error       { *d.times++; return d.Any.Validate() }

// A command begins without describing the kinds that it may use: of hundreds it needs few.
func TestNoKindIsDescribedAhead(t *testing.T) {
	t.Parallel()
	all, times := providers.All(), 0
	for i := range all {
		kinds := make([]reconcile.Any, len(all[i].Kinds))
		for k, kind := range all[i].Kinds {
			kinds[k] = described{kind, &times}
		}
		all[i].Kinds = kinds
	}
	catalog, err := reconcile.NewCatalog(all...)
	if err != nil || len(catalog.Types()) == 0 {
		t.Fatalf("%d kinds (%v)", len(catalog.Types()), err)
	}
	if kind, err := catalog.Find("local.File"); err != nil || times != 0 {
		t.Errorf("kinds were described %d times before one was used (%v)", times, err)
	} else if kind.Spec(); times != 1 {
		t.Errorf("a kind that is used was described %d times", times)
	}
}
