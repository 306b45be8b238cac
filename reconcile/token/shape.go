package token

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// sameDocument checks that text which is a JSON object or list with tokens in it is the same one with the
// values in it.
func sameDocument(pieces []piece) error {
	if lead := strings.TrimLeft(pieces[0].text, " \t\r\n"); pieces[0].Expr != nil || lead == "" || lead[0] != '{' && lead[0] != '[' {
		return nil
	}
	if !slices.ContainsFunc(pieces, func(p piece) bool { return p.Expr == nil && strings.Contains(p.text, `"`) }) {
		return nil // a word in brackets, not a document
	}
	var probe strings.Builder
	quoted := make([]bool, len(pieces))
	in, known := false, true
	for i, p := range pieces {
		switch {
		case p.Expr == nil:
			in = quotedAfter(p.text, in)
			probe.WriteString(p.text)
		case in:
			quoted[i] = true
			probe.WriteString(p.plain())
		default:
			probe.WriteByte('0')
		}
		known = known && !p.Unknown
	}
	if _, err := tree.Decode([]byte(probe.String())); err != nil {
		return nil
	}
	for i, p := range pieces {
		if p.Expr != nil && !p.Unknown && !p.keepsJSON(quoted[i]) {
			return fmt.Errorf("the value of %s would change the JSON around it; use s.JSON, which escapes it", p.Expr.show())
		}
	}
	if !known {
		return nil
	}
	if _, err := tree.Decode([]byte(joined(pieces))); err != nil {
		return errors.New("with its values it is no JSON, or has a key twice; use s.JSON")
	}
	return nil
}

// keepsJSON reports whether the value stays one string, or part of one, or one number where it stands.
func (p piece) keepsJSON(quoted bool) bool {
	if quoted {
		return strings.IndexFunc(p.text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) < 0
	}
	switch p.Any.(type) {
	case int64, float64, bool:
		return true
	}
	return p.Expr.Op == OpJSON
}

// quotedAfter follows JSON text and reports whether its end lies within a string.
func quotedAfter(text string, in bool) bool {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			in = !in
		case text[i] == '\\' && in:
			i++
		}
	}
	return in
}

// sameURL checks that text which is an absolute URL with tokens in it has the same parts with the values in
// them, as a reader of the URL decodes them.
func sameURL(pieces []piece) error {
	if pieces[0].Expr != nil || !hasScheme(pieces[0].text) {
		return nil
	}
	var texts, values []string
	for _, p := range pieces {
		if p.Expr == nil {
			texts = append(texts, p.text)
			continue
		}
		for len(texts) <= len(values) {
			texts = append(texts, "")
		}
		values = append(values, p.text)
	}
	marks := stands(slices.Concat(texts, values), len(values))
	shape, err := url.Parse(join(pad(texts, len(values)), marks))
	if err != nil {
		return nil
	}
	tokens := tokensOf(pieces)
	filled := make([]string, len(values))
	for i, v := range values {
		if filled[i] = v; tokens[i].Unknown {
			filled[i] = marks[i]
		}
	}
	final, err := url.Parse(join(pad(texts, len(values)), filled))
	if err != nil {
		return errors.New("with its values it is no URL; use s.URL, which escapes them")
	}
	want, back := urlParts(shape), strings.NewReplacer(pairs(marks, filled)...)
	for i := range want {
		want[i] = back.Replace(want[i])
	}
	if !slices.Equal(want, urlParts(final)) {
		return errors.New("a value would change the parts of the URL around it; use s.URL, which escapes it")
	}
	return nil
}

func tokensOf(pieces []piece) []piece {
	var tokens []piece
	for _, p := range pieces {
		if p.Expr != nil {
			tokens = append(tokens, p)
		}
	}
	return tokens
}

// pad adds empty texts so that there is one on both sides of every value.
func pad(texts []string, values int) []string {
	for len(texts) <= values {
		texts = append(texts, "")
	}
	return texts
}

func pairs(marks, values []string) []string {
	list := make([]string, 0, 2*len(marks))
	for i, m := range marks {
		list = append(list, m, values[i])
	}
	return list
}

// urlParts are the parts of a URL in decoded form, in order. A query that does not decode counts as it is.
func urlParts(u *url.URL) []string {
	password, set := u.User.Password()
	parts := []string{u.Scheme, u.User.Username(), fmt.Sprint(u.User != nil, set), password, u.Host, u.Opaque, u.Path, u.Fragment}
	// Some readers of queries take a semicolon for an ampersand.
	for pair := range strings.SplitSeq(strings.ReplaceAll(u.RawQuery, ";", "&"), "&") {
		key, value, has := strings.Cut(pair, "=")
		for _, raw := range []string{key, value} {
			text, err := url.QueryUnescape(raw)
			if err != nil {
				text = raw
			}
			parts = append(parts, text)
		}
		parts = append(parts, fmt.Sprint(has))
	}
	return parts
}

// hasScheme reports text that begins as an absolute URL does.
func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || !isLetter(scheme[0]) {
		return false
	}
	return strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.") == ""
}
