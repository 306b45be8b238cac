package rulesets

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// shownRuleset is the ruleset of a phase as Cloudflare writes it. It is the answer to each call that changes a rule.
type shownRuleset struct {
	ID, Kind, Phase string

	Rules []shownRule
}

// shownRule is a rule as Cloudflare writes it. have is one as its author would declare it, but for its reference; it is
// empty for rules of others, of which text is the whole.
type shownRule struct {
	ID, Ref string
	have    Rule
	text    string
	theirs  string // the reference that it has, where Ref is the one that it is to have
}

// UnmarshalJSON reads a rule.
func (r *shownRule) UnmarshalJSON(text []byte) (err error) {
	type fields shownRule
	if err := json.Unmarshal(text, (*fields)(r)); err != nil {
		return err
	}
	if !strings.Contains(r.Ref, between) {
		r.text = string(text)
		return nil
	}
	return r.read(string(text))
}

func (r *shownRule) read(text string) (err error) {
	r.have, err = ruleTable.Read(cloudflare.Document(text))
	r.have = completed(r.have)
	return err
}

var errDeclared = errors.New("the rule has the reference of a rule that another resource declares")

// taking are the rules of a phase with those of others that are declared to become ours under the references that they will have.
func (p RulesetProps) taking(name string, rules []shownRule) ([]shownRule, error) {
	rules = slices.Clone(rules)
	for n, r := range p.Rules {
		if r.Adopt == "" || token.Has(r.Adopt) || token.Has(r.Ref) || at(rules, prefix(name)+r.Ref) >= 0 {
			continue
		}
		i := slices.IndexFunc(rules, func(have shownRule) bool { return have.ID == r.Adopt && own(name, have.Ref) == "" })
		if i < 0 {
			continue
		}
		took := &rules[i]
		if took.text == "" {
			err := fmt.Errorf("%s: %w: %s", tree.Path("rules").Index(n).Key("adopt"), errDeclared, took.Ref)
			return nil, cloudflare.Invalid(reconcile.WithHint(err, "take it out of there first, or leave it there"))
		}
		if err := took.read(took.text); err != nil {
			return nil, err
		}
		took.theirs, took.Ref = took.Ref, prefix(name)+r.Ref
	}
	return rules, nil
}

// between parts the name of a declaration from the reference of one of its rules. Neither holds it.
const between = "__"

// prefix is what the references of a declaration's rules begin with.
func prefix(name string) string { return name + between }

// plain is a name as references have it: the examples of Cloudflare have letters, digits and _ in them, and nothing else.
func plain(name string) string { return strings.ReplaceAll(name, "-", "_") }

// own is the author's reference of a rule, "" for a rule of others.
func own(name, ref string) string {
	rest, ok := strings.CutPrefix(ref, prefix(name))
	if !ok {
		return ""
	}
	return rest
}

// declared is a rule as one would declare it.
func (r shownRule) declared(name string) Rule {
	rule := r.have
	rule.Ref = own(name, r.Ref)
	if r.theirs != "" {
		rule.Adopt = r.ID
	}
	return rule
}

// body is a whole rule, as Cloudflare wants it: what a change leaves out is deleted.
func body(name string, r Rule) (kind.Document, error) {
	doc := kind.Document{"ref": prefix(name) + r.Ref, "description": ""}
	return doc, ruleTable.Created(r, doc)
}

// completed is a rule with what Cloudflare fills in beyond the defaults of the table, in the form in which two of them compare.
func completed(r Rule) Rule {
	if r.Logging == nil && r.Action == "skip" {
		r.Logging = new(true)
	}
	r.Parameters = bare(r.Parameters)
	if to, ok := r.Parameters["from_value"].(map[string]any); ok { // of redirects alone
		to = maps.Clone(to)
		for key, otherwise := range map[string]any{"status_code": int64(301), "preserve_query_string": false} {
			if _, given := to[key]; !given {
				to[key] = otherwise
			}
		}
		r.Parameters["from_value"] = to
	}
	return r
}

// bare is parameters without what says nothing; nil when nothing is left.
func bare(all map[string]any) map[string]any {
	var out map[string]any
	for key, v := range all {
		if inner, ok := v.(map[string]any); ok && len(inner) > 0 {
			if inner = bare(inner); inner == nil {
				continue
			}
			v = inner
		}
		if v == nil {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[key] = v
	}
	return out
}
