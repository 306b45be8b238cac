package terraform

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mostInRef and mostInRuleset are how long a reference of a rule, and the name of a resource of rules, may be.
const mostInRef, mostInRuleset = 32, 64

// ruleset declares the rules of a phase. Terraform has a ruleset of a phase whole, and cloudflare.Ruleset tells its rules by their references: each
// rule names the one that becomes it by its id, https://developers.cloudflare.com/api/resources/rulesets/subresources/rules/methods/edit/.
func ruleset(_ *draft, o *object, i *instance) error {
	where := cmp.Or(i.text("zone_id"), "account")
	switch kind := i.text("kind"); {
	case kind != "zone" && kind != "root":
		return fmt.Errorf("a ruleset of the kind %q is run by rules of a phase, and cloudflare.Ruleset has phases alone: it stays", kind)
	case where == "account" && i.text("account_id") == "":
		return errors.New("the state does not say whose it is")
	}
	name := words(i.name, mostInRuleset)
	if name == "" {
		name = "rules"
	}
	o.id = where + "/" + i.text("phase") + "/" + name
	o.props["name"] = name
	var refs []string
	for n, r := range blocks(i.attrs["rules"]) {
		id := textOf(r["id"])
		if id == "" {
			return errors.New("the state does not have the ids of its rules")
		}
		ref := ruleRef(r, n+1, refs)
		refs = append(refs, ref)
		rule := kept(values{
			"ref": ref, "adopt": id, "expression": textOf(r["expression"]), "action": textOf(r["action"]), "description": textOf(r["description"]),
			"parameters": plainOf(ruleParameters(r["action_parameters"])), "rateLimit": ruleLimit(r["ratelimit"]),
		})
		if r["enabled"] == false {
			rule["enabled"] = false
		}
		if logging, ok := one(r["logging"]); ok && logging["enabled"] != nil {
			rule["logging"] = logging["enabled"]
		}
		if check, ok := one(r["exposed_credential_check"]); ok {
			rule["exposedCredentialCheck"] = kept(values{"username": textOf(check["username_expression"]), "password": textOf(check["password_expression"])})
		}
		o.append("rules", rule)
	}
	if o.props["rules"] == nil {
		return errors.New("it has no rules")
	}
	return nil
}

// ruleRef makes a reference of a rule: of the one that its author gave, else of its description, else of its place.
func ruleRef(r values, n int, taken []string) string {
	ref := words(strings.ToLower(cmp.Or(textOf(r["description"]), textOf(r["action"]))), mostInRef)
	if given := textOf(r["ref"]); given != "" && given != textOf(r["id"]) {
		ref = words(strings.ToLower(given), mostInRef)
	}
	if ref == "" || slices.Contains(taken, ref) {
		ref = words(ref, mostInRef-5) + fmt.Sprintf("_%d", n)
	}
	return strings.TrimPrefix(ref, "_")
}

// words are the letters and digits of a text, with one _ for all else between them.
func words(text string, most int) string {
	var all strings.Builder
	gap := false
	for _, c := range text {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			if gap && all.Len() > 0 {
				all.WriteByte('_')
			}
			all.WriteRune(c)
			gap = false
		} else {
			gap = true
		}
	}
	made := all.String()
	return strings.Trim(made[:min(len(made), most)], "_")
}

// ruleLimit is how often requests may come.
func ruleLimit(v any) values {
	limit, ok := one(v)
	if !ok {
		return nil
	}
	return kept(values{
		"characteristics": limit["characteristics"], "period": secondsOf(limit["period"]), "requests": numberOf(limit["requests_per_period"]),
		"score": numberOf(limit["score_per_period"]), "scoreHeader": textOf(limit["score_response_header_name"]),
		"mitigation": secondsOf(limit["mitigation_timeout"]), "counting": textOf(limit["counting_expression"]), "originOnly": isTrue(limit["requests_to_origin"]),
	})
}

func isTrue(v any) any {
	if v == true {
		return true
	}
	return nil
}

// manyParameters are the parameters of actions that are lists of objects. Version 4 of the provider writes each other object as a list with it.
var manyParameters = []string{
	"categories", "rules", "status_code_ttl", "algorithms", "cookie_fields", "request_fields", "response_fields", "raw_response_fields", "transformed_request_fields",
}

// ruleParameters are the parameters of an action as the API has them: without what is null, and with the objects of version 4 of the provider. The
// source is internal/framework/service/rulesets/schema.go of that version.
func ruleParameters(v any) any {
	params, ok := one(withoutNull(v))
	if !ok {
		return nil
	}
	out := values{}
	for name, v := range params {
		list, isList := v.([]any)
		switch {
		case empty(v):
		case name == "rules" && !isList: // of rulesets that are skipped, as text in version 4
			out[name] = eachObject(v, func(all values) values {
				for ruleset, ids := range all {
					if text, isText := ids.(string); isText {
						var list []any
						for id := range strings.SplitSeq(text, ",") {
							list = append(list, strings.TrimSpace(id))
						}
						all[ruleset] = list
					}
				}
				return all
			})
		case name == "headers" && isList:
			byName := values{}
			for _, header := range blocks(v) {
				if name := textOf(header["name"]); name != "" {
					delete(header, "name")
					byName[name] = kept(header)
				}
			}
			if len(byName) == 0 { // those that a cache goes by
				out[name] = v
				continue
			}
			out[name] = byName
		case isList && strings.HasSuffix(name, "_fields"):
			var fields []any
			for _, field := range list {
				if text, isText := field.(string); isText {
					field = values{"name": text}
				}
				fields = append(fields, field)
			}
			out[name] = fields
		case isList && slices.Contains(manyParameters, name):
			var all []any
			for _, x := range list {
				all = append(all, inParameters(x))
			}
			out[name] = all
		default:
			out[name] = inParameters(v)
		}
	}
	return out
}

// inParameters is a value in parameters.
func inParameters(v any) any {
	if _, isObject := one(v); isObject {
		return ruleParameters(v)
	}
	return v
}
