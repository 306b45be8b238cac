package athanor

import (
	"reflect"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Construct is what languages other than Go use of a kind: its constructor, and the functions over what that returns. Each
// does what a Go program does, so that both make one graph. A nil field: the kind has no such function.
type Construct struct {
	// Of returns the attributes of a resource that is declared as name, as its constructor returns them. props is a pointer to
	// its props, nil for what is only read.
	Of func(s *Stack, name string, props any) any
	// Access are the ways to use it that a grant can name, sorted: "send". An action by its name, with a colon, is one as well.
	Access []string
	// Grant allows a consumer to use it. Both are what Of returned.
	Grant func(used, consumer any, access []string) error
	// Props returns a pointer to the zero props of what connects it to a source, and the prop of it that names it.
	Props func() (props any, consumer string)
	// Consume has it called with what a source has. Both are what Of returned, props is what Props returned.
	Consume func(s *Stack, consumer, source, props any) error
	// Declare declares it with resources of its own. props is a pointer to its props.
	Declare func(s *Stack, name string, props any, own Own, opts ...Option)
	// Reads are props that name files or folders which Declare reads, relative to the stack's directory.
	Reads []tree.Path
	// Parts are the kinds of these resources, by what their addresses add to its own: "role".
	Parts func(own Own) map[string]string
}

// Own says which resources of its own a resource is declared with.
type Own struct{ Role, LogGroup bool }

// Attributes returns the attributes of what is declared as name in the scope of s, each a token, whether it is declared
// already or not.
func Attributes[A any](s *Stack, name string) A {
	return attributes[A](s, s.Address(name), s.files.caller())
}

// Add declares a resource that another language than Go has read: whole, with its settings. p is the type of its props.
func (s *Stack) Add(r engine.Resource, p reflect.Type) { s.add(&r, p, nil) }

// AddRead uses something as another language than Go has read it.
func (s *Stack) AddRead(r engine.Read) {
	if s.enter(r.Address, entry{source: r.Source}) {
		s.mu.Lock()
		s.graph.Reads = append(s.graph.Reads, r)
		s.mu.Unlock()
	}
}

// WithOptions are options as another language than Go has read them.
func WithOptions(o engine.Options) Option { return func(d *declaration) { *d.options = o } }

// Inner is the name of what a constructor declares below another resource. A key stays at the end: "role" below "worker[a]" is
// "worker/role[a]".
func Inner(name, part string) string {
	outer, key := cutKey(name)
	return outer + "/" + part + key
}

// cutKey splits an address before its key in brackets.
func cutKey(address string) (outer, key string) {
	if i := strings.IndexByte(address, '['); i >= 0 {
		return address[:i], address[i:]
	}
	return address, ""
}
