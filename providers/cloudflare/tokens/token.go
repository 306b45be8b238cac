package tokens

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveToken is a token as it was seen, with what names mean in the account.
type liveToken struct {
	shownToken
	words words
}

type (
	tokenSite = reconcile.Site[TokenProps, Token]
	tokenDiff = reconcile.Diff[liveToken]
)

var tokenKind = &reconcile.Kind[TokenProps, liveToken, Token]{
	Type: tokenType,
	Doc: "An API token of the account, for machines; tokens of users are not managed. Its value is told once, and kept sealed " +
		"in the record: without a record the token is replaced, since nobody can use it. It has no tags, so that its name " +
		"tells whose it is.",

	Observe:  observeToken,
	Create:   createToken,
	Compare:  compareToken,
	Attrs:    func(live liveToken) Token { return Token{ID: live.ID, Name: live.Name} },
	Delete:   deleteToken,
	Identity: func(t Token) string { return t.ID },

	Naming:  func(TokenProps, reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: 120} },
	Given:   func(want TokenProps) string { return want.Name },
	Check:   checkToken,
	Once:    []string{"value"},
	Moves:   []string{"name"},
	MovedBy: map[string][]tree.Path{"name": {"name"}},
	AtBirth: []string{"id", "name", "value"},
	List:    listTokens,

	Source: source,
	Calls: []string{
		"Accounts.ListTokens", "Accounts.GetToken", "Accounts.CreateToken", "Accounts.UpdateToken", "Accounts.DeleteToken",
		"Accounts.GetTokenPermissionGroup", "Zones.ListZones", "Zones.GetZone",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"Account API Tokens Read", "Zone Read"},
		List:    []string{"Account API Tokens Read"},
		Create:  []string{"Account API Tokens Write"},
		Update:  []string{"Account API Tokens Write"},
		Delete:  []string{"Account API Tokens Write"},
	},
}

// checkToken finds what Cloudflare would refuse, or would take without doing it.
func checkToken(want TokenProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if len(want.Name) > 120 && !token.Has(want.Name) {
		wrong("name", "want up to 120 characters")
	}
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

// compareToken states every aspect. One call sets all, since what it leaves out is gone.
func compareToken(d *tokenDiff, want TokenProps, live liveToken) {
	set := setToken(want)
	if name, given := d.Name(); given {
		reconcile.Value(d, "name", name, live.Name, set)
	}
	comparePolicies(d, want.Policies, live, set)
	reconcile.List(d, "allowFrom", sorted(want.AllowFrom), sorted(live.Condition.IP.In), set)
	reconcile.List(d, "denyFrom", sorted(want.DenyFrom), sorted(live.Condition.IP.NotIn), set)
	reconcile.Value(d, "notBefore", moment(want.NotBefore), moment(live.NotBefore), set)
	reconcile.Value(d, "expiresOn", moment(want.ExpiresOn), moment(live.ExpiresOn), set)
	reconcile.Value(d, "disabled", want.Disabled, live.Status == disabled, set)
	reconcile.Written(d, "version", want.Version, nil)
}

// comparePolicies compares what policies mean, whatever their order and whichever names are used; what differs is told
// in the words of a declaration.
func comparePolicies(d *tokenDiff, want []Policy, live liveToken, set *reconcile.Operation[liveToken]) {
	wanted, have, told := make([]string, len(want)), make([]string, len(live.Policies)), make([]Policy, len(live.Policies))
	for i, p := range want {
		wanted[i] = live.words.meant(p).key()
	}
	for i, p := range live.Policies {
		have[i], told[i] = p.key(), live.words.declared(p)
	}
	if !slices.Equal(sorted(wanted), sorted(have)) || d.Unknown("policies", want) {
		reconcile.List(d, "policies", want, told, set)
	}
}

// moment is a time in the form in which two of them compare.
func moment(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.UTC().Format(time.RFC3339)
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }
