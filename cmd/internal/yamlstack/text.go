package yamlstack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// piece is literal text, or what stands between ${ and }.
type piece struct {
	text, expr string
	// at is the offset of the expression in the text.
	at int
}

// pieces splits text at its expressions. $${ is the text ${.
func (s *scope) pieces(n *yaml.Node) []piece {
	text := n.Value
	if !strings.Contains(text, "${") {
		if !s.literal(s.f.of(n), text) {
			return nil
		}
		return []piece{{text: text}}
	}
	var list []piece
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 && s.literal(s.f.of(n), lit.String()) {
			list = append(list, piece{text: lit.String()})
		}
		lit.Reset()
	}
	for i := 0; i < len(text); {
		open := strings.Index(text[i:], "${")
		if open < 0 {
			lit.WriteString(text[i:])
			break
		}
		open += i
		if open > i && text[open-1] == '$' {
			lit.WriteString(text[i:open-1] + "${")
			i = open + 2
			continue
		}
		lit.WriteString(text[i:open])
		end := strings.IndexByte(text[open:], '}')
		if end < 0 {
			s.wrong(s.inside(n, open), reconcile.WithHint(errors.New("${ without }"), "a literal ${ is written $${"))
			return nil
		}
		flush()
		list = append(list, piece{expr: cmp.Or(strings.TrimSpace(text[open+2:open+end]), " "), at: open})
		i = open + end + 1
	}
	flush()
	return list
}

// text is text with its expressions replaced; one that is the whole text keeps its type.
func (s *scope) text(n *yaml.Node) any {
	pieces := s.pieces(n)
	switch {
	case len(pieces) == 0:
		return ""
	case len(pieces) == 1 && pieces[0].expr == "":
		return pieces[0].text
	case len(pieces) == 1:
		return s.eval(n, pieces[0])
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.expr == "" {
			b.WriteString(p.text)
			continue
		}
		v := s.eval(n, p)
		text, ok := joined(v)
		if !ok && v != nil {
			s.wrongf(s.inside(n, p.at), "${%s} is no text, so it must stand alone", p.expr)
		}
		if b.Len()+len(text) > tree.MaxValue {
			s.wrong(s.inside(n, p.at), errTooMuchValue)
			return ""
		}
		b.WriteString(text)
	}
	return b.String()
}

// inside is the place of an offset in text that is written on one line; else that of the text.
func (s *scope) inside(n *yaml.Node, offset int) place {
	at := s.f.of(n)
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.ContainsAny(n.Value, "\n\\\"'") {
		return at
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		at.column++
	}
	at.column += len([]rune(n.Value[:offset]))
	return at
}

// eval is what an expression stands for; nil after a mistake.
func (s *scope) eval(n *yaml.Node, p piece) any {
	at := s.inside(n, p.at)
	expr, spread := strings.CutSuffix(p.expr, "...")
	v, err := s.builtin(expr)
	if errors.Is(err, errNotBuiltin) {
		if s.known {
			s.wrong(at, fmt.Errorf("${%s}: %s", p.expr, s.why))
			return nil
		}
		v, err = s.reference(expr, spread)
		spread = false
	}
	if err != nil {
		s.wrong(at, err)
		return nil
	}
	if spread {
		list, ok := v.([]any)
		if !ok {
			s.wrongf(at, "${%s}: only a list can be spread", p.expr)
		}
		return splice(list)
	}
	return v
}

var errNotBuiltin = errors.New("not built in")

// builtin is the value of stage, stack, config.NAME, secret.NAME, each.key and each.value.
func (s *scope) builtin(expr string) (any, error) {
	word, name, dotted := strings.Cut(expr, ".")
	switch {
	case expr == "stage":
		return s.in.Stage, nil
	case expr == "stack":
		return s.graph.Stack, nil
	case word == "config" && dotted:
		return s.configValue(name)
	case word == "secret" && dotted:
		return s.secret(name)
	case (word == "each" || strings.HasPrefix(word, "each[")) && (dotted || word != "each"):
		return s.eachValue(expr)
	case word == "ref" && dotted:
		return nil, errNotBuiltin
	case slices.Contains(reserved(), expr):
		return nil, fmt.Errorf("${%s}: it has no name after a dot", expr)
	}
	return nil, errNotBuiltin
}

// reserved are the words that an address cannot be.
func reserved() []string { return []string{"stage", "stack", "config", "secret", "ref", "each"} }

func (s *scope) configValue(name string) (any, error) {
	if s.bare {
		return nil, fmt.Errorf("${config.%s}: a config may use ${stage} and ${stack} alone", name)
	}
	if _, known := s.config[name]; !known {
		return nil, undeclared("config", name, "config: {%s: {type: string}}", slices.Sorted(maps.Keys(s.config)))
	}
	return s.graph.Config[name], nil
}

