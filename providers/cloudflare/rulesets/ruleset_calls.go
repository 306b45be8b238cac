package rulesets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// ofAccount stands for the zone of rules that are the account's.
const ofAccount = "account"

// path is where rulesets are below the endpoint.
func (s scope) path() string {
	if s.zone.ID != "" {
		return "/zones/" + s.zone.ID + "/rulesets"
	}
	return "/accounts/" + s.account + "/rulesets"
}

// kind of ruleset in which a phase begins.
func (s scope) kind() string {
	if s.zone.ID != "" {
		return "zone"
	}
	return "root"
}

func scopeOf(ctx context.Context, cloud kind.Cloud, account, zone string) (scope, error) {
	s := scope{account: account}
	if zone == "" {
		return s, nil
	}
	var err error
	s.zone, err = cloudflare.ZoneOf(ctx, cloud, zone)
	return s, err
}

func call(ctx context.Context, cloud kind.Cloud, method, path string, body any) (shownRuleset, error) {
	var answer shownRuleset
	err := cloudflare.Send(ctx, cloud, method, path, body, &answer)
	return answer, err
}

var errNoName = errors.New("rules are found by their name, and there is none")

// observeRuleset reads the whole phase. Without any rule of ours there is nothing of us in it.
func observeRuleset(ctx context.Context, s rulesetSite) (liveRuleset, error) {
	zone, live := s.Want.Zone, liveRuleset{phase: s.Want.Phase, name: plain(s.Name)}
	switch {
	case s.Last != nil:
		zone, live.phase, live.name = s.Last.ZoneID, s.Last.Phase, s.Last.Name
	case s.ID != "":
		parts := strings.Split(s.ID, "/")
		if len(parts) != 3 || parts[0] == "" || !nameForm().MatchString(parts[2]) {
			return live, reconcile.WithHint(fmt.Errorf("%q names no rules", s.ID), "write zone/phase/name, or account/phase/name")
		}
		zone, live.phase, live.name = strings.TrimSuffix(parts[0], ofAccount), parts[1], parts[2]
	}
	if live.name == "" {
		return live, errNoName
	}
	var err error
	if live.scope, err = scopeOf(ctx, s.Cloud, s.Location.Account, zone); err != nil {
		return live, err
	}
	if live.shownRuleset, err = phaseOf(ctx, s.Cloud, live.scope, live.phase); err != nil {
		return live, cloudflare.Absent(err)
	}
	if live.Rules, err = s.Want.taking(live.name, live.Rules); err != nil {
		return live, err
	}
	if len(live.refs()) == 0 {
		return live, fmt.Errorf("%w: no rule of phase %s is one of %s", reconcile.ErrAbsent, live.phase, live.name)
	}
	return live, nil
}

func phaseOf(ctx context.Context, cloud kind.Cloud, s scope, phase string) (shownRuleset, error) {
	return call(ctx, cloud, http.MethodGet, s.path()+"/phases/"+phase+"/entrypoint", nil)
}

// createRuleset adds the rules to the phase. Where that has no ruleset it is made, with them in it: two that do so at
// once are told apart by Cloudflare, which has one for each phase.
func createRuleset(ctx context.Context, s rulesetSite) (Ruleset, error) {
	live := liveRuleset{phase: s.Want.Phase, name: plain(s.Name)}
	var err error
	if live.scope, err = scopeOf(ctx, s.Cloud, s.Location.Account, s.Want.Zone); err != nil {
		return Ruleset{}, err
	}
	live.shownRuleset, err = phaseOf(ctx, s.Cloud, live.scope, live.phase)
	switch {
	case err == nil:
		err = cloudflare.NotYet(add(ctx, s.Cloud, live, s.Want, nil))
	case cloudflare.IsAbsent(err):
		live.shownRuleset, err = begin(ctx, s.Cloud, live, s.Want)
	}
	return live.attributes(), err
}

// begin makes the ruleset of a phase.
func begin(ctx context.Context, cloud kind.Cloud, live liveRuleset, want RulesetProps) (shownRuleset, error) {
	if _, err := position(want, live.name, nil, 0); err != nil {
		return shownRuleset{}, err
	}
	rules := make([]kind.Document, len(want.Rules))
	for i, r := range want.Rules {
		var err error
		if rules[i], err = body(live.name, r); err != nil {
			return shownRuleset{}, err
		}
	}
	return call(ctx, cloud, http.MethodPost, live.scope.path(), kind.Document{
		"name": "default", "kind": live.scope.kind(), "phase": live.phase, "rules": rules,
	})
}

// deleteRuleset takes our rules away, one by one.
func deleteRuleset(ctx context.Context, s rulesetSite) error {
	live := liveRuleset{name: s.Last.Name, phase: s.Last.Phase, scope: scope{
		account: s.Location.Account, zone: cloudflare.Zone{ID: s.Last.ZoneID},
	}}
	var err error
	if live.shownRuleset, err = phaseOf(ctx, s.Cloud, live.scope, live.phase); err != nil {
		return err
	}
	return remove(ctx, s.Cloud, live, func(int) bool { return true })
}

// listRulesets finds the names of rules in the phases of all zones and of the account.
func listRulesets(ctx context.Context, in kind.ListScope) ([]kind.Found, error) {
	var all []kind.Found
	look := func(s scope) error {
		found, err := namesIn(ctx, in, s)
		all = append(all, found...)
		return err
	}
	if err := look(scope{account: in.Place.Account}); err != nil {
		return nil, err
	}
	for zone, err := range cloudflare.Zones(ctx, in.Cloud) {
		if err != nil {
			return nil, err
		}
		if err := look(scope{account: in.Place.Account, zone: zone}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// namesIn are the names that references of a zone, or of the account, begin with. What nobody named so has no such
// reference.
func namesIn(ctx context.Context, in kind.ListScope, s scope) ([]kind.Found, error) {
	rulesets, err := rulesetsOf(ctx, in.Cloud, s)
	if err != nil {
		return nil, err
	}
	var all []kind.Found
	for _, r := range rulesets {
		if r.Kind != s.kind() {
			continue // a managed or a custom one: no phase begins with it
		}
		whole, err := phaseOf(ctx, in.Cloud, s, r.Phase)
		if err != nil && !cloudflare.IsAbsent(err) {
			return nil, err
		}
		told := map[string]bool{}
		for _, rule := range whole.Rules {
			name, _, ok := strings.Cut(rule.Ref, between)
			if ok && nameForm().MatchString(name) && strings.HasPrefix(name, plain(in.Prefix)) && !told[name] {
				told[name] = true
				id := identityOf(Ruleset{ZoneID: s.zone.ID, Phase: r.Phase, Name: name})
				all = append(all, kind.Found{Kind: rulesetType, Place: in.Place, Identity: id, Name: name})
			}
		}
	}
	return all, nil
}
