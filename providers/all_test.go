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
