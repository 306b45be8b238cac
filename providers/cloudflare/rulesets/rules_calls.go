package rulesets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// addRules adds what is missing, each where it is to be.
func addRules(want RulesetProps) *reconcile.Operation[liveRuleset] {
	return &reconcile.Operation[liveRuleset]{Name: "CreateRule", Do: func(ctx context.Context, on reconcile.On[liveRuleset]) error {
		return cloudflare.NotYet(add(ctx, on.Cloud, on.Live, want, on.Changed))
	}}
}

// add makes the rules that are not there; of them, those that paths name alone, unless that is nil. Each answer shows
// the phase as it is then, changes of others included.
func add(ctx context.Context, cloud reconcile.Cloud, live liveRuleset, want RulesetProps, paths []tree.Path) error {
	rules := live.Rules
	for i, r := range want.Rules {
		if at(rules, prefix(live.name)+r.Ref) >= 0 || paths != nil && !slices.Contains(paths, tree.Path("rules").Index(i)) {
			continue
		}
		b := body(live.name, r)
		var err error
		if b.Position, err = position(want, live.name, rules, i); err != nil {
			return err
		}
		answer, err := call(ctx, cloud, http.MethodPost, live.scope.path()+"/"+live.ID+"/rules", b)
		if err != nil {
			return err
		}
		rules = answer.Rules
	}
	return nil
}

// patchRules changes rules, each as a whole: what a change leaves out would be gone. What is ignored, or left for later,
// keeps its live value.
func patchRules(want RulesetProps) *reconcile.Operation[liveRuleset] {
	return &reconcile.Operation[liveRuleset]{Name: "PatchRule", Do: func(ctx context.Context, on reconcile.On[liveRuleset]) error {
		ours := on.Live.ours()
		for i, r := range want.Rules {
			path := tree.Path("rules").Index(i)
			if !slices.ContainsFunc(on.Changed, func(p tree.Path) bool { return p.Within(path) }) {
				continue
			}
			changed := func(field string) bool { return slices.Contains(on.Changed, path.Key(field)) }
			b := body(on.Live.name, merged(r, ours[r.Ref], changed))
			if err := patch(ctx, on, r.Ref, b, nil); err != nil {
				return err
			}
		}
		return nil
	}}
}

// merged is a live rule with what changes.
func merged(want, live Rule, changed func(field string) bool) Rule {
	for field, set := range map[string]func(){
		"expression":             func() { live.Expression = want.Expression },
		"action":                 func() { live.Action = want.Action },
		"parameters":             func() { live.Parameters = want.Parameters },
		"description":            func() { live.Description = want.Description },
		"enabled":                func() { live.Enabled = want.Enabled },
		"logging":                func() { live.Logging = want.Logging },
		"rateLimit":              func() { live.RateLimit = want.RateLimit },
		"exposedCredentialCheck": func() { live.ExposedCredentialCheck = want.ExposedCredentialCheck },
	} {
		if changed(field) {
			set()
		}
	}
	return live
}

// patch changes one rule of ours; into, when it is not nil, is given the phase as it is then.
func patch(ctx context.Context, on reconcile.On[liveRuleset], ref string, body any, into *[]shownRule) error {
	i := at(on.Live.Rules, prefix(on.Live.name)+ref)
	path := on.Live.scope.path() + "/" + on.Live.ID + "/rules/" + url.PathEscape(on.Live.Rules[i].ID)
	answer, err := call(ctx, on.Cloud, http.MethodPatch, path, body)
	if err == nil && into != nil {
		*into = answer.Rules
	}
	return cloudflare.NotYet(err)
}

// dropRules takes away what is ours and not declared.
func dropRules(want RulesetProps) *reconcile.Operation[liveRuleset] {
	return &reconcile.Operation[liveRuleset]{Name: "DeleteRule", Do: func(ctx context.Context, on reconcile.On[liveRuleset]) error {
		return remove(ctx, on.Cloud, on.Live, func(i int) bool { return on.Live.surplus(i, want.has) })
	}}
}

