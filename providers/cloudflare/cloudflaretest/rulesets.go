package cloudflaretest

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// ruleset is the ruleset that a phase of a zone, or of an account, begins with.
type ruleset struct {
	of, id, kind, phase string // of is the zone's id or the account's
	name, description   string
	version             int
	rules               []object
}

// rulesetHandlers are the operations of rulesets, each for zones and for accounts.
func rulesetHandlers() map[string]handler {
	m := map[string]handler{}
	for name, do := range map[string]func(*world, request, string) (any, *failure){
		"rulesets.ListRulesets":  listRulesets,
		"rulesets.CreateRuleset": createRuleset,
		"rulesets.GetPhas":       getPhase,
		"rulesets.GetRuleset":    onRuleset(func(_ *world, _ request, s *ruleset) (any, *failure) { return s.shown(), nil }),
		"rulesets.UpdateRuleset": onRuleset(updateRuleset),
		"rulesets.DeleteRuleset": onRuleset(deleteRuleset),
		"rulesets.CreateRule":    onRuleset(createRule),
		"rulesets.PatchRule":     onRule(patchRule),
		"rulesets.DeleteRule":    onRule(deleteRule),
	} {
		m[name+"ForZone"] = inZone(func(w *world, r request, z *zone) (any, *failure) { return do(w, r, z.id) })
		m[name+"ForAccount"] = func(w *world, r request) (any, *failure) { return do(w, r, r.account) }
	}
	return m
}

func noRuleset() *failure {
	return &failure{service: "rulesets", status: 404, code: 10003, message: "could not find ruleset"}
}

// shown is a ruleset as an answer has it. One without rules tells of none.
func (s *ruleset) shown() object {
	all := s.listed()
	if len(s.rules) > 0 {
		rules := make([]any, len(s.rules))
		for i, r := range s.rules {
			rules[i] = r
		}
		all["rules"] = rules
	}
	return all
}

func (s *ruleset) listed() object {
	return object{
		"id": s.id, "kind": s.kind, "name": s.name, "phase": s.phase, "description": s.description,
		"version": strconv.Itoa(s.version), "last_updated": "2024-01-01T00:00:00Z",
	}
}

// changed is the answer to a change, which makes a version.
func (s *ruleset) changed() object {
	s.version++
	all := s.shown()
	if all["rules"] == nil {
		all["rules"] = []any{}
	}
	return all
}

func listRulesets(w *world, r request, of string) (any, *failure) {
	all := map[string]any{}
	for _, s := range w.rulesets {
		if s.of == of && s.id > r.query.Get("cursor") {
			all[s.id] = s.listed()
		}
	}
	items := sorted(all)
	l := cursored(r, "per_page", items, 2, func(last any) string { return last.(object)["id"].(string) })
	if l.info["cursor"] == "" {
		delete(l.info, "cursor")
	}
	return l, nil
}

func (w *world) phase(of, phase string) *ruleset {
	for _, s := range w.rulesets {
		if s.of == of && s.phase == phase {
			return s
		}
	}
	return nil
}

func getPhase(w *world, r request, of string) (any, *failure) {
	if s := w.phase(of, r.path["rulesetPhase"]); s != nil {
		return s.shown(), nil
	}
	return nil, noRuleset()
}

func createRuleset(w *world, r request, of string) (any, *failure) {
	phase, kind := r.text("phase"), r.text("kind")
	if w.phase(of, phase) != nil {
		return nil, &failure{status: 400, code: 20217, message: fmt.Sprintf(
			"'%s' is not a valid value for kind because exceeded maximum number of %s rulesets for phase %s", kind, kind, phase)}
	}
	s := &ruleset{of: of, id: hexID(16), kind: kind, phase: phase, name: r.text("name"), description: r.text("description")}
	given, _ := r.body["rules"].([]any)
	for _, rule := range given {
		s.rules = append(s.rules, ruled(rule.(object), hexID(16)))
	}
	w.rulesets = append(w.rulesets, s)
	return s.changed(), nil
}

// updateRuleset writes a ruleset whole: rules that are not sent go. One that is sent with its id stays the same one, with a new
// version where it says something else.
func updateRuleset(_ *world, r request, s *ruleset) (any, *failure) {
	given, _ := r.body["rules"].([]any)
	rules := []object{}
	for _, v := range given {
		sent := v.(object)
		id, known := sent["id"].(string)
		at := s.at(id)
		if known && at < 0 {
			return nil, noRuleset()
		}
		if !known {
			rules = append(rules, ruled(sent, hexID(16)))
			continue
		}
		old := s.rules[at]
		rule := ruled(sent, id)
		rule["version"] = old["version"]
		if !reflect.DeepEqual(rule, old) {
			version, _ := strconv.Atoi(old["version"].(string))
			rule["version"] = strconv.Itoa(version + 1)
		}
		rules = append(rules, rule)
	}
	s.rules = rules
	for name, into := range map[string]*string{"name": &s.name, "description": &s.description} {
		if text, sent := r.body[name].(string); sent {
			*into = text
		}
	}
	return s.changed(), nil
}

