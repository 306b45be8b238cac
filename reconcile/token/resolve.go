package token

import (
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Resolve puts values in the place of tokens.
//
// A string that is one token becomes the value itself, with its type. Inside other text, numbers and truths
// are printed; null, lists and maps are errors. A spread token stands in a list and becomes the elements of
// its value. Keys of maps are resolved too; two that become equal are an error, and one that is unknown
// makes the whole map unknown.
//
// Text that is JSON, or an absolute URL, with tokens in it must stay the same JSON, or have the same parts,
// with the values in it: a value that would break out is an error. [Spelling.JSON] and [Spelling.URL]
// escape such values.
//
// The error is an [*Error]; it never holds a value.
func Resolve(v any, lookup Lookup) (Resolved, error) {
	t, err := Parse(v)
	if err != nil {
		return Resolved{}, err
	}
	return t.Resolve(lookup)
}

// Resolve puts values in the place of tokens, as [Resolve] says.
func (t *Template) Resolve(lookup Lookup) (Resolved, error) {
	r := resolver{lookup: lookup}
	if t.more != nil {
		r.secret = t.more.secret
	}
	v, err := r.value(t.root)
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Tree: v, Unknown: r.unknown, Secret: r.secret}, nil
}

type resolver struct {
	lookup          Lookup
	at              tree.Trail // in what is resolved
	unknown, secret map[tree.Path]bool
	// size is how many bytes the value at work has so far.
	size int
}

// errTooLarge stops values that are put together of each other and grow without measure.
var errTooLarge = errors.New("the value has more than 1 MiB")

// hold counts what was put in.
func (r *resolver) hold(v any) error {
	if r.size += tree.Size(v, tree.MaxValue); r.size > tree.MaxValue {
		return r.fail(errTooLarge)
	}
	return nil
}

func (r *resolver) fail(err error) error { return &Error{Path: r.at.Path(), Err: err} }

// mark notes what is to be known of the path from one of its parts.
func (r *resolver) mark(v Value) {
	if v.Unknown {
		if r.unknown == nil {
			r.unknown = map[tree.Path]bool{}
		}
		r.unknown[r.at.Path()] = true
	}
	if v.Secret {
		if r.secret == nil {
			r.secret = map[tree.Path]bool{}
		}
		r.secret[r.at.Path()] = true
	}
}

// value resolves what stands in a template.
func (r *resolver) value(v any) (any, error) {
	switch x := v.(type) {
	case *Expr:
		return r.whole(x)
	case text:
		return r.text(x)
	case list:
		return r.list(x)
	case entries:
		return r.entries(x)
	}
	return v, nil
}

func (r *resolver) list(l list) (any, error) {
	out := make([]any, 0, len(l))
	for i, e := range l {
		if spread, ok := e.(*Expr); ok && spread.Ref.Spread {
			elements, err := r.spread(spread, i)
			if err != nil {
				return nil, err
			}
			out = append(out, elements...)
			continue
		}
		r.at.Element(len(out))
		x, err := r.value(e)
		if err != nil {
			return nil, err
		}
		r.at.Leave()
		out = append(out, x)
	}
	return out, nil
}

// spread are the elements in the place of element i of a list; while they are unknown, their token.
func (r *resolver) spread(e *Expr, i int) ([]any, error) {
	fail := func(err error) ([]any, error) {
		r.at.Element(i)
		return nil, r.fail(err)
	}
	val, err := r.expr(e)
	if err != nil {
		return fail(err)
	}
	r.mark(val)
	elements, ok := val.Any.([]any)
	switch {
	case val.Unknown:
		return []any{Part{Expr: e}.plain()}, nil
	case !ok:
		return fail(fmt.Errorf("%s: want a list, have %s", e.show(), kindOf(val.Any)))
	}
	return elements, r.hold(elements)
}

func (r *resolver) entries(all entries) (any, error) {
	out := make(map[string]any, len(all))
	for _, e := range all {
		key := e.key
		if e.parts != nil {
			pieces, val, err := r.pieces(e.parts)
			if err != nil {
				return nil, r.fail(err)
			}
			r.mark(val)
			key = joined(pieces)
		}
		if _, twice := out[key]; twice {
			return nil, r.fail(fmt.Errorf("two keys become equal, one of them %s", Show(e.key)))
		}
		if r.at.AtRoot() {
			r.size = 0 // each entry of the whole is a value of its own
		}
		r.at.Enter(key)
		x, err := r.value(e.value)
		if err != nil {
			return nil, err
		}
		r.at.Leave()
		out[key] = x
	}
	return out, nil
}

// whole is the value of a string that is one token.
func (r *resolver) whole(e *Expr) (any, error) {
	if e.Ref.Spread {
		return nil, r.fail(fmt.Errorf("%s is a list: pass it whole, not one element of it", e.show()))
	}
	val, err := r.expr(e)
	if err != nil {
		return nil, r.fail(err)
	}
	r.mark(val)
	if val.Unknown && val.Any == nil {
		return Part{Expr: e}.plain(), nil
	}
	return val.Any, r.hold(val.Any)
}

func (r *resolver) text(parts text) (any, error) {
	pieces, all, err := r.pieces(parts)
	if err == nil {
		err = sameDocument(pieces)
	}
	if err == nil {
		err = sameURL(pieces)
	}
	if err != nil {
		return nil, r.fail(err)
	}
	r.mark(all)
	whole := joined(pieces)
	return whole, r.hold(whole)
}

