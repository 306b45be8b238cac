package tokens

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveToken is an observed token, with what names mean in the account.
type liveToken struct {
	shownToken
	words words
}

type tokenSite = kind.Site[TokenProps, Token]

var tokenTable = kind.TableOf[TokenProps](kind.Codec{Name: "moment", Form: moment})

// owner is whose tokens a kind has: a service of the API.
type owner string

const (
	accounts owner = "Accounts"
	users    owner = "User"
)

// shownOnce ends the documentation of both kinds.
const shownOnce = " Its value is shown once, and kept sealed in state: without state the token is replaced, since nobody can use it. It has no tags, so " +
	"that the name proves ownership."

var tokenKind = &kind.Kind[TokenProps, liveToken, Token]{
	Type: tokenType,
	Doc:  "An API token of the account, for machines. A token of a user is a cloudflare.UserToken." + shownOnce,

	Observe: accounts.observe, Create: accounts.create, Compare: accounts.compare, Delete: accounts.delete,
	Attributes: liveToken.attributes,
	Identity:   identityOf,

	Props: tokenTable,
	Check: checkToken,
	Named: named(),
	List:  accounts.list,
	API:   accounts.api(),
}

var userTokenKind = &kind.Kind[TokenProps, liveToken, Token]{
	Type: userTokenType,
	Doc: "An API token of the user whose token the calls are made with: it ends with the user, and may be for several accounts. A token of the " +
		"account cannot make it. One for machines is a cloudflare.APIToken." + shownOnce,

	Observe: users.observe, Create: users.create, Compare: users.compare, Delete: users.delete,
	Attributes: liveToken.attributes,
	Identity:   identityOf,

	Props: tokenTable,
	Check: checkToken,
	Named: named(),
	List:  users.list,
	API:   users.api(),
}

func (l liveToken) attributes() Token { return Token{ID: l.ID, Name: l.Name, Value: l.Value} }

func identityOf(t Token) string { return t.ID }

func named() *kind.Named[TokenProps, liveToken] {
	return &kind.Named[TokenProps, liveToken]{
		Given: func(want TokenProps) string { return want.Name },
		Rule:  func(TokenProps) kind.NameRule { return kind.NameRule{Max: 120, Marks: "-", Any: true} },
	}
}

// base is the path of all tokens of the owner.
func (o owner) base(location kind.Location) string {
	if o == users {
		return "/user/tokens"
	}
	return "/accounts/" + location.Account + "/tokens"
}

func (o owner) delete(ctx context.Context, s tokenSite) error {
	return cloudflare.Send(ctx, s.Cloud, http.MethodDelete, o.base(s.Location)+"/"+url.PathEscape(s.Last.ID), nil, nil)
}

// list lists the tokens of the owner. Who may not list those of the user, such as a token of an account, has none there.
func (o owner) list(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
	typ := tokenType
	if o == users {
		typ = userTokenType
	}
	found, err := cloudflare.FoundIn(scope, o.tokens(ctx, scope.Cloud, scope.Place), func(t shownToken) kind.Found {
		return kind.Found{Kind: typ, Identity: t.ID, Name: t.Name}
	})
	if o == users && err != nil && scope.Cloud.Classify(err) == reconcile.Denied {
		return nil, nil
	}
	return found, err
}

// api is what the kind of the owner calls, and what that takes.
func (o owner) api() kind.API {
	groups, permission := ".GetTokenPermissionGroup", "Account API Tokens"
	if o == users {
		groups, permission = ".ListTokenPermissionGroups", "API Tokens"
	}
	service := string(o)
	read, write := []string{permission + " Read"}, []string{permission + " Write"}
	return kind.API{
		Source: source,
		Calls: []string{
			service + ".ListTokens", service + ".GetToken", service + ".CreateToken", service + ".UpdateToken", service + ".DeleteToken",
			service + groups, "Zones.ListZones", "Zones.GetZone",
		},
		Permissions: kind.Permissions{Observe: append(read, "Zone Read"), List: read, Create: write, Update: write, Delete: write},
	}
}

// checkToken finds what Cloudflare would refuse, or would take without doing it.
func checkToken(want TokenProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if len(want.Policies) == 0 {
		wrong("policies", "want one at least")
	}
	for i, p := range want.Policies {
		at := tree.Path("policies").Index(i)
		if len(p.Permissions) == 0 {
			wrong(at.Key("permissions"), "want one at least")
		}
		if len(p.Zones) > 0 && len(p.Resources) > 0 {
			wrong(at, "want one of zones and resources")
		}
	}
	for path, when := range map[tree.Path]string{"notBefore": want.NotBefore, "expiresOn": want.ExpiresOn} {
		if when == "" || token.Has(when) {
			continue
		}
		if at, err := time.Parse(time.RFC3339, when); err != nil || at.Nanosecond() != 0 {
			wrong(path, "want a time in whole seconds such as 2027-01-01T00:00:00Z")
		}
	}
	for path, ranges := range map[tree.Path][]string{"allowFrom": want.AllowFrom, "denyFrom": want.DenyFrom} {
		for i, text := range ranges {
			if !token.Has(text) && !isRange(text) {
				wrong(path.Index(i), fmt.Sprintf("%q is no address, and no range of them", text))
			}
		}
	}
	return problems.OrNil()
}

func isRange(text string) bool {
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	_, err := netip.ParseAddr(text)
	return err == nil
}

// compare states every aspect. One call sets all but the value, since what it leaves out is deleted. Policies that
// mean what is declared count as that, whatever their order and whichever names are used.
func (o owner) compare(d *kind.Diff[liveToken], want TokenProps, live liveToken) {
	have := live.have
	wanted, shown := make([]string, len(want.Policies)), make([]string, len(live.Policies))
	for i, p := range want.Policies {
		wanted[i] = live.words.meant(p).key()
	}
	for i, p := range live.Policies {
		shown[i] = p.key()
		have.Policies = append(have.Policies, live.words.declared(p))
	}
	if slices.Equal(sorted(wanted), sorted(shown)) {
		have.Policies = want.Policies
	}
	set := kind.Set("UpdateToken", func(ctx context.Context, u kind.Update[liveToken]) error {
		name, merged := live.Name, tokenTable.Merged(want, have, u.Changed)
		if slices.Contains(u.Changed, "name") {
			name = want.Name
		}
		doc, err := body(name, merged, live.words)
		if err != nil {
			return err
		}
		if live.Status == active || live.Status == disabled || slices.Contains(u.Changed, "disabled") {
			doc["status"] = map[bool]string{true: disabled, false: active}[merged.Disabled] // nobody can set expired
		}
		return cloudflare.NotYet(cloudflare.Send(ctx, u.Cloud, http.MethodPut, o.base(u.Location)+"/"+url.PathEscape(live.ID), doc, nil))
	})
	kind.CompareName(d, "name", live.Name, set)
	kind.Compare(d, tokenTable, want, have, set)
}

// moment is a time in the form in which two of them compare.
func moment(text any) any {
	s, _ := text.(string)
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at.UTC().Format(time.RFC3339)
	}
	return text
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }
