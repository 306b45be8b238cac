package token

import (
	"errors"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

var errLater = errors.New("not built yet")

type Spelling int

const (
	Plain Spelling = iota
	Shifted
)

func refText(r Ref) string { return r.Address + "." + string(r.Path) }

func (s Spelling) Ref(r Ref) string                              { return "⟦" + r.String() + "⟧" }
func (s Spelling) Secret(name string) string                     { return "⟦secret:" + name + "⟧" }
func (s Spelling) JSON(template any) (string, error)             { return "", errLater }
func (s Spelling) URL(format string, args []any) (string, error) { return "", errLater }
func (s Spelling) Then(id string, input any) (string, error)     { return "", errLater }
func (s Spelling) Expr(e Expr) (string, error)                   { return "", errLater }
func Has(s string) bool                                          { return strings.Contains(s, "⟦") }
func Scan(s string) ([]Part, error)                              { return nil, errLater }
func Canonical(v any) (any, error)                               { return v, nil }
func Refs(v any) ([]Use, error)                                  { return nil, errLater }
func Secrets(v any) []string                                     { return nil }
func Resolve(v any, lookup Lookup) (Resolved, error)             { return Resolved{Tree: v}, nil }
func Show(s string) string                                       { return s }

var _ tree.Path
