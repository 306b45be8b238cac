package token

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
	r := &resolver{lookup: lookup}
	t, err := r.value(v, &place{})
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Tree: t, Unknown: r.unknown, Secret: r.secret}, nil
}

type resolver struct {
	lookup          Lookup
	unknown, secret map[tree.Path]bool
}

// mark notes what is to be known of the path from one of its parts.
func (r *resolver) mark(at *place, v Value) {
	if v.Unknown {
		if r.unknown == nil {
			r.unknown = map[tree.Path]bool{}
		}
		r.unknown[at.path()] = true
	}
	if v.Secret {
		if r.secret == nil {
			r.secret = map[tree.Path]bool{}
		}
		r.secret[at.path()] = true
	}
}

func (r *resolver) value(v any, at *place) (any, error) {
	switch x := v.(type) {
	case string:
		return r.text(x, v, at)
	case []any:
		return r.list(x, at)
	case map[string]any:
		return r.entries(x, at)
	}
	return v, nil
}

func (r *resolver) list(list []any, at *place) (any, error) {
	out := make([]any, 0, len(list))
	for i, e := range list {
		spread, err := spreadOf(e)
		here := &place{up: at, index: i}
		if err != nil {
			return nil, here.fail(err)
		}
		if spread == nil {
			x, err := r.value(e, &place{up: at, index: len(out)})
			if err != nil {
				return nil, err
			}
			out = append(out, x)
			continue
		}
		val, err := r.expr(spread)
		if err != nil {
			return nil, here.fail(err)
		}
		r.mark(at, val)
		elements, ok := val.Any.([]any)
		switch {
		case val.Unknown:
			out = append(out, Part{Expr: spread}.plain())
		case !ok:
			return nil, here.fail(fmt.Errorf("%s: want a list, have %s", spread.show(), kindOf(val.Any)))
		default:
			out = append(out, elements...)
		}
	}
	return out, nil
}

// spreadOf is the spread token that v is, or nil.
func spreadOf(v any) (*Expr, error) {
	s, ok := v.(string)
	spreads := strings.HasSuffix(s, "..."+plainClose) || strings.HasPrefix(s, plainOpen+refBody) || strings.HasPrefix(s, plainOpen+stackBody) || strings.HasPrefix(s, shiftedOpen)
	if !ok || !spreads {
		return nil, nil // what may be wrong with it is said where it is resolved
	}
	parts, err := Scan(s)
	if err != nil || len(parts) != 1 || !parts[0].Expr.Ref.Spread {
		return nil, err
	}
	return parts[0].Expr, nil
}

func (r *resolver) entries(m map[string]any, at *place) (any, error) {
	out := make(map[string]any, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		key, err := r.key(k, at)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			return nil, at.fail(fmt.Errorf("two keys become equal, one of them %s", Show(k)))
		}
		if out[key], err = r.value(m[k], &place{up: at, key: key, index: -1}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *resolver) key(k string, at *place) (string, error) {
	plain, err := literal(k)
	if err != nil {
		return "", at.fail(err)
	}
	if plain {
		return k, nil
	}
	parts, err := Scan(k)
	if err != nil {
		return "", at.fail(err)
	}
	pieces, all, err := r.pieces(parts)
	if err != nil {
		return "", at.fail(err)
	}
	r.mark(at, all)
	return joined(pieces), nil
}

// text resolves one string; boxed is the same string, given so that it need not be boxed again.
func (r *resolver) text(s string, boxed any, at *place) (any, error) {
	plain, err := literal(s)
	if err != nil {
		return nil, at.fail(err)
	}
	if plain {
		return boxed, nil
	}
	parts, err := Scan(s)
	if err != nil {
		return nil, at.fail(err)
	}
	if len(parts) == 1 {
		e := parts[0].Expr
		if e.Ref.Spread {
			return nil, at.fail(fmt.Errorf("%s is a list: pass it whole, not one element of it", e.show()))
		}
		val, err := r.expr(e)
		if err != nil {
			return nil, at.fail(err)
		}
		r.mark(at, val)
		if val.Unknown && val.Any == nil {
			return parts[0].plain(), nil
		}
		return val.Any, nil
	}
	pieces, all, err := r.pieces(parts)
	if err == nil {
		err = sameDocument(pieces)
	}
	if err == nil {
		err = sameURL(pieces)
	}
	if err != nil {
		return nil, at.fail(err)
	}
	r.mark(at, all)
	return joined(pieces), nil
}

// piece is a part of a string with what is known of it.
type piece struct {
	Part
	Value
	// text stands in the string: the literal, the printed value, or the token while it is unknown.
	text string
}

func joined(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.text)
	}
	return b.String()
}

// pieces resolves parts that stand in one text, and tells what all of them together are.
func (r *resolver) pieces(parts []Part) ([]piece, Value, error) {
	var all Value
	pieces := make([]piece, len(parts))
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
	in := &resolver{lookup: r.lookup}
	t, err := in.value(v, &place{})
	return t, Value{Unknown: len(in.unknown) > 0, Secret: len(in.secret) > 0}, err
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
