package configuration

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Literal is the value of an expression that refers to nothing and calls nothing: text, json.Number, bool, list and map.
func Literal(e hclsyntax.Expression) (any, bool) {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return scalar(e.Val)
	case *hclsyntax.ParenthesesExpr:
		return Literal(e.Expression)
	case *hclsyntax.TemplateExpr:
		var b strings.Builder
		for _, part := range e.Parts {
			text, ok := Literal(part)
			if !ok {
				return nil, false
			}
			s, ok := text.(string)
			if !ok {
				return nil, false
			}
			b.WriteString(s)
		}
		return b.String(), true
	case *hclsyntax.UnaryOpExpr:
		v, ok := Literal(e.Val)
		n, isNumber := v.(json.Number)
		if !ok || !isNumber || e.Op != hclsyntax.OpNegate {
			return nil, false
		}
		return json.Number("-" + n.String()), true
	case *hclsyntax.TupleConsExpr:
		all := []any{}
		for _, item := range e.Exprs {
			v, ok := Literal(item)
			if !ok {
				return nil, false
			}
			all = append(all, v)
		}
		return all, true
	case *hclsyntax.ObjectConsExpr:
		all := map[string]any{}
		for _, item := range e.Items {
			key, ok := Key(item.KeyExpr)
			v, ok2 := Literal(item.ValueExpr)
			if !ok || !ok2 {
				return nil, false
			}
			all[key] = v
		}
		return all, true
	}
	return nil, false
}

// Key is the key of an item of an object, where it is a word or literal text.
func Key(e hclsyntax.Expression) (string, bool) {
	if key, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if t, ok := key.Wrapped.(*hclsyntax.ScopeTraversalExpr); ok && !key.ForceNonLiteral && len(t.Traversal) == 1 {
			return t.Traversal.RootName(), true
		}
		e = key.Wrapped
	}
	switch v, _ := Literal(e); v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// scalar is a value of text, a number or a truth value. Numbers that are neither whole nor near a float64 are none: their
// digits can be without end.
func scalar(v cty.Value) (any, bool) {
	if v.IsNull() {
		return nil, true
	}
	switch v.Type() {
	case cty.String:
		return v.AsString(), true
	case cty.Bool:
		return v.True(), true
	case cty.Number:
		n := v.AsBigFloat()
		if whole, accuracy := n.Int64(); accuracy == 0 {
			return json.Number(strconv.FormatInt(whole, 10)), true
		}
		near, _ := n.Float64()
		if text := strconv.FormatFloat(near, 'g', -1, 64); !strings.ContainsAny(text, "IN") {
			return json.Number(text), true
		}
	}
	return nil, false
}
