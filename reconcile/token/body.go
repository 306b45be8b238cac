package token

import (
	"encoding/hex"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// parseBody reads the inside of a token. Only the one form that is written is accepted, so that equal
// meanings have equal text.
func parseBody(body string) (*Expr, bool) {
	e, ok := readBody(body)
	if !ok {
		return nil, false
	}
	if e.Op == OpRef && !strings.HasPrefix(body, refBody) {
		return e, true // parseRef takes only one form
	}
	if again, err := bodyOf(*e); err != nil || again != body {
		return nil, false
	}
	return e, true
}

func readBody(body string) (*Expr, bool) {
	op, rest, found := strings.Cut(body, ":")
	if !found {
		r, ok := parseRef(body)
		return &Expr{Op: OpRef, Ref: r}, ok
	}
	switch op + ":" {
	case secretBody:
		return &Expr{Op: OpSecret, Name: rest}, true
	case namedBody:
		name, err := encoding.DecodeString(rest)
		return &Expr{Op: OpSecret, Name: string(name)}, err == nil
	case stackBody:
		return readStack(rest)
	case jsonBody:
		input, err := unpacked(rest)
		return &Expr{Op: OpJSON, Input: input}, err == nil
	case thenBody:
		id, rest, _ := strings.Cut(rest, ":")
		input, err := unpacked(rest)
		return &Expr{Op: OpThen, Name: id, Input: input}, err == nil
	case urlBody:
		v, err := unpacked(rest)
		m, _ := v.(map[string]any)
		format, _ := m["format"].(string)
		args, _ := m["args"].([]any)
		return &Expr{Op: OpURL, Format: format, Args: args}, err == nil
	case refBody:
		v, err := unpacked(rest)
		m, _ := v.(map[string]any)
		address, _ := m["address"].(string)
		path, _ := m["path"].(string)
		spread, _ := m["spread"].(bool)
		return &Expr{Op: OpRef, Ref: Ref{Address: address, Path: tree.Path(path), Spread: spread}}, err == nil
	}
	return nil, false
}

// readStack reads the inside of a token of another stack's output.
func readStack(packed string) (*Expr, bool) {
	v, err := unpacked(packed)
	m, _ := v.(map[string]any)
	e := &Expr{Op: OpStack}
	e.Stack.Name, _ = m["stack"].(string)
	e.Stack.Stage, _ = m["stage"].(string)
	e.Stack.Store, _ = m["store"].(string)
	path, _ := m["output"].(string)
	e.Ref.Path = tree.Path(path)
	e.Ref.Spread, _ = m["spread"].(bool)
	return e, err == nil
}

// parseRef reads address.path and address.path... with neither quotes nor wildcards in the path.
func parseRef(s string) (Ref, bool) {
	s, spread := strings.CutSuffix(s, "...")
	address, rest, ok := cutAddress(s)
	if !ok {
		return Ref{}, false
	}
	if rest == "" {
		return Ref{Address: address, Spread: spread}, true
	}
	rest, ok = strings.CutPrefix(rest, ".")
	if !ok || rest == "" || !isLetter(rest[0]) && rest[0] != '_' || strings.ContainsAny(rest, `"*`) {
		return Ref{}, false
	}
	path, err := tree.ParsePath(rest)
	if err != nil || string(path) != rest {
		return Ref{}, false
	}
	return Ref{Address: address, Path: path, Spread: spread}, true
}

// cutAddress splits s behind the address that it begins with.
func cutAddress(s string) (address, rest string, ok bool) {
	i := 0
	for {
		start := i
		for i < len(s) && (isLetter(s[i]) || i > start && isKeyByte(s[i]) && s[i] != '.') {
			i++
		}
		if i == start {
			return "", "", false
		}
		if i == len(s) || s[i] != '/' {
			break
		}
		i++
	}
	if i == len(s) || s[i] != '[' {
		return s[:i], s[i:], true
	}
	n := strings.IndexByte(s[i:], ']')
	if n < 2 {
		return "", "", false
	}
	for _, c := range []byte(s[i+1 : i+n]) {
		if !isKeyByte(c) {
			return "", "", false
		}
	}
	return s[:i+n+1], s[i+n+1:], true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isKeyByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}

// unshift is the Plain body of the inside of a Shifted token.
func unshift(inside string) (string, bool) {
	digits, ok := strings.CutPrefix(inside, "X")
	if !ok {
		return "", false
	}
	if digits, ok = strings.CutSuffix(digits, "Z"); !ok || strings.ToUpper(digits) != digits {
		return "", false
	}
	body, err := hex.DecodeString(digits)
	return string(body), err == nil
}