func deleteRuleset(w *world, _ request, s *ruleset) (any, *failure) {
	w.rulesets = slices.DeleteFunc(w.rulesets, func(o *ruleset) bool { return o == s })
	return wiretest.Answer{Status: http.StatusNoContent, Header: http.Header{}}, nil
}

// ruled is a rule with what Cloudflare adds to what it is given.
func ruled(given object, id string) object {
	rule := object{"id": id, "ref": id, "version": "1", "last_updated": "2024-01-01T00:00:00Z", "enabled": true}
	maps.Copy(rule, given)
	delete(rule, "position")
	if rule["description"] == "" {
		delete(rule, "description")
	}
	if rule["action"] == "skip" && rule["logging"] == nil {
		rule["logging"] = object{"enabled": true}
	}
	return rule
}

func onRuleset(do func(*world, request, *ruleset) (any, *failure)) func(*world, request, string) (any, *failure) {
	return func(w *world, r request, of string) (any, *failure) {
		for _, s := range w.rulesets {
			if s.of == of && s.id == r.path["rulesetId"] {
				return do(w, r, s)
			}
		}
		return nil, noRuleset()
	}
}

func onRule(do func(*world, request, *ruleset, int) (any, *failure)) func(*world, request, string) (any, *failure) {
	return onRuleset(func(w *world, r request, s *ruleset) (any, *failure) {
		if i := s.at(r.path["ruleId"]); i >= 0 {
			return do(w, r, s, i)
		}
		return nil, noRuleset()
	})
}

func (s *ruleset) at(id string) int {
	return slices.IndexFunc(s.rules, func(r object) bool { return r["id"] == id })
}

// insert puts a rule where a position says, at the end without one.
func (s *ruleset) insert(rule object, position any) *failure {
	p, _ := position.(object)
	to := len(s.rules)
	if id, ok := p["before"].(string); ok {
		if to = 0; id != "" {
			to = s.at(id)
		}
	}
	if id, ok := p["after"].(string); ok && id != "" {
		if to = s.at(id); to >= 0 {
			to++
		}
	}
	if n, ok := p["index"].(float64); ok {
		if to = int(n) - 1; to > len(s.rules) {
			to = -1
		}
	}
	if to < 0 {
		return &failure{status: 400, message: "position is out of range"} // the code is published nowhere: a caller that asks so fails the test
	}
	s.rules = slices.Insert(s.rules, to, rule)
	return nil
}

func createRule(_ *world, r request, s *ruleset) (any, *failure) {
	if f := s.insert(ruled(r.body, hexID(16)), r.body["position"]); f != nil {
		return nil, f
	}
	return s.changed(), nil
}

// patchRule sets a whole definition, or with a position alone the place: what a definition leaves out is deleted.
func patchRule(_ *world, r request, s *ruleset, i int) (any, *failure) {
	old := s.rules[i]
	rule := old
	position, moves := r.body["position"]
	if !moves || len(r.body) > 1 {
		version, _ := strconv.Atoi(old["version"].(string))
		rule = ruled(r.body, old["id"].(string))
		rule["version"] = strconv.Itoa(version + 1)
	}
	if !moves {
		s.rules[i] = rule
		return s.changed(), nil
	}
	rest := slices.Clone(s.rules)
	s.rules = slices.Delete(s.rules, i, i+1)
	if f := s.insert(rule, position); f != nil {
		s.rules = rest
		return nil, f
	}
	return s.changed(), nil
}

func deleteRule(_ *world, _ request, s *ruleset, i int) (any, *failure) {
	s.rules = slices.Delete(slices.Clone(s.rules), i, i+1)
	return s.changed(), nil
}

// Rules are the references of the rules of a phase of a zone, in their order, with those whose reference is their id as
// "?".
func (s *Server) Rules(zone, phase string) string {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	found := s.world.phase(zone, phase)
	if found == nil {
		return ""
	}
	refs := make([]string, len(found.rules))
	for i, r := range found.rules {
		if refs[i] = r["ref"].(string); refs[i] == r["id"] {
			refs[i] = "?"
		}
	}
	return strings.Join(refs, " ")
}
