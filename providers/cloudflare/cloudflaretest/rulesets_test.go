package cloudflaretest

import (
	"net/http"
	"testing"
)

// TestRulesetByID: a ruleset is read, written whole and deleted by its id, as clients do that own a phase alone. A rule that is sent
// with its id stays the same one.
func TestRulesetByID(t *testing.T) {
	s := Start(t)
	at := "/zones/" + s.AddZone(s.Account, "shop.example") + "/rulesets"
	rule := func(expression string) object {
		return object{"expression": expression, "action": "block", "enabled": true}
	}
	made := s.Do(t, http.MethodPost, at, object{
		"name": "shop", "kind": "zone", "phase": "http_request_firewall_custom", "rules": []any{rule("true"), rule("false")},
	}).(object)
	at += "/" + made["id"].(string)
	read := s.Do(t, http.MethodGet, at, nil).(object)
	rules := read["rules"].([]any)
	if read["name"] != "shop" || read["version"] != "1" || len(rules) != 2 {
		t.Fatalf("%v", read)
	}
	kept := rules[1].(object)
	s.Do(t, http.MethodPut, at, object{"name": "renamed", "rules": []any{object{"id": kept["id"], "expression": "false", "action": "log"}, rule("1 == 1")}})
	read = s.Do(t, http.MethodGet, at, nil).(object)
	rules = read["rules"].([]any)
	first := rules[0].(object)
	if read["name"] != "renamed" || read["version"] != "2" || len(rules) != 2 || first["id"] != kept["id"] || first["version"] != "2" || first["action"] != "log" {
		t.Errorf("%v", read)
	}
	if status, _ := s.TryWith(t, http.MethodPut, at, nil, object{"rules": []any{object{"id": hexID(16), "expression": "true", "action": "log"}}}); status != http.StatusNotFound {
		t.Errorf("a rule that there is not: status %d", status)
	}
	if status := s.deletes(t, at); status != http.StatusNoContent {
		t.Errorf("deleted with status %d", status)
	}
	if status, _ := s.TryWith(t, http.MethodGet, at, nil, nil); status != http.StatusNotFound {
		t.Errorf("deleted, and status %d", status)
	}
}

// deletes is the status of a deletion that has no body.
func (s *Server) deletes(t *testing.T, path string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodDelete, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
