package tokens

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// The beginnings of what Cloudflare calls resources.
const (
	ofAccount = "com.cloudflare.api.account"
	ofZone    = ofAccount + ".zone"
	ofBucket  = "com.cloudflare.edge.r2.bucket"
)

// words are what names mean in the account.
type words struct {
	account string
	groups  []group
	zones   map[string]string // ids by name
}

// group is a permission group. One name can be in several scopes.
type group struct {
	ID, Name string
	Scopes   []string
}

// wordsOf are those that policies need. What is there tells its own names, so that Cloudflare is asked for all of them only
// when others are declared, and for zones that are named.
func (o owner) wordsOf(ctx context.Context, cloud kind.Cloud, location kind.Location, policies []Policy, there []shownPolicy) (words, error) {
	w := words{account: location.Account, zones: map[string]string{}}
	for _, p := range there {
		for _, g := range p.Groups {
			w.groups = append(w.groups, group{ID: g.ID, Name: g.Name, Scopes: []string{scopeOf(p.Resources)}})
		}
	}
	for _, p := range policies {
		for _, name := range p.Zones {
			if name == "*" || cloudflare.IsID(name) || token.Has(name) {
				continue
			}
			z, err := cloudflare.ZoneOf(ctx, cloud, name)
			if err != nil {
				return w, err
			}
			w.zones[name] = z.ID
		}
	}
	if w.unknown(policies) == nil {
		return w, nil
	}
	w.groups = nil
	err := cloudflare.Send(ctx, cloud, http.MethodGet, o.base(location)+"/permission_groups", nil, &w.groups)
	return w, err
}

// meant is a policy as Cloudflare has it. A name that means nothing stays: it differs from everything, and is refused when
// it is to be written.
func (w words) meant(p Policy) shownPolicy {
	m := shownPolicy{Effect: "allow", Resources: p.Resources}
	if p.Effect != nil {
		m.Effect = *p.Effect
	}
	if len(p.Zones) > 0 {
		m.Resources = map[string]any{}
	}
	for _, name := range p.Zones {
		id := name
		if known, ok := w.zones[name]; ok {
			id = known
		}
		if name == "*" {
			m.Resources[ofAccount+"."+w.account] = map[string]any{ofZone + ".*": "*"}
			continue
		}
		m.Resources[ofZone+"."+id] = "*"
	}
	if len(m.Resources) == 0 {
		m.Resources = map[string]any{ofAccount + "." + w.account: "*"}
	}
	scope := scopeOf(m.Resources)
	for _, name := range p.Permissions {
		m.Groups = append(m.Groups, shownGroup{ID: w.group(name, scope)})
	}
	return m
}

// scopeOf is what resources are of.
func scopeOf(resources map[string]any) string {
	for key, v := range resources {
		inner, nested := v.(map[string]any)
		switch {
		case strings.HasPrefix(key, ofZone+"."), nested && strings.HasPrefix(slices.Collect(maps.Keys(inner))[0], ofZone+"."):
			return ofZone
		case strings.HasPrefix(key, ofBucket):
			return ofBucket
		}
	}
	return ofAccount
}

// group is the id of a permission group; the name itself when there is none, or several.
func (w words) group(name, scope string) string {
	found := name
	for _, g := range w.groups {
		if g.Name == name && slices.Contains(g.Scopes, scope) {
			if found != name && found != g.ID {
				return name
			}
			found = g.ID
		}
	}
	return found
}

// unknown finds a permission that means nothing where it stands.
func (w words) unknown(policies []Policy) error {
	for _, p := range policies {
		for i, g := range w.meant(p).Groups {
			if cloudflare.IsID(g.ID) {
				continue
			}
			scope := scopeOf(w.meant(p).Resources)
			return cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("no permission for %s is called %q", scope, p.Permissions[i]),
				"there are %s", strings.Join(w.names(scope), ", ")))
		}
	}
	return nil
}

// names are those of the permissions of a scope.
func (w words) names(scope string) []string {
	var all []string
	for _, g := range w.groups {
		if slices.Contains(g.Scopes, scope) {
			all = append(all, g.Name)
		}
	}
	return sorted(all)
}

// declared is a policy as one would declare it, with the names of its permissions.
func (w words) declared(p shownPolicy) Policy {
	told := Policy{Resources: p.Resources}
	if p.Effect != "allow" {
		told.Effect = &p.Effect
	}
	if len(p.Resources) == 1 && p.Resources[ofAccount+"."+w.account] == "*" {
		told.Resources = nil
	}
	scope := scopeOf(p.Resources)
	for _, g := range p.Groups {
		name := g.ID
		for _, known := range w.groups {
			if known.ID == g.ID && w.group(known.Name, scope) == g.ID {
				name = known.Name
			}
		}
		told.Permissions = append(told.Permissions, name)
	}
	return told
}
