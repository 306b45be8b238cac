package token

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Spelling is a way to write tokens. All spellings mean the same.
type Spelling int

const (
	// Plain is the canonical spelling: ⟦orders.arn⟧.
	Plain Spelling = iota
	// Shifted has another length, case and first byte, so that a program that looks at the letters of a token
	// gives another tree than with Plain.
	Shifted
)

// The brackets of both spellings are printable, so that quoting leaves them alone, are changed by no HTML,
// JSON or path cleaning, and are rare in text. The first bytes differ.
const (
	plainOpen, plainClose     = "\u27e6", "\u27e7"
	shiftedOpen, shiftedClose = "\ufe5d", "\ufe5e"
)

// bodies names the forms of a token's inside; what has none of these beginnings is a reference.
const (
	refBody    = "ref:"
	secretBody = "secret:"
	namedBody  = "secret64:"
	jsonBody   = "json:"
	stackBody  = "stack:"
	urlBody    = "url:"
	thenBody   = "then:"
)

var encoding = base64.RawURLEncoding.Strict()

// Ref is the token of a reference.
func (s Spelling) Ref(r Ref) string { return s.write(refBodyOf(r)) }

// Secret is the token of a secret.
func (s Spelling) Secret(name string) string { return s.write(secretBodyOf(name)) }

// JSON is the token of the canonical JSON text of template, a tree whose strings may hold tokens. The values
// are escaped as JSON needs it, and keep their types.
func (s Spelling) JSON(template any) (string, error) {
	return s.Expr(Expr{Op: OpJSON, Input: template})
}

// URL is the token of a URL. Each %s in format takes one argument, escaped for the part of the URL that it
// stands in; %% is a percent sign, and escapes such as %20 stay. Arguments are text (maybe with tokens),
// whole numbers, bools, or a [User] before the @. A format that begins with %s takes a URL there. Hosts and
// ports are not escaped: a value that is none is an error when it is known.
func (s Spelling) URL(format string, args []any) (string, error) {
	return s.Expr(Expr{Op: OpURL, Format: format, Args: args})
}

// Then is the token of what the program's function id makes of input, a tree whose strings may hold tokens.
func (s Spelling) Then(id string, input any) (string, error) {
	return s.Expr(Expr{Op: OpThen, Name: id, Input: input})
}

// Output is the token of an output of another stack; path begins with its name.
func (s Spelling) Output(from Stack, path tree.Path, spread bool) string {
	return s.write(stackBodyOf(Expr{Op: OpStack, Stack: from, Ref: Ref{Path: path, Spread: spread}}))
}

// Expr is the token of any expression.
func (s Spelling) Expr(e Expr) (string, error) {
	body, err := bodyOf(e)
	if err != nil {
		return "", err
	}
	return s.write(body), nil
}

func (s Spelling) write(body string) string {
	if s == Plain {
		return plainOpen + body + plainClose
	}
	return shiftedOpen + "X" + strings.ToUpper(hex.EncodeToString([]byte(body))) + "Z" + shiftedClose
}

func bodyOf(e Expr) (string, error) {
	switch e.Op {
	case OpRef:
		return refBodyOf(e.Ref), nil
	case OpSecret:
		return secretBodyOf(e.Name), nil
	case OpStack:
		return stackBodyOf(e), nil
	case OpJSON:
		input, err := packed(e.Input)
		return jsonBody + input, err
	case OpThen:
		if !isName(e.Name) {
			return "", errors.New("the id of a function holds something else than letters, digits, dots, dashes and underscores")
		}
		input, err := packed(e.Input)
		return thenBody + e.Name + ":" + input, err
	case OpURL:
		args, err := urlArgs(e)
		if err != nil {
			return "", err
		}
		input, err := packed(map[string]any{"format": e.Format, "args": args})
		return urlBody + input, err
	}
	return "", errors.New("an expression without meaning")
}

// packed is the encoded canonical form of a tree, its tokens spelt Plain.
func packed(v any) (string, error) {
	v, err := tree.Of(v)
	if err != nil {
		return "", err
	}
	if v, err = Canonical(v); err != nil {
		return "", err
	}
	return encoding.EncodeToString(tree.Canonical(v)), nil
}

func unpacked(s string) (any, error) {
	data, err := encoding.DecodeString(s)
	if err != nil {
		return nil, err
	}
	return tree.Decode(data)
}

func refBodyOf(r Ref) string {
	body := refText(r)
	if back, ok := parseRef(body); ok && back == r {
		return body
	}
	whole := tree.Canonical(map[string]any{"address": r.Address, "path": string(r.Path), "spread": r.Spread})
	return refBody + encoding.EncodeToString(whole)
}

func stackBodyOf(e Expr) string {
	whole := map[string]any{"stack": e.Stack.Name, "stage": e.Stack.Stage, "output": string(e.Ref.Path)}
	if e.Stack.Store != "" {
		whole["store"] = e.Stack.Store
	}
	if e.Ref.Spread {
		whole["spread"] = true
	}
	return stackBody + encoding.EncodeToString(tree.Canonical(whole))
}

func secretBodyOf(name string) string {
	if isName(name) {
		return secretBody + name
	}
	return namedBody + encoding.EncodeToString([]byte(name))
}

func refText(r Ref) string {
	s := r.Address
	if r.Path != "" && r.Path[0] != '[' {
		s += "."
	}
	s += string(r.Path)
	if r.Spread {
		s += "..."
	}
	return s
}

// isName reports text that may stand in a token as it is.
func isName(s string) bool {
	return s != "" && isLetter(s[0]) && strings.IndexFunc(s, func(r rune) bool { return r > 0x7f || !isKeyByte(byte(r)) }) < 0
}
