package token

import (
	"slices"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Template is a tree whose tokens have been read, so that it can be resolved each time that more is known. It keeps the
// tree that it was made from, which must not be changed. It can be used by many at once.
type Template struct {
	root any
	refs []Use
	more *further // nil in most templates, of which there can be very many
}

// further is what few templates have.
type further struct {
	secrets []string
	outputs []Output
	secret  map[tree.Path]bool // of a literal
}

// Output is an output of another stack, and where it stands.
type Output struct {
	Stack Stack
	// Path begins with the name of the output.
	Path tree.Path
	At   tree.Path
}

// What holds tokens stands in a template in its own form, all else as in the tree: a string that is one token is its
// *Expr.
type (
	text    []Part
	list    []any
	entries []entry
)

// entry is one of a map, in the order of the keys as they are written.
type entry struct {
	key   string
	parts []Part // of the key, nil when it holds no token
	value any
}

// Parse reads the tokens of a tree. The error is an [*Error]: a damaged token, or the trace of one.
func Parse(v any) (*Template, error) { return new(Parser).Parse(v) }

// Parser parses the trees of one program. Equal tokens of all of them are one object: in large programs thousands of
// resources refer to the same attribute.
type Parser struct{ known map[string]*Expr } // by the text inside a token

// Parse is [Parse] for one tree of several.
func (s *Parser) Parse(v any) (*Template, error) {
	p := parser{Parser: s}
	root, _, err := p.read(v)
	if err != nil {
		return nil, err
	}
	t := &Template{root: root, refs: p.refs()}
	if len(p.secrets)+len(p.outputs) > 0 {
		t.more = &further{secrets: p.secrets, outputs: p.outputs}
	}
	return t, nil
}

// expr is parseBody for a text that may have been read before.
func (s *Parser) expr(body string) (*Expr, bool) {
	if e := s.known[body]; e != nil {
		return e, true
	}
	e, ok := parseBody(body)
	if !ok {
		return nil, false
	}
	if s.known == nil {
		s.known = map[string]*Expr{}
	}
	s.known[body] = e
	return e, true
}

// Literal is the template of a tree of values: what looks like a token in it is none. It resolves to the tree itself, with
// the given paths secret.
func Literal(v any, secret map[tree.Path]bool) *Template {
	t := &Template{root: v}
	if len(secret) > 0 {
		t.more = &further{secret: secret}
	}
	return t
}

// Refs are all references, in tree order, with those inside JSON, URLs and inputs of functions; At is the path of the
// string in the tree. A nil template has none.
func (t *Template) Refs() []Use {
	if t == nil {
		return nil
	}
	return t.refs
}

// Secrets are the names of the secrets that are used, each once, in tree order.
func (t *Template) Secrets() []string {
	if t.more == nil {
		return nil
	}
	return t.more.secrets
}

// Outputs are those of other stacks that are used, in tree order.
func (t *Template) Outputs() []Output {
	if t.more == nil {
		return nil
	}
	return t.more.outputs
}

// Refs are those of the template of v.
func Refs(v any) ([]Use, error) {
	t, err := Parse(v)
	if err != nil {
		return nil, err
	}
	return t.refs, nil
}

type parser struct {
	*Parser
	at      tree.Trail
	here    tree.Path // of the string that is read, made for its first reference
	count   int       // of references
	few     [8]Use    // the first of them
	more    []Use     // all others
	secrets []string
	outputs []Output
}

func (p *parser) use(r *Ref) {
	if p.here == "" {
		p.here = p.at.Path()
	}
	u := Use{Ref: r, At: p.here}
	if p.count < len(p.few) {
		p.few[p.count] = u
	} else {
		p.more = append(p.more, u)
	}
	p.count++
}

func (p *parser) refs() []Use {
	if p.count == 0 {
		return nil
	}
	return append(append(make([]Use, 0, p.count), p.few[:p.count-len(p.more)]...), p.more...)
}

// read is v as it stands in a template, and whether it holds tokens.
func (p *parser) read(v any) (any, bool, error) {
	switch x := v.(type) {
	case string:
		parts, err := p.parts(x)
		switch {
		case err != nil:
			return nil, false, err
		case len(parts) == 1:
			return parts[0].Expr, true, nil
		case parts != nil:
			return text(parts), true, nil
		}
	case []any:
		return p.list(x)
	case map[string]any:
		return p.entries(x)
	}
	return v, false, nil
}

func (p *parser) list(l []any) (any, bool, error) {
	var out list
	for i, e := range l {
		p.at.Element(i)
		x, holds, err := p.read(e)
		if err != nil {
			return nil, false, err
		}
		p.at.Leave()
		if holds && out == nil {
			out = append(make(list, 0, len(l)), l[:i]...)
		}
		if out != nil {
			out = append(out, x)
		}
	}
	if out == nil {
		return l, false, nil
	}
	return out, true, nil
}

func (p *parser) entries(m map[string]any) (any, bool, error) {
	var space [16]string
	var out entries
	keys := tree.AppendKeys(space[:0], m)
	for i, k := range keys {
		parts, err := p.parts(k)
		if err != nil {
			return nil, false, err
		}
		p.at.Enter(k)
		x, holds, err := p.read(m[k])
		if err != nil {
			return nil, false, err
		}
		p.at.Leave()
		if (holds || parts != nil) && out == nil {
			out = make(entries, 0, len(m))
			for _, k := range keys[:i] {
				out = append(out, entry{key: k, value: m[k]})
			}
		}
		if out != nil {
			out = append(out, entry{k, parts, x})
		}
	}
	if out == nil {
		return m, false, nil
	}
	return out, true, nil
}

// parts are those of a string that holds tokens, nil of any other.
func (p *parser) parts(s string) ([]Part, error) {
	plain, err := literal(s)
	if err == nil && plain {
		return nil, nil
	}
	var parts []Part
	if err == nil {
		parts, err = scan(s, p.expr)
	}
	if err != nil {
		return nil, &Error{Path: p.at.Path(), Err: err}
	}
	p.here = ""
	for _, part := range parts {
		if part.Expr != nil {
			p.note(part.Expr)
		}
	}
	return parts, nil
}

// note takes down what a token uses, and what those inside it do.
func (p *parser) note(e *Expr) {
	switch {
	case e.Op == OpRef:
		p.use(&e.Ref)
	case e.Op == OpSecret && !slices.Contains(p.secrets, e.Name):
		p.secrets = append(p.secrets, e.Name)
	case e.Op == OpStack:
		p.outputs = append(p.outputs, Output{Stack: e.Stack, Path: e.Ref.Path, At: p.at.Path()})
	}
	if e.Input == nil && len(e.Args) == 0 {
		return
	}
	inner, err := Parse([]any{e.Input, e.Args})
	if err != nil {
		return // Scan has checked what is inside; what is no tree for all that has no uses
	}
	for _, u := range inner.refs {
		p.use(u.Ref)
	}
	for _, o := range inner.Outputs() {
		o.At = p.at.Path()
		p.outputs = append(p.outputs, o)
	}
	for _, name := range inner.Secrets() {
		if !slices.Contains(p.secrets, name) {
			p.secrets = append(p.secrets, name)
		}
	}
}
