package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// grantChange is one statement about permissions that a plan adds or takes away.
type grantChange struct {
	sid  string // "" for one without a name
	text string // + 3 actions on ${invoices.arn}
}

// grantChanges are the changes of a list of statements, nil for a difference of anything else. Statements are told apart by all that they
// say: their order says nothing.
func grantChanges(r engine.Reason) []grantChange {
	have, ok := statementsOf(r.Have)
	want, also := statementsOf(r.Want)
	if !ok || !also || len(have)+len(want) == 0 || r.Secret {
		return nil
	}
	var all []grantChange
	for _, side := range []struct {
		sign       string
		these, not []map[string]any
	}{{"+", want, have}, {"-", have, want}} {
		for _, s := range side.these {
			if slices.ContainsFunc(side.not, func(other map[string]any) bool { return tree.Equal(s, other) }) {
				continue
			}
			sid, _ := s["sid"].(string)
			all = append(all, grantChange{sid, side.sign + " " + statementText(s)})
		}
	}
	return all
}

// statementsOf are the statements of a list, each of which names actions and resources. No list is an empty one.
func statementsOf(v any) (all []map[string]any, ok bool) {
	list, isList := v.([]any)
	if v != nil && !isList {
		return nil, false
	}
	for _, item := range list {
		s, isMap := item.(map[string]any)
		_, acts := s["actions"].([]any)
		_, names := s["resources"].([]any)
		if !isMap || !acts || !names {
			return nil, false
		}
		all = append(all, s)
	}
	return all, true
}

// statementText says how many actions a statement is about, or the one, and on what.
func statementText(s map[string]any) string {
	actions, on := texts(s["actions"]), texts(s["resources"])
	what := counted(len(actions), "action")
	if len(actions) == 1 {
		what = actions[0]
	}
	if effect, _ := s["effect"].(string); effect == "Deny" {
		what = "deny " + what
	}
	text := fmt.Sprintf("%s on %s", what, strings.Join(on, ", "))
	if s["conditions"] != nil {
		text += ", on conditions"
	}
	return text
}

func texts(v any) []string {
	list, _ := v.([]any)
	all := make([]string, len(list))
	for i, item := range list {
		all[i] = text(item)
	}
	return all
}

// grants are the lines about a list of statements: what is added and taken away, and the calls of the program that want it.
func (l layout) grants(a engine.Planned, r engine.Reason) []prop {
	if l.Detailed {
		return nil
	}
	var all []prop
	path, because := string(r.Path), ""
	for _, c := range grantChanges(r) {
		if at := a.Bound[c.sid]; at != because {
			all, because = l.because(all, because), at
		}
		sign := green
		if strings.HasPrefix(c.text, "-") {
			sign = red
		}
		all = append(all, prop{path: path, value: l.paint(sign, c.text[:1]) + clean(c.text[1:])})
	}
	return l.because(all, because)
}

// because adds the call of the program behind what stands before it.
func (l layout) because(all []prop, at string) []prop {
	if at == "" {
		return all
	}
	return append(all, prop{path: "because", value: l.paint(dim, clean(at)), remark: true})
}
