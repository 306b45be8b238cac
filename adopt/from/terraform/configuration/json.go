package configuration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// labels are how many names the blocks of a type have that are read.
var labels = map[string]int{"resource": 2, "data": 2, "variable": 1, "output": 1, "module": 1, "locals": 0}

// parseJSON reads a file in the form of JSON, as CDK for Terraform and generators write it, as if it were written in HCL: nil where it is
// none. Blocks in resources are attributes, since nothing here tells them apart.
// https://developer.hashicorp.com/terraform/language/syntax/json
func (r *reader) parseJSON(name string, content []byte) *file {
	if r.left -= len(content); len(content) > mostOfFile || r.left < 0 {
		r.unread(name, "it is too large")
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		r.unread(name, "it is no JSON")
		return nil
	}
	j := &jsonFile{comments: map[int]string{}}
	body := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}}
	for _, typ := range slices.Sorted(maps.Keys(doc)) {
		if n, ok := labels[typ]; ok {
			j.blocks(body, typ, nil, n, doc[typ])
		}
	}
	if j.why == "" && strings.HasSuffix(name, ".tfvars.json") {
		body = j.body(doc)
	}
	if j.why != "" {
		r.unread(name, j.why)
		return nil
	}
	return &file{body, j.comments}
}

// jsonFile is a file under way.
type jsonFile struct {
	comments map[int]string // by lines, which are counted by block
	line     int
	why      string // why it is not read
}

// blocks are those of a type: objects by their names, and lists of such.
func (j *jsonFile) blocks(into *hclsyntax.Body, typ string, names []string, left int, v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if _, isList := x.([]any); !isList {
				j.blocks(into, typ, names, left, x)
			}
		}
	case map[string]any:
		if left > 0 {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if name != "//" {
					j.blocks(into, typ, append(slices.Clone(names), name), left-1, v[name])
				}
			}
			return
		}
		j.line++
		if text, ok := v["//"].(string); ok {
			j.comments[j.line] = strings.Join(cleaned("/*"+strings.ReplaceAll(text, "*/", "")+"*/"), "\n")
		}
		at := hcl.Range{Start: hcl.Pos{Line: j.line}}
		into.Blocks = append(into.Blocks, &hclsyntax.Block{Type: typ, Labels: names, Body: j.body(v), TypeRange: at})
	}
}

// body are the attributes of a block.
func (j *jsonFile) body(m map[string]any) *hclsyntax.Body {
	b := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if name != "//" {
			b.Attributes[name] = &hclsyntax.Attribute{Name: name, Expr: j.expression(m[name], 0)}
		}
	}
	return b
}

// expression is a value, whose texts are templates.
func (j *jsonFile) expression(v any, depth int) hclsyntax.Expression {
	if depth > deepest {
		j.why = fmt.Sprintf("it nests deeper than %d", deepest)
		return &hclsyntax.LiteralValueExpr{Val: cty.NullVal(cty.DynamicPseudoType)}
	}
	switch v := v.(type) {
	case string:
		return j.template(v)
	case bool:
		return &hclsyntax.LiteralValueExpr{Val: cty.BoolVal(v)}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return &hclsyntax.LiteralValueExpr{Val: cty.NumberIntVal(n)}
		}
		if n, err := v.Float64(); err == nil && !math.IsInf(n, 0) {
			return &hclsyntax.LiteralValueExpr{Val: cty.NumberFloatVal(n)}
		}
	case []any:
		list := &hclsyntax.TupleConsExpr{}
		for _, x := range v {
			list.Exprs = append(list.Exprs, j.expression(x, depth+1))
		}
		return list
	case map[string]any:
		object := &hclsyntax.ObjectConsExpr{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key := &hclsyntax.ObjectConsKeyExpr{Wrapped: &hclsyntax.LiteralValueExpr{Val: cty.StringVal(name)}}
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: j.expression(v[name], depth+1)})
		}
		return object
	}
	return &hclsyntax.LiteralValueExpr{Val: cty.NullVal(cty.DynamicPseudoType)}
}

// template is text with what stands in it between ${ and }, or literal text where that is not valid.
func (j *jsonFile) template(text string) hclsyntax.Expression {
	if strings.Contains(text, "${") || strings.Contains(text, "%{") {
		tokens, diagnostics := hclsyntax.LexTemplate([]byte(text), "", hcl.InitialPos)
		if why := excessive(tokens); why != "" {
			j.why = why
		} else if !diagnostics.HasErrors() {
			e, diagnostics := hclsyntax.ParseTemplate([]byte(text), "", hcl.InitialPos)
			if whole, ok := e.(*hclsyntax.TemplateWrapExpr); ok {
				e = whole.Wrapped
			}
			if !diagnostics.HasErrors() {
				return e
			}
		}
	}
	return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(text)}
}
