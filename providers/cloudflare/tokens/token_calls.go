package tokens

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// The words of Cloudflare for whether a token works.
const (
	active   = "active"
	disabled = "disabled"
)

// shownToken is a token as Cloudflare writes it. have is the part that the table compares, and Disabled.
type shownToken struct {
	ID, Name, Status string
	Policies         []shownPolicy
	Value            token.Secret // in the answer to the creation alone, or declared
	have             TokenProps
}

// UnmarshalJSON reads a token and its props.
func (t *shownToken) UnmarshalJSON(text []byte) (err error) {
	type fields shownToken
	if err := json.Unmarshal(text, (*fields)(t)); err != nil {
		return err
	}
	t.have, err = tokenTable.Read(cloudflare.Document(string(text)))
	t.have.Disabled = t.Status == disabled
	return err
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

// observe reads a token by its id, or finds it by its name, which only a listing shows. The value of one that is taken over by its id is
// the one that is declared.
func (o owner) observe(ctx context.Context, s tokenSite) (live liveToken, err error) {
	id, name := cloudflare.KeyOf(s, func(t Token) string { return t.ID }, cloudflare.IsID)
	if id != "" {
		err = cloudflare.Send(ctx, s.Cloud, http.MethodGet, o.base(s.Location)+"/"+url.PathEscape(id), nil, &live.shownToken)
	} else {
		live.shownToken, err = cloudflare.OnlyCalled(o.tokens(ctx, s.Cloud, s.Location), func(t shownToken) string { return t.Name },
			"token", name, "delete those that nobody uses: a token without its value is replaced in any case")
	}
	if err != nil {
		return live, cloudflare.Absent(err)
	}
	if s.ID != "" && s.Last == nil && !token.Has(string(s.Want.Value)) {
		live.Value = s.Want.Value
	}
	live.words, err = o.wordsOf(ctx, s.Cloud, s.Location, s.Want.Policies, live.Policies)
	return live, err
}

// tokens are all of the owner.
func (o owner) tokens(ctx context.Context, cloud kind.Cloud, location kind.Location) iter.Seq2[shownToken, error] {
	return cloudflare.CallPages[shownToken](ctx, cloud, o.base(location), url.Values{"per_page": {"50"}})
}

// body is a whole token, as Cloudflare wants it.
func body(name string, want TokenProps, w words) (kind.Document, error) {
	policies := make([]shownPolicy, len(want.Policies))
	for i, p := range want.Policies {
		policies[i] = w.meant(p)
	}
	doc := kind.Document{"name": name, "policies": policies}
	if err := w.unknown(want.Policies); err != nil {
		return nil, err
	}
	return doc, tokenTable.Created(want, doc)
}

// create makes a token that works at once, since Cloudflare makes no others; one that is declared disabled is
// disabled by the next call.
func (o owner) create(ctx context.Context, s tokenSite) (Token, error) {
	w, err := o.wordsOf(ctx, s.Cloud, s.Location, s.Want.Policies, nil)
	if err != nil {
		return Token{}, err
	}
	doc, err := body(s.Name, s.Want, w)
	if err != nil {
		return Token{}, err
	}
	var made shownToken
	err = cloudflare.Send(ctx, s.Cloud, http.MethodPost, o.base(s.Location), doc, &made)
	return Token{ID: made.ID, Name: s.Name, Value: made.Value}, err
}
