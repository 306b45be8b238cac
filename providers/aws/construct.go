package aws

import (
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/reconcile"
)

// Usable is what YAML uses of a kind that can be granted: declared gives the attributes what grants need of the props, grant is
// its Grant, and words are its ways of access by their names.
func Usable[P, A any, W ~string](declared func(A, P) A, grant func(A, Grantee, ...W), words map[string]W) athanor.Construct {
	return athanor.Construct{
		Of: func(s *athanor.Stack, name string, props any) any {
			attributes := athanor.Attributes[A](s, name)
			if p, ok := props.(*P); ok && declared != nil {
				return declared(attributes, *p)
			}
			return attributes
		},
		Access: slices.Sorted(maps.Keys(words)),
		Grant: func(used, consumer any, access []string) error {
			to, ok := consumer.(Grantee)
			if !ok {
				return reconcile.WithHint(fmt.Errorf("a grant to a %T, which runs as no role", consumer),
					"grant to a function, or to a role that it runs as")
			}
			list := make([]W, len(access))
			for i, word := range access {
				list[i] = W(word) // an action by its name
				if known, ok := words[word]; ok {
					list[i] = known
				}
			}
			grant(used.(A), to, list...)
			return nil
		},
	}
}

// Constructs are those of services, by kind.
func Constructs(services ...Service) map[string]athanor.Construct {
	all := map[string]athanor.Construct{}
	for _, s := range services {
		maps.Copy(all, s.Constructs)
	}
	return all
}
