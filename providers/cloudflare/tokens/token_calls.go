package tokens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// The words of Cloudflare for whether a token works.
const (
	active   = "active"
	disabled = "disabled"
)

// shownToken is a token as Cloudflare writes it.
type shownToken struct {
	ID        string         `json:"id,omitempty"`
	Name      string         `json:"name"`
	Status    string         `json:"status,omitempty"`
	Policies  []shownPolicy  `json:"policies"`
	Condition shownCondition `json:"condition,omitzero"`
	NotBefore string         `json:"not_before,omitempty"`
	ExpiresOn string         `json:"expires_on,omitempty"`
	Value     token.Secret   `json:"value,omitempty"` // in the answer to the creation alone
}

type shownPolicy struct {
	Effect    string         `json:"effect"`
	Groups    []shownGroup   `json:"permission_groups"`
	Resources map[string]any `json:"resources"`
}

type shownGroup struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"` // in answers alone
}

type shownCondition struct {
	IP struct {
		In    []string `json:"in,omitempty"`
		NotIn []string `json:"not_in,omitempty"`
	} `json:"request_ip,omitzero"`
}

// key is the same for policies that mean the same.
func (p shownPolicy) key() string {
	ids := make([]string, len(p.Groups))
	for i, g := range p.Groups {
		ids[i] = g.ID
	}
	groups := make([]any, len(ids))
	for i, id := range sorted(ids) {
		groups[i] = id
	}
	return string(tree.Canonical(map[string]any{"effect": p.Effect, "permissions": groups, "resources": p.Resources}))
}

// unnamed are policies without the names of what they allow, as they are written.
func unnamed(all []shownPolicy) []shownPolicy {
	out := slices.Clone(all)
	for i := range out {
		out[i].Groups = slices.Clone(out[i].Groups)
		for j := range out[i].Groups {
			out[i].Groups[j].Name = ""
		}
	}
	return out
}

func base(account string) string { return "/accounts/" + account + "/tokens" }

func call(ctx context.Context, cloud reconcile.Cloud, method, path string, body, into any) error {
	return cloudflare.Call(ctx, cloud, cloudflare.Request{Method: method, Path: path, Body: body}, into)
}

var errNoName = errors.New("a token is found by its id or its name, and there is neither")

// observeToken reads a token by its id, or finds it by its name, which only a listing shows.
func observeToken(ctx context.Context, site tokenSite) (live liveToken, err error) {
	id, name := site.ID, site.Name
	switch {
	case site.Last != nil:
		id = site.Last.ID
	case id != "" && !cloudflare.IsID(id):
		id, name = "", id
	}
	switch {
	case id != "":
		err = call(ctx, site.Cloud, http.MethodGet, base(site.Place.Account)+"/"+url.PathEscape(id), nil, &live.shownToken)
	case name == "":
		err = errNoName
	default:
		live.shownToken, err = named(ctx, site.Cloud, site.Place.Account, name)
	}
	if err != nil {
		return live, cloudflare.Absent(err)
	}
	live.words, err = wordsOf(ctx, site.Cloud, site.Place.Account, site.Want.Policies, live.Policies)
	return live, err
}

// named is the token of that name. Names are nobody's own: of several nothing tells which is meant.
func named(ctx context.Context, cloud reconcile.Cloud, account, name string) (shownToken, error) {
	var found []shownToken
	for t, err := range tokens(ctx, cloud, account) {
		if err != nil {
			return shownToken{}, err
		}
		if t.Name == name {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return shownToken{}, fmt.Errorf("%w: no token is called %s", reconcile.ErrAbsent, name)
	case 1:
		return found[0], nil
	}
	return shownToken{}, reconcile.WithHint(fmt.Errorf("%w: %d tokens are called %s", reconcile.ErrAmbiguous, len(found), name),
		"delete those that nobody uses: a token without its value is replaced in any case")
}

// tokens are all of the account.
func tokens(ctx context.Context, cloud reconcile.Cloud, account string) iter.Seq2[shownToken, error] {
	return cloudflare.CallPages[shownToken](ctx, cloud, base(account), url.Values{"per_page": {"50"}})
}

// body is a whole token, as Cloudflare wants it.
func body(name string, want TokenProps, w words) (shownToken, error) {
	b := shownToken{Name: name, NotBefore: want.NotBefore, ExpiresOn: want.ExpiresOn}
	for _, p := range want.Policies {
		b.Policies = append(b.Policies, w.meant(p))
	}
	b.Condition.IP.In, b.Condition.IP.NotIn = sorted(want.AllowFrom), sorted(want.DenyFrom)
	return b, w.unknown(want.Policies)
}

// createToken makes a token that works at once, since Cloudflare makes no others; one that is declared disabled is
// disabled by the next call.
func createToken(ctx context.Context, site tokenSite) (Token, error) {
	w, err := wordsOf(ctx, site.Cloud, site.Place.Account, site.Want.Policies, nil)
	if err != nil {
		return Token{}, err
	}
	b, err := body(site.Name, site.Want, w)
	if err != nil {
		return Token{}, err
	}
	var made shownToken
	err = call(ctx, site.Cloud, http.MethodPost, base(site.Place.Account), b, &made)
	return Token{ID: made.ID, Name: site.Name, Value: made.Value}, err
}

// setToken sets all but the value. What is ignored, or left for later, keeps its live value.
func setToken(want TokenProps) *reconcile.Operation[liveToken] {
	return &reconcile.Operation[liveToken]{Name: "UpdateToken", Do: func(ctx context.Context, on reconcile.On[liveToken]) error {
		changed := func(path string) bool { return slices.Contains(on.Changed, tree.Path(path)) }
		b, live := on.Live.shownToken, on.Live
		b.Policies = unnamed(b.Policies)
		wanted, err := body(cmp.Or(want.Name, live.Name), want, live.words)
		if err != nil {
			return err
		}
		if changed("name") {
			b.Name = wanted.Name
		}
		if changed("policies") {
			b.Policies = wanted.Policies
		}
		if changed("allowFrom") {
			b.Condition.IP.In = wanted.Condition.IP.In
		}
		if changed("denyFrom") {
			b.Condition.IP.NotIn = wanted.Condition.IP.NotIn
		}
		if changed("notBefore") {
			b.NotBefore = wanted.NotBefore
		}
		if changed("expiresOn") {
			b.ExpiresOn = wanted.ExpiresOn
		}
		if b.Status != active && b.Status != disabled {
			b.Status = "" // expired, which nobody can set
		}
		if changed("disabled") {
			b.Status = map[bool]string{true: disabled, false: active}[want.Disabled]
		}
		b.ID = ""
		return cloudflare.NotYet(call(ctx, on.Cloud, http.MethodPut, base(on.Place.Account)+"/"+url.PathEscape(live.ID), b, nil))
	}}
}

func deleteToken(ctx context.Context, site tokenSite) error {
	return call(ctx, site.Cloud, http.MethodDelete, base(site.Place.Account)+"/"+url.PathEscape(site.Last.ID), nil, nil)
}

func listTokens(ctx context.Context, in reconcile.Scope) ([]reconcile.Found, error) {
	var all []reconcile.Found
	for t, err := range tokens(ctx, in.Cloud, in.Place.Account) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(t.Name, in.Prefix) {
			all = append(all, reconcile.Found{Kind: tokenType, Place: in.Place, Identity: t.ID, Name: t.Name})
		}
	}
	return all, nil
}
