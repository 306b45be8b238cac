package tokens

import "github.com/athanor-dev/athanor/reconcile/token"

// TokenProps declare an API token. Permissions are those of
// https://developers.cloudflare.com/fundamentals/api/reference/permissions/
type TokenProps struct {
	// Name of the token, up to 120 characters. Default: none, a name is generated.
	Name string
	// Policies say what the token may. The order does not count.
	Policies []Policy `prop:"required" wire:"-"`
	// AllowFrom are the addresses, or ranges of them, that the token works from. The order does not count. Default: none,
	// it works from everywhere.
	AllowFrom []string `prop:"set" wire:"condition.request_ip.in"`
	// DenyFrom are those that it does not work from. The order does not count. Default: none.
	DenyFrom []string `prop:"set" wire:"condition.request_ip.not_in"`
	// NotBefore is when the token begins to work, such as 2027-01-01T00:00:00Z. Default: none, at once.
	NotBefore string `wire:"not_before,moment"`
	// ExpiresOn is when the token ceases to work, such as 2027-01-01T00:00:00Z. Default: none, never.
	ExpiresOn string `wire:"expires_on,moment"`
	// Disabled keeps the token from working.
	Disabled bool `prop:"default=false" wire:"-"`
	// Version is any number; raising it makes a token with another value, and deletes this one once the other is in use.
	// It is write-only: the digest of what was written last is compared.
	Version int `prop:"writeonly,immutable,default=0" wire:"-"`
	// Value of a token that options.adopt takes over: nothing shows it again. It is read then alone, and kept sealed in state. Default: none,
	// a token that is taken over is replaced.
	Value token.Secret
}

// Policy says what a token may, or may not, do with some resources.
type Policy struct {
	// Effect of the policy. Default: allow.
	Effect *string `prop:"enum=allow|deny"`
	// Permissions are the names of permission groups, such as "DNS Write", or their ids. The order does not count.
	Permissions []string `prop:"required"`
	// Zones that the permissions are for, by name or by id; "*" is all of the account. Default: none, they are for the
	// account itself, or for what resources names.
	Zones []string
	// Resources that the permissions are for, as Cloudflare writes them, such as "com.cloudflare.edge.r2.bucket.…". Default:
	// none, the account, or zones.
	Resources map[string]any
}

// Token is what others may refer to of a token.
type Token struct {
	// ID of the token.
	ID string `attr:"early"`
	// Name of the token.
	Name string `attr:"early,mutable=name"`
	// Value is the token itself. It is secret, shown once when the token is made, and kept sealed in state. A token
	// whose state is lost is replaced.
	Value token.Secret `attr:"early,createOnly"`
}
