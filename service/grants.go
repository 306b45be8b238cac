package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// role is what a token may do. Each role may do what those before it may.
type role int

const (
	nobody   role = iota
	reader        // read stages, runs and events
	planner       // submit plans
	deployer      // run, cancel and unlock
	admin         // create and revoke tokens, read the audit log
)

// roles are the names of roles in their order.
var roles = []string{"", "reader", "planner", "deployer", "admin"}

// Roles lists the names of all roles, the weakest first.
func Roles() []string { return slices.Clone(roles[1:]) }

func (r role) String() string { return roles[r] }

// grant is a role on the stages whose stack and name two patterns match.
type grant struct {
	role         role
	stack, stage string
}

// parseGrants reads grants. A pattern is STACK/STAGE, in both of which * stands for any characters.
func parseGrants(list []wire.Grant) ([]grant, error) {
	if len(list) == 0 {
		return nil, errors.New("a token needs a grant")
	}
	grants := make([]grant, 0, len(list))
	for _, g := range list {
		r := slices.Index(roles, g.Role)
		if r < int(reader) {
			return nil, fmt.Errorf("role %q: there are %s", g.Role, strings.Join(roles[1:], ", "))
		}
		stack, stage, ok := strings.Cut(g.On, "/")
		if !ok || stack == "" || stage == "" || strings.Contains(stage, "/") {
			return nil, fmt.Errorf("pattern %q: it is STACK/STAGE, such as shop/* or */prod", g.On)
		}
		grants = append(grants, grant{role(r), stack, stage})
	}
	return grants, nil
}

// notInNames finds what no name of a stack or stage has: those of athanor, Pulumi and Terraform are made of letters, digits and
// these signs. A pattern that has something else matches nothing, and was meant as another kind of pattern.
func notInNames(pattern string) string {
	at := strings.IndexFunc(pattern, func(r rune) bool {
		return r < utf8.RuneSelf && !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') && !strings.ContainsRune("-_.:*", r)
	})
	if at < 0 {
		return ""
	}
	return pattern[at : at+1]
}

// givenGrants reads grants that somebody gives, and refuses what nobody can mean. What the store has is read by [parseGrants] alone.
func givenGrants(list []wire.Grant) ([]grant, error) {
	grants, err := parseGrants(list)
	if err != nil {
		return nil, err
	}
	for i, g := range grants {
		if sign := notInNames(g.stack + g.stage); sign != "" {
			return nil, fmt.Errorf("pattern %q: %q is in no name of a stack or stage; * stands for any text, and nothing else is special", list[i].On, sign)
		}
	}
	return grants, nil
}

// roleOn is the strongest role that grants give on a stage.
func roleOn(grants []grant, stage statestore.Stage) role {
	best := nobody
	for _, g := range grants {
		if g.role > best && matches(g.stack, stage.Stack) && matches(g.stage, stage.Name) {
			best = g.role
		}
	}
	return best
}

// highest is the strongest role that grants give on any stage.
func highest(grants []grant) role {
	best := nobody
	for _, g := range grants {
		best = max(best, g.role)
	}
	return best
}

// matches reports whether all of a text is what a pattern says. Stacks and stages are matched apart from each other, so
// that no * reaches from one into the other.
func matches(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(part):], after
	}
}

// covers reports whether everything that the inner grants allow is allowed by the outer ones. When it cannot tell, it says
// no.
func covers(outer, inner []grant) bool {
	for _, want := range inner {
		if !slices.ContainsFunc(outer, func(have grant) bool {
			return have.role >= want.role && wider(have.stack, want.stack) && wider(have.stage, want.stage)
		}) {
			return false
		}
	}
	return true
}

// wider reports whether a pattern matches all that another one does.
func wider(pattern, other string) bool {
	if pattern == other {
		return true
	}
	literal, _, star := strings.Cut(other, "*")
	if !star {
		return matches(pattern, other)
	}
	prefix, ok := strings.CutSuffix(pattern, "*")
	return ok && !strings.Contains(prefix, "*") && strings.HasPrefix(literal, prefix)
}
