package cloudflaretest

import (
	"maps"
	"slices"
)

// token is an API token of an account; of the user, where that is "".
type token struct {
	account, id, value string
	body               object
}

var tokenHandlers = map[string]handler{
	"accounts.ListTokens":              listTokens,
	"accounts.CreateToken":             createToken,
	"accounts.GetToken":                onToken(func(_ *world, _ request, t *token) (any, *failure) { return t.shown(), nil }),
	"accounts.UpdateToken":             onToken(updateToken),
	"accounts.DeleteToken":             onToken(deleteToken),
	"accounts.GetTokenPermissionGroup": listPermissionGroups,

	"user.ListTokens":                listTokens,
	"user.CreateToken":               createToken,
	"user.GetToken":                  onToken(func(_ *world, _ request, t *token) (any, *failure) { return t.shown(), nil }),
	"user.UpdateToken":               onToken(updateToken),
	"user.DeleteToken":               onToken(deleteToken),
	"user.ListTokenPermissionGroups": listPermissionGroups,
}

func noToken() *failure {
	return &failure{service: "accounts", status: 404, code: 1003, message: "Token not found"}
}

func noUserToken() *failure {
	return &failure{service: "user", status: 404, code: 1003, message: "Token not found"}
}

func onToken(do func(*world, request, *token) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		for _, t := range w.tokens {
			if t.account == r.account && t.id == r.path["tokenId"] {
				return do(w, r, t)
			}
		}
		if r.account == "" {
			return nil, noUserToken()
		}
		return nil, noToken()
	}
}

// permissionGroups are a few of those that Cloudflare has, by scope. One name can be in several.
var permissionGroups = []struct{ id, name, scope string }{
	{"00000000000000000000000000000001", "Workers Scripts Write", "com.cloudflare.api.account"},
	{"00000000000000000000000000000002", "Workers KV Storage Read", "com.cloudflare.api.account"},
	{"00000000000000000000000000000003", "DNS Write", "com.cloudflare.api.account.zone"},
	{"00000000000000000000000000000004", "Logs Read", "com.cloudflare.api.account"},
	{"00000000000000000000000000000005", "Logs Read", "com.cloudflare.api.account.zone"},
	{"00000000000000000000000000000006", "Workers R2 Storage Bucket Item Read", "com.cloudflare.edge.r2.bucket"},
}

func listPermissionGroups(*world, request) (any, *failure) {
	all := make([]any, len(permissionGroups))
	for i, g := range permissionGroups {
		all[i] = object{"id": g.id, "name": g.name, "scopes": []any{g.scope}}
	}
	return all, nil
}

// shown is a token without its value, and with the names of what it may.
func (t *token) shown() object {
	all := maps.Clone(t.body)
	all["id"], all["issued_on"], all["modified_on"] = t.id, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"
	if all["status"] == nil {
		all["status"] = "active"
	}
	given, _ := t.body["policies"].([]any)
	policies := make([]any, len(given))
	for i, p := range given {
		policy := maps.Clone(p.(object))
		policy["id"] = hexID(16)
		groups, _ := policy["permission_groups"].([]any)
		named := make([]any, len(groups))
		for j, g := range groups {
			id := g.(object)["id"]
			named[j] = object{"id": id}
			for _, known := range permissionGroups {
				if known.id == id {
					named[j] = object{"id": id, "name": known.name}
				}
			}
		}
		policy["permission_groups"] = named
		policies[i] = policy
	}
	all["policies"] = policies
	return all
}

func listTokens(w *world, r request) (any, *failure) {
	all := []any{}
	for _, t := range w.tokens {
		if t.account == r.account {
			all = append(all, t.shown())
		}
	}
	return paged(r, all, 20), nil
}

// may finds what no token can be allowed.
func may(r request) *failure {
	policies, _ := r.body["policies"].([]any)
	for _, p := range policies {
		groups, _ := p.(object)["permission_groups"].([]any)
		for _, g := range groups {
			known := false
			for _, group := range permissionGroups {
				known = known || group.id == g.(object)["id"]
			}
			if !known {
				return &failure{status: 400, code: 1001, message: "Permission group not found"}
			}
		}
	}
	return nil
}

func createToken(w *world, r request) (any, *failure) {
	if f := may(r); f != nil {
		return nil, f
	}
	t := &token{account: r.account, id: hexID(16), value: newToken(), body: r.body}
	w.tokens = append(w.tokens, t)
	all := t.shown()
	all["value"] = t.value
	return all, nil
}

// updateToken sets all: what is left out is deleted.
func updateToken(_ *world, r request, t *token) (any, *failure) {
	if f := may(r); f != nil {
		return nil, f
	}
	t.body = r.body
	return t.shown(), nil
}

func deleteToken(w *world, _ request, t *token) (any, *failure) {
	w.tokens = slices.DeleteFunc(w.tokens, func(o *token) bool { return o == t })
	return object{"id": t.id}, nil
}

// TokenValues are the values of all tokens that there are.
func (s *Server) TokenValues() []string {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	all := []string{}
	for _, t := range s.world.tokens {
		all = append(all, t.value)
	}
	return all
}
