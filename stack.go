package athanor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Stack is a handle on what a program declares: the whole of it, or a scope with a prefix for addresses and
// with settings for providers. Handles are cheap, and safe for concurrent use.
type Stack struct {
	*evaluation
	scope string
	// settings of providers, by name, and those that forward one of them. Maps in them are never changed.
	settings map[string]map[string]any
	forwards map[string]reconcile.Forwarding
}

// evaluation is one run of a program.
type evaluation struct {
	in    Input
	files fileNames

	mu        sync.Mutex
	graph     *engine.Graph
	declared  map[string]entry
	forgotten map[string]string
	outputs   map[string]string // where each is made
	bindings  []binding
	config    map[string]configEntry
	problems  []engine.Problem
}

// entry is what is kept of a declared address.
type entry struct {
	source string
	props  reflect.Type // nil for what is only read
	was    []string     // earlier addresses
}

// Name is the name of the stack.
func (s *Stack) Name() string { return s.in.Stack }

// Stage is the name of the stage that is being deployed, such as "prod".
func (s *Stack) Stage() string { return s.in.Stage }

// Dir is the stack's directory, from which relative paths lead.
func (s *Stack) Dir() string { return s.in.Dir }

// Scope is a handle whose addresses begin with name: "orders" in scope "shop" is "shop/orders".
func (s *Stack) Scope(name string) *Stack {
	inner := *s
	inner.scope = s.Address(name)
	if err := checkAddress(inner.scope); err != nil {
		s.fail("", fmt.Errorf("scope: %w", err))
	}
	return &inner
}

// Address is the whole address of name in this scope, as options such as [RenamedFrom] take it.
func (s *Stack) Address(name string) string {
	if s.scope == "" {
		return name
	}
	return s.scope + "/" + name
}

// With is a handle under which the kinds of provider use these settings, a struct or a map; what is not set
// keeps its value from outside. Places hold no references; what typed settings forward (see [reconcile.Forwarding]) may.
// Providers offer typed forms, such as aws.In(s, aws.Region("eu-west-1")).
func (s *Stack) With(provider string, settings any) *Stack {
	inner := *s
	t, err := treeOf(settings)
	m, ok := t.(map[string]any)
	switch {
	case err != nil:
		s.fail("", fmt.Errorf("settings of %s: %w", provider, err))
		return &inner
	case !ok && t != nil:
		s.fail("", fmt.Errorf("settings of %s: want a struct or a map, have %T", provider, settings))
		return &inner
	}
	by, forwards := settings.(reconcile.Forwarding)
	fixed := maps.Clone(m)
	if forwards {
		setting, _ := by.Forwards()
		delete(fixed, setting)
		inner.forwards = maps.Clone(s.forwards)
		if inner.forwards == nil {
			inner.forwards = map[string]reconcile.Forwarding{}
		}
		inner.forwards[provider] = by
	}
	if path, found := tokenIn(fixed); found {
		s.fail("", fmt.Errorf("settings of %s: %s: %w", provider, path, errPlace))
		return &inner
	}
	merged := maps.Clone(s.settings[provider])
	if merged == nil {
		merged = map[string]any{}
	}
	maps.Copy(merged, m)
	inner.settings = maps.Clone(s.settings)
	if inner.settings == nil {
		inner.settings = map[string]map[string]any{}
	}
	inner.settings[provider] = merged
	return &inner
}

var (
	errPlace   = errors.New("a reference: places must be known before anything is looked at")
	errLiteral = errors.New("takes no reference")
)

// settingsOf are the settings for a kind in this scope. The first word of a kind's type names its provider;
// types of cloud schemas are written AWS::EC2::VPC.
func (s *Stack) settingsOf(kind string) map[string]any {
	return s.settings[familyOf(kind)]
}

// familyOf is the name under which [Stack.With] keeps settings for a kind.
func familyOf(kind string) string {
	if word, _, schema := strings.Cut(kind, "::"); schema {
		return strings.ToLower(word)
	}
	word, _, _ := strings.Cut(kind, ".")
	return word
}

