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
	places := []reconcile.Place{
		{Provider: "aws", Account: "111122223333", Region: "eu-west-1"},
		{Provider: "aws", Account: "111122223333", Region: "cn-north-1"},
		{Provider: "aws", Account: "111122223333", Region: "us-gov-west-1"},
	}
	for _, s := range services() {
		for _, kind := range s.Kinds {
			spec := kind.Spec()
			if spec.Recorded {
				continue // it calls nothing: what it is made of does
			}
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
			for _, place := range places {
				for _, name := range []string{"thing", "*"} {
					all := p.Resource(place, name)
					for _, d := range p.Depends {
						if d.Resource != nil {
							all = append(all, d.Resource(place, "*")...)
						}
					}
					for _, arn := range all {
						if parts, ok := aws.ARN(arn).Parse(); arn != "*" && (!ok || parts.Partition != aws.Partition(place.Region)) {
							t.Errorf("%s: %q is no ARN of %s", spec.Type, arn, place.Region)
						}
					}
				}
			}
			fields, err := spec.Props()
			if err != nil {
				t.Fatal(err)
			}
			paths := append(slices.Concat(slices.Collect(maps.Values(p.Only))...), p.Of)
			for _, d := range p.Depends {
				paths = append(paths, d.Props...)
			}
			for _, path := range paths {
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
