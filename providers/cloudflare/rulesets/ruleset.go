package rulesets

import (
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveRuleset is an observed phase, with the rules of others.
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

type rulesetSite = kind.Site[RulesetProps, Ruleset]

var (
	rulesetTable = kind.TableOf[RulesetProps](kind.Tree())
	ruleTable    = kind.TableOf[Rule](kind.Tree())
)

var rulesetKind = &kind.Kind[RulesetProps, liveRuleset, Ruleset]{
	Type: rulesetType,
	Doc: "Rules of one phase of Cloudflare's Ruleset Engine: redirects, transformations, cache rules, firewall, rate limits. " +
		"Its rules are told from those of others by their references, and each is changed by a call of its own: what others " +
		"have in the phase is neither changed nor moved. The phase's ruleset is made when there is none, and never deleted.",

	Observe:    observeRuleset,
	Create:     createRuleset,
	Compare:    compareRuleset,
	Attributes: liveRuleset.attributes,
	Delete:     deleteRuleset,
	Identity:   identityOf,

	Props: rulesetTable,
	Default: func(want RulesetProps) RulesetProps {
		want.Rules = slices.Clone(want.Rules)
		for i, r := range want.Rules {
			want.Rules[i] = completed(r)
		}
		return want
	},
	Check: checkRuleset,
	Named: &kind.Named[RulesetProps, liveRuleset]{
		Given: func(want RulesetProps) string { return want.Name },
		Rule:  func(RulesetProps) kind.NameRule { return kind.NameRule{Max: 64, Marks: "-", Lower: true, Any: true} },
		Live:  func(live liveRuleset) string { return live.name },
	},
	List: listRulesets,

	API: kind.API{
		Source: source,
		Calls: []string{
			"Rulesets.GetPhasForZone", "Rulesets.CreateRulesetForZone", "Rulesets.CreateRuleForZone", "Rulesets.PatchRuleForZone",
			"Rulesets.DeleteRuleForZone", "Rulesets.ListRulesetsForZone", "Rulesets.GetPhasForAccount", "Rulesets.CreateRulesetForAccount",
			"Rulesets.CreateRuleForAccount", "Rulesets.PatchRuleForAccount", "Rulesets.DeleteRuleForAccount",
			"Rulesets.ListRulesetsForAccount", "Zones.ListZones", "Zones.GetZone",
		},
		// Each phase has a permission of its own; these are for what most have. Account Rulesets is for rules of the account.
		Permissions: kind.Permissions{
			Observe: []string{"Zone Read", "Zone WAF Read", "Dynamic URL Redirects Read", "Cache Settings Read", "Transform Rules Read", "Account Rulesets Read"},
			List:    []string{"Zone Read", "Account Rulesets Read"},
			Create:  writes,
			Update:  writes,
			Delete:  writes,
		},
	},
}

var writes = []string{"Zone WAF Write", "Dynamic URL Redirects Write", "Cache Settings Write", "Transform Rules Write", "Account Rulesets Write"}

func (l liveRuleset) attributes() Ruleset {
	return Ruleset{ID: l.ID, ZoneID: l.scope.zone.ID, Phase: l.phase, Name: l.name}
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
	if want.Name != "" && !token.Has(want.Name) && !nameForm().MatchString(want.Name) {
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
		if limit := r.RateLimit; limit != nil && (limit.Requests == nil) == (limit.Score == nil) {
			wrong(at.Key("rateLimit"), "want one of requests and score")
		}
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
