// Package rulesets offers rules of Cloudflare's Ruleset Engine: redirects, transformations, cache and origin rules, custom
// and managed rules of the firewall, rate limits.
//
// It knows which rules of a phase are its own, by their references, where they stand among those of others, and how one
// is changed without touching the rest. It does not know what an action does with its parameters, beyond a few defaults;
// how calls are made and judged is the business of package cloudflare.
package rulesets

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed ruleset.go ruleset_props.go
var source embed.FS

const rulesetType = "cloudflare.Ruleset"

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{rulesetKind.Erase()}}
}

// NewRuleset declares rules of a phase.
func NewRuleset(s *athanor.Stack, name string, p RulesetProps, opts ...athanor.Option) Ruleset {
	return athanor.Declare(s, rulesetKind, name, p, opts...)
}

// ReadRuleset uses rules that the stack does not own: by zone/phase/name, with "account" for a zone where they are the
// account's, or by RulesetProps that name them.
func ReadRuleset(s *athanor.Stack, name string, by any) Ruleset {
	return athanor.Read(s, rulesetKind, name, by)
}