// remove takes away rules of ours. One that is gone already is as good.
func remove(ctx context.Context, cloud reconcile.Cloud, live liveRuleset, which func(i int) bool) error {
	for i, r := range live.Rules {
		if own(live.name, r.Ref) == "" || !which(i) {
			continue
		}
		path := live.scope.path() + "/" + live.ID + "/rules/" + url.PathEscape(r.ID)
		if _, err := call(ctx, cloud, http.MethodDelete, path, nil); err != nil && !cloudflare.IsAbsent(err) {
			return err
		}
	}
	return nil
}

// moveRules moves ours to where they are to be, and no other: the first by its place, each further one behind the one
// before it, where it is not behind it already.
func moveRules(want RulesetProps) *reconcile.Operation[liveRuleset] {
	return &reconcile.Operation[liveRuleset]{Name: "PatchRule", Note: "moves it", Do: func(ctx context.Context, on reconcile.On[liveRuleset]) error {
		rules, name := on.Live.Rules, on.Live.name
		for i, r := range want.Rules {
			to, err := position(want, name, rules, i)
			if err != nil {
				return err
			}
			if now := at(rules, prefix(name)+r.Ref); stands(want, name, rules, i, now, to) {
				continue
			}
			if err := patch(ctx, on, r.Ref, map[string]any{"position": to}, &rules); err != nil {
				return err
			}
		}
		return nil
	}}
}

// stands reports that the i-th of the rules, which is at now, needs no move to where it belongs: behind what it follows,
// and not behind what all come before.
func stands(want RulesetProps, name string, rules []shownRule, i, now int, to map[string]any) bool {
	if i == 0 && want.Index != nil {
		return indexOf(name, rules, now) == most(*want.Index, name, rules)
	}
	after, follows := to["after"].(string)
	return (!follows || now > at(rules, after)) && (want.Before == "" || now < at(rules, want.Before))
}

var errNoRule = errors.New("no rule of the phase has this reference or id")

// position is where the i-th of the rules belongs, as Cloudflare is told: behind the nearest of ours that is declared
// before it, else before the nearest that is declared behind it, else as the author says. Nil: at the end.
func position(want RulesetProps, name string, rules []shownRule, i int) (map[string]any, error) {
	for j := i - 1; j >= 0; j-- {
		if k := at(rules, prefix(name)+want.Rules[j].Ref); k >= 0 {
			return map[string]any{"after": rules[k].ID}, nil
		}
	}
	there := at(rules, prefix(name)+want.Rules[i].Ref) >= 0
	for j := i + 1; j < len(want.Rules) && !there; j++ {
		if k := at(rules, prefix(name)+want.Rules[j].Ref); k >= 0 {
			return map[string]any{"before": rules[k].ID}, nil
		}
	}
	for side, other := range map[string]string{"before": want.Before, "after": want.After} {
		if other == "" {
			continue
		}
		k := at(rules, other)
		if k < 0 {
			return nil, cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%s: %w: %s", side, errNoRule, other), "name one that is there, or leave it out"))
		}
		return map[string]any{side: rules[k].ID}, nil
	}
	if want.Index == nil {
		return nil, nil
	}
	theirs := others(name, rules)
	if n := min(*want.Index-1, len(theirs)); n > 0 {
		return map[string]any{"after": theirs[n-1].ID}, nil
	}
	return map[string]any{"before": ""}, nil
}

// others are the rules that are not ours.
func others(name string, rules []shownRule) []shownRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r shownRule) bool { return own(name, r.Ref) != "" })
}

// rulesetsOf are all rulesets of a zone or of the account, without their rules. Their pages are told by cursors.
func rulesetsOf(ctx context.Context, cloud reconcile.Cloud, s scope) ([]shownRuleset, error) {
	var all []shownRuleset
	for cursor := ""; ; {
		path := s.path() + "?per_page=50"
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		var page []shownRuleset
		var info struct{ Cursor string }
		err := cloudflare.Call(ctx, cloud, cloudflare.Request{Method: http.MethodGet, Path: path, Info: &info}, &page)
		all = append(all, page...)
		if err != nil || info.Cursor == "" {
			return all, err
		}
		cursor = info.Cursor
	}
}
