package terraform

import (
	"strings"

	"github.com/athanor-dev/athanor"
)

// Props are props by the provider's names. Values are plain ones, references, and lists and maps of these.
type Props = map[string]any

// In is a handle of the stack whose types of Terraform providers are those of the provider that the settings name.
//
//	db := terraform.In(s, terraform.Settings{Terraform: "cyrilgdn/postgresql", Path: "bin/terraform-provider-postgresql"})
//	terraform.NewResource(db, "app", "postgresql_role", terraform.Props{"name": "app"})
func In(s *athanor.Stack, settings Settings) *athanor.Stack {
	return s.With(strings.TrimSuffix(Prefix, "."), settings) // a kind takes the settings of the first word of its name
}

// NewResource declares a resource of a type of a provider, which [In] has named.
func NewResource(s *athanor.Stack, name, typ string, p Props, opts ...athanor.Option) athanor.Resource {
	return s.Resource(Prefix+typ, name, p, opts...)
}