// piece is a part of a string with what is known of it.
type piece struct {
	Part
	Value
	// text stands in the string: the literal, the printed value, or the token while it is unknown.
	text string
}

// joined is the text of pieces that stand one after the other.
func joined(pieces []piece) string {
	size := 0
	for _, p := range pieces {
		size += len(p.text)
	}
	var b strings.Builder
	b.Grow(size)
	for _, p := range pieces {
		b.WriteString(p.text)
	}
	return b.String()
}

// pieces resolves parts that stand in one text, and tells what all of them together are.
func (r *resolver) pieces(parts []Part) ([]piece, Value, error) {
	var all Value
	pieces, size := make([]piece, len(parts)), 0
	for i, p := range parts {
		pieces[i] = piece{Part: p, text: p.Text}
		if p.Expr == nil {
			continue
		}
		if p.Expr.Ref.Spread {
			return nil, all, fmt.Errorf("%s is a list and cannot stand in text", p.Expr.show())
		}
		val, err := r.expr(p.Expr)
		if err != nil {
			return nil, all, err
		}
		pieces[i].Value = val
		all.Unknown = all.Unknown || val.Unknown
		all.Secret = all.Secret || val.Secret
		if val.Unknown && val.Any == nil {
			pieces[i].text = p.plain()
			continue
		}
		if pieces[i].text, err = textOf(val.Any); err != nil {
			return nil, all, fmt.Errorf("%s %w", p.Expr.show(), err)
		}
		if size += len(pieces[i].text); size > tree.MaxValue {
			return nil, all, errTooLarge
		}
	}
	return pieces, all, nil
}

// expr is the value of one token. The text of JSON and URLs is given even while parts of it are unknown.
func (r *resolver) expr(e *Expr) (Value, error) {
	switch e.Op {
	case OpJSON:
		inner, val, err := r.inside(e.Input)
		if err != nil {
			return Value{}, fmt.Errorf("in s.JSON: %w", err)
		}
		val.Any = string(tree.Canonical(inner))
		return val, nil
	case OpURL:
		val, err := r.url(e)
		if err != nil {
			return Value{}, fmt.Errorf("in s.URL: %w", err)
		}
		return val, nil
	case OpThen:
		inner, val, err := r.inside(e.Input)
		if err != nil || val.Unknown {
			return val, err
		}
		asked := *e
		asked.Input = inner
		out, err := r.ask(asked)
		out.Secret = out.Secret || val.Secret
		return out, err
	}
	return r.ask(*e)
}

// ask looks a value up, and makes sure that it is a tree.
func (r *resolver) ask(e Expr) (Value, error) {
	val, err := r.lookup(e)
	if err != nil {
		return Value{}, fmt.Errorf("%s: %w", e.show(), err)
	}
	if val.Unknown {
		val.Any = nil
		return val, nil
	}
	switch val.Any.(type) {
	case nil, string, bool, int64, float64, []any, map[string]any:
		return val, nil
	}
	if val.Any, err = tree.Of(val.Any); err != nil {
		return Value{}, fmt.Errorf("%s: %w", e.show(), err)
	}
	return val, nil
}

// inside resolves a tree within a token, and tells what all of it together is.
func (r *resolver) inside(v any) (any, Value, error) {
	in, err := Resolve(v, r.lookup)
	return in.Tree, Value{Unknown: len(in.Unknown) > 0, Secret: len(in.Secret) > 0}, err
}

// url resolves the arguments of a URL and escapes each for its place.
func (r *resolver) url(e *Expr) (Value, error) {
	texts, slots, err := urlSlots(e.Format)
	if err != nil {
		return Value{}, err
	}
	var all Value
	values := make([]string, len(slots))
	for i, a := range e.Args {
		if m, ok := a.(map[string]any); ok {
			name, err := r.arg(slotUser, m[userKey], &all)
			if err != nil {
				return Value{}, err
			}
			password, err := r.arg(slotPassword, m[passwordKey], &all)
			if err != nil {
				return Value{}, err
			}
			values[i] = name + ":" + password
			continue
		}
		if values[i], err = r.arg(slots[i], a, &all); err != nil {
			return Value{}, err
		}
	}
	all.Any = join(texts, values)
	return all, nil
}

// arg is one argument as it stands in its slot; what is known of it is added to all.
func (r *resolver) arg(s slot, v any, all *Value) (string, error) {
	text, err := textOf(v)
	if err != nil {
		return "", errors.New("an argument " + err.Error())
	}
	parts, err := Scan(text)
	if err != nil {
		return "", err
	}
	pieces, val, err := r.pieces(parts)
	if err != nil {
		return "", err
	}
	all.Unknown, all.Secret = all.Unknown || val.Unknown, all.Secret || val.Secret
	if !val.Unknown {
		return s.fit(joined(pieces))
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.Unknown || s != slotUser && s != slotPassword && s != slotText {
			b.WriteString(p.text)
		} else {
			b.WriteString(percent(p.text))
		}
	}
	return b.String(), nil
}

// textOf prints a value inside text.
func textOf(v any) (string, error) {
	switch x := v.(type) {
	case string:
		return x, nil
	case bool, int64, float64:
		return string(tree.Canonical(x)), nil
	}
	return "", fmt.Errorf("is %s and cannot stand in text", kindOf(v))
}

// kindOf names the type of a tree for people.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	case string:
		return "text"
	case []any:
		return "a list"
	}
	return "a map"
}
