package rulesets

import (
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveRuleset is a phase as it was seen, with the rules of others.
type liveRuleset struct {
	scope       scope
	phase, name string
	shownRuleset
}

// scope is the zone that rules are for, or the account.
type scope struct {
	zone    cloudflare.Zone // zero for the account
	account string
}

type (
	rulesetSite = reconcile.Site[RulesetProps, Ruleset]
	rulesetDiff = reconcile.Diff[liveRuleset]
)

var rulesetKind = &reconcile.Kind[RulesetProps, liveRuleset, Ruleset]{
	Type: rulesetType,
	Doc: "Rules of one phase of Cloudflare's Ruleset Engine: redirects, transformations, cache rules, firewall, rate limits. " +
		"Its rules are told from those of others by their references, and each is changed by a call of its own: what others " +
		"have in the phase is neither changed nor moved. The phase's ruleset is made when there is none, and never deleted.",

	Observe:  observeRuleset,
	Create:   createRuleset,
	Compare:  compareRuleset,
	Attrs:    attrsOf,
	Delete:   deleteRuleset,
	Identity: identityOf,

	Naming: func(RulesetProps, reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: 64, Lower: true} },
	Given:  func(want RulesetProps) string { return want.Name },
	Defaults: func(want RulesetProps) RulesetProps {
		rules := make([]Rule, len(want.Rules))
		for i, r := range want.Rules {
			rules[i] = settled(r)
		}
		want.Rules = rules
		return want
	},
	Check:   checkRuleset,
	AtBirth: []string{"id", "zoneId", "phase", "name"},
	List:    listRulesets,

	Source: source,
	Calls: []string{
		"Rulesets.GetPhasForZone", "Rulesets.CreateRulesetForZone", "Rulesets.CreateRuleForZone", "Rulesets.PatchRuleForZone",
		"Rulesets.DeleteRuleForZone", "Rulesets.ListRulesetsForZone", "Rulesets.GetPhasForAccount", "Rulesets.CreateRulesetForAccount",
		"Rulesets.CreateRuleForAccount", "Rulesets.PatchRuleForAccount", "Rulesets.DeleteRuleForAccount",
		"Rulesets.ListRulesetsForAccount", "Zones.ListZones", "Zones.GetZone",
	},
	// Each phase has a permission of its own; these are for what most have. Account Rulesets is for rules of the account.
	Permissions: reconcile.Permissions{
		Observe: []string{"Zone Read", "Zone WAF Read", "Dynamic URL Redirects Read", "Cache Settings Read", "Transform Rules Read", "Account Rulesets Read"},
		List:    []string{"Zone Read", "Account Rulesets Read"},
		Create:  writes,
		Update:  writes,
		Delete:  writes,
	},
}

var writes = []string{"Zone WAF Write", "Dynamic URL Redirects Write", "Cache Settings Write", "Transform Rules Write", "Account Rulesets Write"}

func attrsOf(live liveRuleset) Ruleset {
	return Ruleset{ID: live.ID, ZoneID: live.scope.zone.ID, Phase: live.phase, Name: live.name}
}

// identityOf is zone/phase/name, or account/phase/name.
func identityOf(r Ruleset) string {
	where := r.ZoneID
	if where == "" {
		where = ofAccount
	}
	return where + "/" + r.Phase + "/" + r.Name
}

var (
	nameForm = props.Pattern(`^[A-Za-z0-9]+(_[A-Za-z0-9]+)*$`)
	refForm  = props.Pattern(`^[a-z0-9]+(_[a-z0-9]+)*$`)
)

// checkRuleset finds what Cloudflare would refuse, and what would make rules be taken for one another.
func checkRuleset(want RulesetProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if want.Name != "" && !token.Has(want.Name) && (len(want.Name) > 64 || !nameForm().MatchString(want.Name)) {
		wrong("name", "want up to 64 letters, digits and single _, with a letter or a digit at both ends")
	}
	if len(want.Rules) == 0 {
		wrong("rules", "want one at least: without any there is nothing to be found again")
	}
	refs := map[string]bool{}
	for i, r := range want.Rules {
		at := tree.Path("rules").Index(i)
		switch {
		case token.Has(r.Ref):
		case len(r.Ref) > 32 || !refForm().MatchString(r.Ref):
			wrong(at.Key("ref"), "want up to 32 lower-case letters, digits and single _")
		case refs[r.Ref]:
			wrong(at.Key("ref"), fmt.Sprintf("there are two rules %s", r.Ref))
		}
		refs[r.Ref] = true
		checkLimit(at.Key("rateLimit"), r.RateLimit, wrong)
	}
	places := 0
	for _, set := range []bool{want.Before != "", want.After != "", want.Index != nil} {
		if set {
			places++
		}
	}
	if places > 1 {
		wrong("", "want one of before, after and index")
	}
	return problems.OrNil()
}

func checkLimit(at tree.Path, limit *RateLimit, wrong func(tree.Path, string)) {
	if limit == nil {
		return
	}
	if (limit.Requests == nil) == (limit.Score == nil) {
		wrong(at, "want one of requests and score")
	}
	for name, d := range map[string]time.Duration{"period": limit.Period, "mitigation": limit.Mitigation} {
		if d%time.Second != 0 {
			wrong(at.Key(name), "want whole seconds")
		}
	}
}
