package yamlstack

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// scope is where values are read: in a file, for an address, maybe for one key of a for.
type scope struct {
	*loader
	f       *file
	address string
	each    *each
	// known forbids references and secrets; why says so.
	known bool
	why   string
	// bare scopes have no config yet: the config section itself.
	bare bool
	// ahead scopes come before what is declared, so that references in them are checked later.
	ahead bool
	depth int
	// held is how many bytes the value at work has so far.
	held int
}

// each is one key of a for.
type each struct {
	key   string
	value any
}

// splice is a value that takes the place of its element in a list: the elements of a list attribute, or one
// attribute of all that a for makes. Elsewhere it is a list.
type splice []any

func (s *scope) wrong(at place, err error) { s.loader.wrong(at, s.address, err) }

func (s *scope) wrongf(at place, format string, args ...any) {
	s.wrong(at, fmt.Errorf(format, args...))
}

// value is a node as a tree, with all that is built in replaced and references as tokens.
func (s *scope) value(n *yaml.Node) any {
	v := s.raw(n)
	if list, ok := v.(splice); ok {
		return []any(list)
	}
	return v
}

func (s *scope) raw(n *yaml.Node) any {
	if !s.spend(s.f, n) {
		return nil
	}
	if s.depth >= maxDepth {
		s.wrong(s.f.of(n), errTooMuch)
		return nil
	}
	n = real(n)
	if !s.hold(s.f.of(n), 2) {
		return nil
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return s.weighed(n, s.scalar(n))
	case yaml.SequenceNode:
		return s.list(n)
	case yaml.MappingNode:
		return s.mapping(n)
	}
	return nil
}

func (s *scope) list(n *yaml.Node) any {
	s.depth++
	defer func() { s.depth-- }()
	list := make([]any, 0, len(n.Content))
	for _, item := range n.Content {
		switch v := s.raw(item).(type) {
		case splice:
			list = append(list, v...)
		default:
			list = append(list, v)
		}
	}
	return list
}

func (s *scope) mapping(n *yaml.Node) any {
	s.depth++
	defer func() { s.depth-- }()
	pairs := s.pairs(s.f, n, "value")
	if len(pairs) > 0 && (pairs[0].name == "$json" || pairs[0].name == "$url") {
		return s.made(n, pairs)
	}
	m := make(map[string]any, len(pairs))
	for _, p := range pairs {
		name := p.name
		if strings.Contains(name, "$") || token.Has(name) {
			k, ok := s.text(real(p.key)).(string)
			if !ok {
				s.wrongf(s.f.of(p.key), "a key must be text")
				continue
			}
			if _, twice := m[k]; twice {
				s.wrongf(s.f.of(p.key), "this key is the same as another one")
				continue
			}
			name = k
		}
		if s.depth == 1 {
			s.held = 0 // each prop is a value of its own
		}
		if !s.hold(s.f.of(p.key), len(name)+4) {
			return nil
		}
		m[name] = s.value(p.value)
	}
	return m
}

// weighed is the value of a scalar, when there is room for it.
func (s *scope) weighed(n *yaml.Node, v any) any {
	if !s.hold(s.f.of(n), tree.Size(v, tree.MaxValue)) {
		return nil
	}
	return v
}

var wholeNumber = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)

// scalar is text, a number, a truth or null. Only the forms that mean the same to everybody are numbers: 0644
// and 1_000 are not, since YAML reads the first in octal.
func (s *scope) scalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!str", "!!timestamp":
		if n.Style == 0 && tree.NumberLike(n.Value) { // the parser makes text of what does not fit
			problem := "no number that can be used"
			if strings.ContainsAny(n.Value, "xob") {
				problem = "not a plain whole number"
			}
			s.wrong(s.f.of(n), reconcile.WithHint(fmt.Errorf("%s is %s", n.Value, problem), "as text it is written %q", n.Value))
			return nil
		}
		return s.text(n)
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		v, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil || strconv.FormatInt(v, 10) != n.Value {
			s.wrong(s.f.of(n), reconcile.WithHint(fmt.Errorf("%s is not a plain whole number", n.Value), "as text it is written %q", n.Value))
		}
		return v
	case "!!float":
		if wholeNumber.MatchString(n.Value) { // the parser makes a fraction of what does not fit
			s.wrong(s.f.of(n), reconcile.WithHint(fmt.Errorf("%s is beyond the whole numbers of 64 bits", n.Value), "as text it is written %q", n.Value))
			return nil
		}
		v, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			s.wrong(s.f.of(n), reconcile.WithHint(fmt.Errorf("%s is no number that can be used", n.Value), "as text it is written %q", n.Value))
			return nil
		}
		if !tree.Exact(n.Value, v) {
			s.wrong(s.f.of(n), reconcile.WithHint(
				fmt.Errorf("%s has more digits than a number keeps: %s", n.Value, tree.Canonical(v)), "as text it is written %q", n.Value))
			return nil
		}
		return v
	}
	s.wrongf(s.f.of(n), "the tag %s is not part of the language", n.Tag)
	return nil
}

