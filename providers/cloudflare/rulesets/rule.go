package rulesets

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// shownRuleset is the ruleset of a phase as Cloudflare writes it. It is the answer to each call that changes a rule.
type shownRuleset struct {
	ID, Kind, Phase string

	Rules []shownRule
}

// shownRule is a rule as Cloudflare writes it.
type shownRule struct {
	ID          string         `json:"id,omitempty"`
	Ref         string         `json:"ref"`
	Expression  string         `json:"expression"`
	Action      string         `json:"action"`
	Description string         `json:"description"`
	Enabled     *bool          `json:"enabled"`
	Parameters  map[string]any `json:"action_parameters,omitempty"`
	Logging     *shownLogging  `json:"logging,omitempty"`
	RateLimit   *shownLimit    `json:"ratelimit,omitempty"`
	Check       *shownCheck    `json:"exposed_credential_check,omitempty"`
	Position    map[string]any `json:"position,omitempty"` // of writes alone
}

type shownLogging struct {
	Enabled bool `json:"enabled"`
}

type shownLimit struct {
	Characteristics []string `json:"characteristics"`
	Period          int64    `json:"period"`
	Requests        *int     `json:"requests_per_period,omitempty"`
	Score           *int     `json:"score_per_period,omitempty"`
	ScoreHeader     string   `json:"score_response_header_name,omitempty"`
	Mitigation      int64    `json:"mitigation_timeout"`
	Counting        string   `json:"counting_expression,omitempty"`
	OriginOnly      bool     `json:"requests_to_origin"`
}

type shownCheck struct {
	Username string `json:"username_expression"`
	Password string `json:"password_expression"`
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
	rule := Rule{
		Ref: own(name, r.Ref), Expression: r.Expression, Action: r.Action, Description: r.Description,
		Enabled: r.Enabled, Parameters: r.Parameters,
	}
	if r.Logging != nil {
		rule.Logging = &r.Logging.Enabled
	}
	if l := r.RateLimit; l != nil {
		rule.RateLimit = &RateLimit{
			Characteristics: l.Characteristics, Period: time.Duration(l.Period) * time.Second, Requests: l.Requests, Score: l.Score,
			ScoreHeader: l.ScoreHeader, Mitigation: time.Duration(l.Mitigation) * time.Second, Counting: l.Counting, OriginOnly: l.OriginOnly,
		}
	}
	if c := r.Check; c != nil {
		rule.ExposedCredentialCheck = &CredentialCheck{Username: c.Username, Password: c.Password}
	}
	return settled(rule)
}

// body is a whole rule, as Cloudflare wants it: what a change leaves out is gone.
func body(name string, r Rule) shownRule {
	b := shownRule{
		Ref: prefix(name) + r.Ref, Expression: r.Expression, Action: r.Action, Description: r.Description,
		Enabled: r.Enabled, Parameters: r.Parameters,
	}
	if r.Logging != nil {
		b.Logging = &shownLogging{*r.Logging}
	}
	if l := r.RateLimit; l != nil {
		b.RateLimit = &shownLimit{
			Characteristics: l.Characteristics, Period: int64(l.Period / time.Second), Requests: l.Requests, Score: l.Score,
			ScoreHeader: l.ScoreHeader, Mitigation: int64(l.Mitigation / time.Second), Counting: l.Counting, OriginOnly: l.OriginOnly,
		}
	}
	if c := r.ExposedCredentialCheck; c != nil {
		b.Check = &shownCheck{Username: c.Username, Password: c.Password}
	}
	return b
}

// settled is a rule with what Cloudflare fills in, in the form in which two of them compare.
func settled(r Rule) Rule {
	if r.Enabled == nil {
		r.Enabled = new(true)
	}
	if r.Logging == nil && r.Action == "skip" {
		r.Logging = new(true)
	}
	if r.RateLimit != nil {
		limit := *r.RateLimit
		limit.Characteristics = slices.Sorted(slices.Values(limit.Characteristics))
		r.RateLimit = &limit
	}
	r.Parameters = bare(r.Parameters)
	if to, ok := r.Parameters["from_value"].(map[string]any); ok { // of redirects alone
		to = maps.Clone(to)
		for key, otherwise := range map[string]any{"status_code": int64(301), "preserve_query_string": false} {
			if _, told := to[key]; !told {
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
