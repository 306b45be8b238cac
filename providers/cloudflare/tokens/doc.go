// Package tokens offers API tokens of a Cloudflare account, and of a user.
//
// It knows what a token may, by the names of permissions and zones, and that its value is told once. It does not know
// what a permission allows; how calls are made and judged is the business of package cloudflare.
package tokens

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed token.go token_props.go
var source embed.FS

const (
	tokenType     = "cloudflare.APIToken"
	userTokenType = "cloudflare.UserToken"
)

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{tokenKind.Erase(), userTokenKind.Erase()}}
}

// NewToken declares an API token of the account.
func NewToken(s *athanor.Stack, name string, p TokenProps, opts ...athanor.Option) Token {
	return athanor.Declare(s, tokenKind, name, p, opts...)
}

// NewUserToken declares an API token of the user whose token athanor has.
func NewUserToken(s *athanor.Stack, name string, p TokenProps, opts ...athanor.Option) Token {
	return athanor.Declare(s, userTokenKind, name, p, opts...)
}
