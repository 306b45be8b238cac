package rulesets

import "time"

// RulesetProps declare rules of one phase of a zone or of the account, which stand there beside those of others. Phases,
// actions and their parameters are those of https://developers.cloudflare.com/ruleset-engine/reference/phases-list/
type RulesetProps struct {
	// Zone whose traffic the rules are for: its name or its id. Default: none, they are the account's, for all its zones.
	Zone string `prop:"immutable" wire:"-"`
	// Phase of a request that the rules work in.
	Phase string `prop:"required,immutable,enum=ddos_l4|ddos_l7|http_config_settings|http_custom_errors|http_log_custom_fields|http_ratelimit|http_request_cache_settings|http_request_dynamic_redirect|http_request_firewall_custom|http_request_firewall_managed|http_request_late_transform|http_request_origin|http_request_redirect|http_request_sanitize|http_request_sbfm|http_request_transform|http_response_cache_settings|http_response_compression|http_response_firewall_managed|http_response_headers_transform|magic_transit|magic_transit_ids_managed|magic_transit_managed|magic_transit_ratelimit" wire:"-"`
	// Name that the references of the rules in Cloudflare begin with: up to 64 letters, digits and single _.
	// Default: none, one is generated. Changing it replaces the rules.
	Name string
	// Rules in the order in which they are tried. Rules of others may stand between them.
	Rules []Rule `prop:"required" wire:",elements"`
	// Before is the reference or the id of a rule of others that all of these come before. Default: none.
	Before string
	// After is the reference or the id of a rule of others that all of these come after. Default: none.
	After string
	// Index is where the first of the rules stands among those of others, from 1; at the end where there are fewer. Two that
	// want the same place take it from each other at each deploy. Default: none: where it is, and new rules behind all.
	Index *int `prop:"min=1"`
}

// Rule says what is done with some requests.
type Rule struct {
	// Ref tells the rule from the others of its declaration: up to 32 lower-case letters, digits and single _. A rule keeps
	// its place in statistics while it keeps that.
	Ref string `prop:"required"`
	// Adopt is the id of a rule that somebody else has made and that becomes this one, by another reference in Cloudflare: it
	// keeps its id and its place. Nothing is done where there is no such rule, so that it can go once it is deployed. Default: none.
	Adopt string
	// Expression says which requests are meant, in the language of
	// https://developers.cloudflare.com/ruleset-engine/rules-language/
	Expression string `prop:"required" wire:"expression"`
	// Action is what is done with them, such as block, redirect, rewrite or set_cache_settings.
	Action string `prop:"required" wire:"action"`
	// Parameters of the action, named as Cloudflare names them. Managed whole. Default: none.
	Parameters map[string]any `prop:"whole" wire:"action_parameters,tree"`
	// Description for people. Default: none.
	Description string `wire:"description"`
	// Enabled lets the rule work.
	Enabled *bool `prop:"default=true" wire:"enabled"`
	// Logging tells of the requests that the rule met. Default: none, as the action has it: skip tells of them, others need
	// not be asked.
	Logging *bool `wire:"logging.enabled"`
	// RateLimit is how often the requests may come; for rules of http_ratelimit and magic_transit_ratelimit. Default: none.
	RateLimit *RateLimit `wire:"ratelimit"`
	// ExposedCredentialCheck lets the rule meet requests alone whose password is known to have leaked. Default: none.
	ExposedCredentialCheck *CredentialCheck `wire:"exposed_credential_check"`
}

// RateLimit says how often requests may come.
type RateLimit struct {
	// Characteristics by which requests are counted apart, such as ip.src and cf.colo.id. The order does not count.
	Characteristics []string `prop:"required,set" wire:"characteristics"`
	// Period in which they are counted, in whole seconds.
	Period time.Duration `prop:"required,min=10s,max=24h" wire:"period"`
	// Requests that are let through in a period. Default: none, for a limit by score.
	Requests *int `prop:"min=1" wire:"requests_per_period"`
	// Score that requests may have together in a period. Default: none, for a limit by requests.
	Score *int `prop:"min=1" wire:"score_per_period"`
	// ScoreHeader is the header of answers that tells the score. Default: none.
	ScoreHeader string `wire:"score_response_header_name"`
	// Mitigation is how long the action lasts, in whole seconds; 0s throttles.
	Mitigation time.Duration `prop:"min=0s,max=24h,default=0s" wire:"mitigation_timeout"`
	// Counting is the expression of requests that are counted. Default: none, those of the rule.
	Counting string `wire:"counting_expression"`
	// OriginOnly counts requests that reach the origin, not those that the cache answers.
	OriginOnly bool `prop:"default=false" wire:"requests_to_origin"`
}

// CredentialCheck says where a request holds its credentials.
type CredentialCheck struct {
	// Username is the expression that gives the name of the user.
	Username string `prop:"required" wire:"username_expression"`
	// Password is the expression that gives the password.
	Password string `prop:"required" wire:"password_expression"`
}

// Ruleset is what others may refer to of rules.
type Ruleset struct {
	// ID of the phase's ruleset, in which the rules stand with those of others.
	ID string `attr:"early"`
	// ZoneID is the id of the zone, empty for rules of the account.
	ZoneID string `attr:"early"`
	// Phase that the rules work in.
	Phase string `attr:"early"`
	// Name that the references of the rules begin with.
	Name string `attr:"early"`
}