// forwarded are the props of a resource of a kind, with what its provider's settings forward.
func (s *Stack) forwarded(kind string, props map[string]any) map[string]any {
	family := familyOf(kind)
	return reconcile.Forwarded(s.forwards[family], s.settings[family], props)
}

// Forget removes addresses from state that the program no longer declares: their objects stay, unmanaged. Addresses
// are whole, whatever the scope.
func (s *Stack) Forget(addresses ...string) {
	at := s.files.caller()
	for _, a := range addresses {
		if err := checkAddress(a); err != nil {
			s.failAt("", at, fmt.Errorf("forget: %w", err))
			continue
		}
		s.mu.Lock()
		if _, twice := s.forgotten[a]; !twice {
			s.forgotten[a] = at
			s.graph.Forget = append(s.graph.Forget, a)
		}
		s.mu.Unlock()
	}
}

// Output publishes a value under a name: attributes, text with references, or any plain value.
func (s *Stack) Output(name string, value any) {
	at := s.files.caller()
	t, err := treeOf(value)
	if err == nil {
		err = CheckName(name)
	}
	if err != nil {
		s.failAt("output "+name, at, err)
		return
	}
	s.mu.Lock()
	other, twice := s.outputs[name]
	if !twice {
		s.outputs[name] = at
		s.graph.Outputs[name] = t
	}
	s.mu.Unlock()
	if twice {
		s.failAt("output "+name, at, fmt.Errorf("%w: %s and %s", ErrTwice, other, at))
	}
}

var errName = errors.New("bad name")

// Policy adds a rule that every plan must pass before it is approved. A graph with policies needs its program.
func (s *Stack) Policy(rule func(*Plan) []Violation) {
	if rule == nil {
		s.fail("", errors.New("a nil policy"))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.graph.Funcs.Policies = append(s.graph.Funcs.Policies, s.files.guardedPolicy(rule))
}

// guardedPolicy is a policy whose panic refuses the plan.
func (n fileNames) guardedPolicy(rule func(*Plan) []Violation) func(*Plan) []Violation {
	return func(p *Plan) (found []Violation) {
		if panicked := n.guarded(func() { found = rule(p) }); panicked != nil {
			return []Violation{{Policy: panicked.at, Message: strings.ReplaceAll(panicked.err().Error(), "\n", "; ")}}
		}
		return found
	}
}

// Fail reports what is wrong with how a constructor, or a function such as a grant, was called, at the line of the program
// that called it. The program goes on, so that all its mistakes are told at once.
func (s *Stack) Fail(err error) { s.fail("", err) }

// fail notes a mistake at the line of the program that is running.
func (e *evaluation) fail(address string, err error) {
	e.failAt(address, e.files.caller(), err)
}

func (e *evaluation) failAt(address, source string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.problems = append(e.problems, engine.Problem{Address: address, Source: source, Err: err})
}

// CheckStack says what is wrong with the name of a stack.
func CheckStack(name string) error {
	if len(name) > 60 || !plainName(name) {
		return reconcile.WithHint(fmt.Errorf("stack %q: %w", name, errName), "1 to 60 letters, digits, - and _, a letter first")
	}
	return nil
}

// CheckName says what is wrong with the name of an output, a config or a secret.
func CheckName(name string) error {
	if !plainName(name) {
		return fmt.Errorf("%w: a letter first, then letters, digits, - and _", errName)
	}
	return nil
}

func checkAddress(address string) error {
	if token.Has(address) {
		return reconcile.WithHint(fmt.Errorf("%w: it holds a reference", graph.ErrAddress), "addresses must be known before anything is looked at")
	}
	return graph.CheckAddress(address)
}

func plainName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || (r < '0' || r > '9') && r != '-' && r != '_') {
			return false
		}
	}
	return s != ""
}

// tokenIn finds the first text with a reference in a tree.
func tokenIn(v any) (at tree.Path, found bool) {
	tree.Walk(v, func(p tree.Path, x any) bool {
		if s, ok := x.(string); ok && !found && token.Has(s) {
			at, found = p, true
		}
		return !found
	})
	return cmp.Or(at, "value"), found
}