// made is what $json or $url makes.
func (s *scope) made(n *yaml.Node, pairs []pair) any {
	switch first := pairs[0]; {
	case first.name == "$json" && len(pairs) == 1:
		text, err := token.Plain.JSON(s.value(first.value))
		if err != nil {
			s.wrongf(s.f.of(first.key), "$json: %w", err)
		}
		return text
	case first.name == "$url" && (len(pairs) == 1 || len(pairs) == 2 && pairs[1].name == "args"):
		return s.url(pairs)
	default:
		s.wrong(s.f.of(n), reconcile.WithHint(fmt.Errorf("%s stands with other keys", first.name),
			`{$json: …}, {$url: "https://${a.host}/"} or {$url: "https://%%s/", args: […]}`))
		return nil
	}
}

// url is a URL whose parts are escaped: with its arguments beside it, or with references in it.
func (s *scope) url(pairs []pair) any {
	format, at := real(pairs[0].value), s.f.of(pairs[0].key)
	if format.Kind != yaml.ScalarNode {
		s.wrongf(at, "$url: want text, have %s", kindOf(format))
		return nil
	}
	text, args := format.Value, []any(nil)
	if len(pairs) == 2 {
		for _, n := range s.items(s.f, pairs[1].value, "args") {
			args = append(args, s.value(n))
		}
	} else {
		text, args = s.urlOf(format)
	}
	made, err := token.Plain.URL(text, args)
	if err != nil {
		s.wrongf(at, "$url: %w", err)
	}
	return made
}

// urlOf makes a format and its arguments of text with references.
func (s *scope) urlOf(n *yaml.Node) (format string, args []any) {
	var b strings.Builder
	for _, p := range s.pieces(n) {
		if p.expr == "" {
			b.WriteString(percents(p.text))
			continue
		}
		b.WriteString("%s")
		args = append(args, s.eval(n, p))
	}
	return b.String(), args
}

// percents doubles the percent signs that begin no escape.
func percents(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		if text[i] != '%' {
			continue
		}
		if len(text) < i+3 || !isHex(text[i+1]) || !isHex(text[i+2]) {
			b.WriteByte('%')
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// plain is text that is known now: a name, an address, a path.
func (s *scope) plain(n *yaml.Node, what string) (string, bool) {
	inner := *s
	inner.known, inner.why = true, what+" must be known before anything is looked at"
	r := real(n)
	if r.Kind == yaml.ScalarNode && r.Tag != "!!null" {
		switch v := inner.value(r).(type) {
		case string:
			return v, v != ""
		case int64:
			return strconv.FormatInt(v, 10), true
		}
	}
	s.wrongf(s.f.of(n), "%s: want text, have %s", what, kindOf(r))
	return "", false
}

var errBrackets = errors.New("text that looks like an encoded reference")

// literal reports whether text may stand as it is: the brackets of tokens are reserved.
func (s *scope) literal(at place, text string) bool {
	parts, err := token.Scan(text)
	if err != nil {
		s.wrong(at, reconcile.WithHint(fmt.Errorf("%w: %w", errBrackets, err), "references are written ${address.attribute}"))
		return false
	}
	for _, p := range parts {
		if p.Expr != nil {
			s.wrong(at, reconcile.WithHint(errBrackets, "references are written ${address.attribute}"))
			return false
		}
	}
	return true
}

// joined puts a piece into text.
func joined(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case bool, int64:
		return fmt.Sprint(x), true
	case float64:
		return string(tree.Canonical(x)), true
	}
	return "", false
}
