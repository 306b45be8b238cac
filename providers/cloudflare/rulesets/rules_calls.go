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
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// addRules adds what is missing, each where it is to be.
func addRules(want RulesetProps) *kind.Operation[liveRuleset] {
	return kind.Set("CreateRule", func(ctx context.Context, u kind.Update[liveRuleset]) error {
		return cloudflare.NotYet(add(ctx, u.Cloud, u.Live, want, u.Changed))
	})
}

// add makes the rules that are not there; of them, those that paths name alone, unless that is nil. Each answer shows
// the phase as it is then, changes of others included.
func add(ctx context.Context, cloud kind.Cloud, live liveRuleset, want RulesetProps, paths []tree.Path) error {
	rules := live.Rules
	for i, r := range want.Rules {
		if at(rules, prefix(live.name)+r.Ref) >= 0 || paths != nil && !slices.Contains(paths, tree.Path("rules").Index(i)) {
			continue
		}
		b, err := body(live.name, r)
		if err != nil {
			return err
		}
		place, err := position(want, live.name, rules, i)
		if err != nil {
			return err
		}
		if place != nil {
			b["position"] = place
		}
		answer, err := call(ctx, cloud, http.MethodPost, live.scope.path()+"/"+live.ID+"/rules", b)
		if err != nil {
			return err
		}
		if rules, err = want.taking(live.name, answer.Rules); err != nil {
			return err
		}
	}
	return nil
}

// patchRules changes rules, each as a whole: what a change leaves out would be deleted. What is ignored, or left for
// later, keeps its live value. A rule of others that is to be ours gets its reference.
func patchRules(want RulesetProps) *kind.Operation[liveRuleset] {
	return kind.Set("PatchRule", func(ctx context.Context, u kind.Update[liveRuleset]) error {
		ours := u.Live.ours()
		for i, r := range want.Rules {
			changed := kind.Below(tree.Path("rules").Index(i), u.Changed)
			if len(changed) == 0 && (!u.Live.takes(r.Ref) || !slices.Contains(u.Changed, mark)) {
				continue
			}
			b, err := body(u.Live.name, ruleTable.Merged(r, ours[r.Ref], changed))
			if err != nil {
				return err
			}
			if err := patch(ctx, u, r.Ref, b, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// patch changes one rule of ours; into, when it is not nil, is given the phase as it is then.
func patch(ctx context.Context, u kind.Update[liveRuleset], ref string, body any, into *[]shownRule) error {
	i := at(u.Live.Rules, prefix(u.Live.name)+ref)
	path := u.Live.scope.path() + "/" + u.Live.ID + "/rules/" + url.PathEscape(u.Live.Rules[i].ID)
	answer, err := call(ctx, u.Cloud, http.MethodPatch, path, body)
	if err == nil && into != nil {
		*into = answer.Rules
	}
	return cloudflare.NotYet(err)
}

// dropRules takes away what is ours and not declared.
func dropRules(want RulesetProps) *kind.Operation[liveRuleset] {
	return kind.Set("DeleteRule", func(ctx context.Context, u kind.Update[liveRuleset]) error {
		return remove(ctx, u.Cloud, u.Live, func(i int) bool { return u.Live.surplus(i, want.has) })
	})
}

// remove takes away rules of ours. One that is missing already is as good.
func remove(ctx context.Context, cloud kind.Cloud, live liveRuleset, which func(i int) bool) error {
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
func moveRules(want RulesetProps) *kind.Operation[liveRuleset] {
	move := kind.Set("PatchRule", func(ctx context.Context, u kind.Update[liveRuleset]) error {
		rules, name := u.Live.Rules, u.Live.name
		for i, r := range want.Rules {
			to, err := position(want, name, rules, i)
			if err != nil {
				return err
			}
			if now := at(rules, prefix(name)+r.Ref); stands(want, name, rules, i, now, to) {
				continue
			}
			if err := patch(ctx, u, r.Ref, map[string]any{"position": to}, &rules); err != nil {
				return err
			}
			if rules, err = want.taking(name, rules); err != nil {
				return err
			}
		}
		return nil
	})
	move.Note = "moves it"
	return move
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
func rulesetsOf(ctx context.Context, cloud kind.Cloud, s scope) ([]shownRuleset, error) {
	var all []shownRuleset
	var cycle cloudflare.Cycle
	for cursor := ""; ; {
		path := s.path() + "?per_page=50"
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		var page []shownRuleset
		var info struct{ Cursor string }
		err := cloudflare.Call(ctx, cloud, cloudflare.Request{Method: http.MethodGet, Path: path, Info: &info}, &page)
		if err == nil {
			err = cycle.Check(info.Cursor)
		}
		all = append(all, page...)
		if err != nil || info.Cursor == "" {
			return all, err
		}
		cursor = info.Cursor
	}
}