func (s *scope) secret(name string) (any, error) {
	if s.known {
		return nil, fmt.Errorf("${secret.%s}: %s", name, s.why)
	}
	if _, known := s.graph.Secrets[name]; !known {
		return nil, undeclared("secret", name, "secrets: {%s: {sealed: true}}", slices.Sorted(maps.Keys(s.graph.Secrets)))
	}
	return token.Plain.Secret(name), nil
}

// undeclared is the error for a config or a secret that does not exist. Its hint is what may have been meant, or how one is declared.
func undeclared(what, name, declaration string, known []string) error {
	err := fmt.Errorf("no %s %q is declared", what, name)
	if len(known) > 0 {
		return near(err, name, known)
	}
	return reconcile.WithHint(err, "declare it: "+declaration, name)
}

func (s *scope) eachValue(expr string) (any, error) {
	if s.each == nil {
		return nil, fmt.Errorf("${%s}: there is no for here", expr)
	}
	if expr == "each.key" {
		return s.each.key, nil
	}
	path, err := tree.ParsePath(expr)
	if err != nil {
		return nil, fmt.Errorf("${%s}: %w", expr, err)
	}
	whole := map[string]any{"each": map[string]any{"key": s.each.key, "value": s.each.value}}
	v, ok := tree.Get(whole, path)
	if !ok {
		return nil, reconcile.WithHint(fmt.Errorf("${%s}: the value for key %s has nothing there", expr, s.each.key), "each.key and each.value, each.value.NAME")
	}
	return v, nil
}

// cutAddress splits a reference behind its address, which may end in a key in brackets.
func cutAddress(expr string) (address, rest string) {
	i := strings.IndexAny(expr, ".[")
	if i < 0 {
		return expr, ""
	}
	if expr[i] == '[' {
		end := strings.IndexByte(expr, ']')
		if end < 0 || strings.HasPrefix(expr[i:], `["`) {
			return expr[:i], expr[i:]
		}
		i = end + 1
	}
	return expr[:i], expr[i:]
}

// reference is the token of an attribute, of an output of another stack, or those of one attribute of all that a for makes.
func (s *scope) reference(expr string, spread bool) (any, error) {
	if name, ok := strings.CutPrefix(expr, "ref."); ok {
		return s.output(name, spread)
	}
	address, rest := cutAddress(expr)
	if s.each != nil {
		address = strings.ReplaceAll(address, "[each.key]", "["+s.each.key+"]")
	}
	path, err := tree.ParsePath(strings.TrimPrefix(rest, "."))
	if err != nil {
		return nil, reconcile.WithHint(fmt.Errorf("${%s}: %w", expr, err), "a reference is ${ADDRESS.ATTRIBUTE}; a literal ${ is written $${")
	}
	if s.ahead {
		return token.Plain.Ref(token.Ref{Address: address, Path: path}), nil
	}
	if base, all := strings.CutSuffix(address, "[*]"); all {
		return s.everyOne(expr, base, path)
	}
	t, err := s.target(address)
	if err != nil {
		return nil, err
	}
	list, err := t.check(path)
	if err != nil {
		return nil, err
	}
	tok := token.Plain.Ref(token.Ref{Address: address, Path: path, Spread: list || spread})
	if list || spread {
		return splice{tok}, nil
	}
	return tok, nil
}

// everyOne is one attribute of all that a for makes, in the order of keys.
func (s *scope) everyOne(expr, base string, path tree.Path) (any, error) {
	e, ok := s.entries[base]
	if !ok || e.keys == nil {
		return nil, fmt.Errorf("${%s}: nothing with a for is declared as %q", expr, base)
	}
	list, err := e.check(path)
	if err != nil {
		return nil, err
	}
	all := splice{}
	for _, k := range e.sorted() {
		all = append(all, token.Plain.Ref(token.Ref{Address: base + "[" + k + "]", Path: path, Spread: list}))
	}
	return all, nil
}

// target is the declaration that an address names.
func (s *scope) target(address string) (*entry, error) {
	if t, ok := s.instances[address]; ok {
		return t, nil
	}
	if e, ok := s.entries[address]; ok && e.keys != nil {
		keys := e.sorted()
		if len(keys) == 0 {
			return nil, fmt.Errorf("%s is made for no key", address)
		}
		return nil, reconcile.WithHint(fmt.Errorf("%s is made once for each of %s", address, strings.Join(keys[:min(5, len(keys))], ", ")),
			"%s[%s] is one, %s[*] is all", address, keys[0], address)
	}
	if strings.TrimSpace(address) == "" {
		return nil, reconcile.WithHint(errors.New("${} refers to nothing"), "${ADDRESS.ATTRIBUTE}, ${config.NAME}, ${secret.NAME}, ${stage} or ${stack}")
	}
	if err := graph.CheckAddress(address); err != nil {
		return nil, err
	}
	s.addresses()
	return nil, near(fmt.Errorf("nothing is declared as %q", address), address, s.names)
}
