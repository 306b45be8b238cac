package providers

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var action = regexp.MustCompile(`^[a-z0-9-]+:[A-Z][A-Za-z]+$`)

// TestPermissionsAreWhole: every kind of AWS says what it needs and on what, in the words of IAM.
func TestPermissionsAreWhole(t *testing.T) {
	t.Parallel()
	place := reconcile.Place{Provider: "aws", Account: "111122223333", Region: "eu-west-1"}
	for _, s := range services() {
		for _, kind := range s.Kinds {
			spec := kind.Spec()
			p := spec.Permissions
			if len(p.Observe) == 0 || len(p.Create) == 0 || len(p.Delete) == 0 {
				t.Errorf("%s: permissions to look, create or delete are missing", spec.Type)
			}
			for _, a := range slices.Concat(p.All(), p.Anywhere) {
				if !action.MatchString(a) {
					t.Errorf("%s: %q is no action", spec.Type, a)
				}
				if !slices.Contains(p.All(), a) {
					t.Errorf("%s: %s is allowed anywhere and never asked for", spec.Type, a)
				}
			}
			if p.Resource == nil {
				t.Errorf("%s: nothing says on what its actions are allowed", spec.Type)
				continue
			}
			for _, name := range []string{"thing", "*"} {
				for _, arn := range p.Resource(place, name) {
					if _, ok := aws.ARN(arn).Parse(); !ok {
						t.Errorf("%s: %q is no ARN", spec.Type, arn)
					}
				}
			}
			fields, err := spec.Props()
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range append(slices.Concat(slices.Collect(maps.Values(p.Passes))...), p.Of) {
				if path != "" && !has(fields, path) {
					t.Errorf("%s: permissions name %s, which is no prop", spec.Type, path)
				}
			}
		}
	}
}

func has(fields []props.Field, path tree.Path) bool {
	return slices.ContainsFunc(fields, func(f props.Field) bool { return f.Path == path || has(f.Fields, path) })
}
