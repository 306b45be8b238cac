package terraform

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/adopt/from/terraform/configuration"
)

// The bounds of what a configuration is searched for.
const (
	deepestExpression = 60
	mostExpressions   = 2_000_000
)

// written is what the configuration next to a state says of the values in it. An expression counts only where its value,
// with the values of the state, is the one that stands there: what the configuration says differently is not deployed.
type written struct {
	*configuration.Configuration
	state  *state
	scopes map[string]*scope
	// values are those of variables of the root module, as they are deployed.
	values map[string]any
	// byAddress are instances by the addresses of their resources.
	byAddress map[string][]*instance
	// of are what the expressions of an instance's attributes are, by the attribute at the top and by their text.
	of map[*instance]map[string]*expressions
	// bare are the variables that are whole attributes, by path.
	bare map[*instance]map[string]string
	// left is how many expressions are still looked at.
	left int
}

// expressions are those of one attribute: what refers to something, as parts by its text, and literal text.
type expressions struct {
	byText   map[string][]any
	literals map[string]bool
}

func newExpressions() *expressions {
	return &expressions{map[string][]any{}, map[string]bool{}}
}

// scope is an instance of a module.
type scope struct {
	module *configuration.Module
	path   string
	key    any
	call   *configuration.Call
	parent *scope
}

// The parts of text, besides literal text.
type (
	// attributePart is an attribute of an instance, with its text.
	attributePart struct {
		of   *instance
		text string
	}
	// variablePart is a variable of the root module.
	variablePart struct{ name, text string }
	// keyPart is the key of the instance.
	keyPart struct{ text string }
)

// context is where an expression stands.
type context struct {
	*scope
	of    *instance
	depth int
}

// newWritten reads the configuration, nil where there is none.
func newWritten(st *state, files configuration.Files) *written {
	if files == nil {
		return nil
	}
	c := configuration.Read(files)
	if c == nil {
		return nil
	}
	w := &written{
		Configuration: c, state: st, scopes: map[string]*scope{}, values: map[string]any{}, byAddress: map[string][]*instance{},
		of: map[*instance]map[string]*expressions{}, bare: map[*instance]map[string]string{}, left: mostExpressions,
	}
	for _, i := range st.instances {
		if i.deposed == "" {
			w.byAddress[i.resource()] = append(w.byAddress[i.resource()], i)
		}
	}
	w.deployedValues()
	for _, i := range st.instances {
		w.read(i)
	}
	return w
}

// scopeOf is the instance of a module that a path means, nil where the configuration has none.
func (w *written) scopeOf(module string) *scope {
	if s, ok := w.scopes[module]; ok {
		return s
	}
	if module == "" {
		w.scopes[""] = &scope{module: w.Root}
		if w.Root == nil {
			w.scopes[""] = nil
		}
		return w.scopes[""]
	}
	steps := moduleSteps(module)
	last := steps[len(steps)-1]
	up := w.scopeOf(strings.TrimSuffix(strings.TrimSuffix(module, "module."+last), "."))
	name, key, _ := strings.Cut(last, "[")
	w.scopes[module] = nil
	if up == nil || up.module.Calls[name] == nil || up.module.Calls[name].Module == nil {
		return nil
	}
	s := &scope{module: up.module.Calls[name].Module, path: module, call: up.module.Calls[name], parent: up}
	key = strings.TrimSuffix(key, "]")
	if text, err := strconv.Unquote(key); err == nil {
		s.key = text
	} else if key != "" {
		s.key = json.Number(key)
	}
	w.scopes[module] = s
	return s
}

// resource is what the configuration says of an instance, nil where it says nothing.
func (w *written) resource(i *instance) (*configuration.Resource, *scope) {
	if w == nil {
		return nil, nil
	}
	s := w.scopeOf(i.module)
	if s == nil {
		return nil, nil
	}
	address := i.typ + "." + i.name
	if i.data {
		address = "data." + address
	}
	return s.module.Resources[address], s
}

// deployedValues finds the values of the variables: what an attribute has that is a variable alone, else what the files say.
func (w *written) deployedValues() {
	for name, v := range w.Root.Variables {
		if v.Default != nil {
			w.values[name] = v.Default
		}
	}
	for name, v := range w.Values {
		if w.Root.Variables[name] != nil {
			w.values[name] = v
		}
	}
	seen := map[string]map[string]any{}
	for _, i := range w.state.instances {
		r, s := w.resource(i)
		if r == nil || i.void {
			continue
		}
		for name, a := range r.Body.Attributes {
			variable := w.variable(context{scope: s, of: i}, a.Expr)
			if variable == "" {
				continue
			}
			if v := i.attrs[name]; isScalar(v) {
				if seen[variable] == nil {
					seen[variable] = map[string]any{}
				}
				seen[variable][textOf(v)] = v
			}
		}
	}
	for name, values := range seen {
		for _, v := range values {
			if len(values) == 1 {
				w.values[name] = v
			}
		}
	}
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, json.Number, bool:
		return true
	}
	return false
}

// variable is the variable of the root module that an expression is, "" where it is none.
func (w *written) variable(c context, e hclsyntax.Expression) string {
	for range deepestExpression {
		t, ok := e.(*hclsyntax.ScopeTraversalExpr)
		if !ok {
			return ""
		}
		steps, ok := w.steps(c, t)
		if !ok || len(steps) != 2 {
			return ""
		}
		switch {
		case steps[0].name == "local":
			e = c.module.Locals[steps[1].name]
		case steps[0].name == "var" && c.parent == nil && c.module.Variables[steps[1].name] != nil:
			return steps[1].name
		case steps[0].name == "var" && c.parent != nil:
			e = c.call.Arguments[steps[1].name]
			c.scope = c.parent
		default:
			return ""
		}
		if e == nil {
			return ""
		}
	}
	return ""
}

// skipped are the attributes and blocks of a resource that are no part of its object.
var skipped = map[string]bool{
	"for_each": true, "count": true, "depends_on": true, "provider": true, "lifecycle": true, "connection": true, "provisioner": true,
}

// read finds the expressions of an instance.
func (w *written) read(i *instance) {
	r, s := w.resource(i)
	if r == nil || i.data {
		return
	}
	w.of[i], w.bare[i] = map[string]*expressions{}, map[string]string{}
	w.body(context{scope: s, of: i}, r.Body, "", "")
}

// body reads a body, which is at a path of blocks.
func (w *written) body(c context, body *hclsyntax.Body, top, at string) {
	if c.depth++; c.depth > deepestExpression {
		return
	}
	for name, a := range body.Attributes {
		if at == "" && skipped[name] {
			continue
		}
		into := top
		if into == "" {
			into = name
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		if variable := w.variable(c, a.Expr); variable != "" {
			w.bare[c.of][path] = variable
		}
		w.walk(c, w.expressionsOf(c.of, into), a.Expr)
	}
	for _, b := range body.Blocks {
		name := b.Type
		if at == "" && skipped[name] {
			continue
		}
		if name == "dynamic" && len(b.Labels) == 1 {
			name = b.Labels[0]
		}
		w.body(c, b.Body, cmpOr(top, name), strings.TrimPrefix(at+"."+name, "."))
	}
}

func (w *written) expressionsOf(i *instance, attr string) *expressions {
	if w.of[i][attr] == nil {
		w.of[i][attr] = newExpressions()
	}
	return w.of[i][attr]
}

// walk notes what an expression, and what is in it, says.
func (w *written) walk(c context, into *expressions, e hclsyntax.Expression) {
	if c.depth++; c.depth > deepestExpression || w.left <= 0 || e == nil {
		return
	}
	w.left--
	if parts, ok := w.parts(c, e); ok {
		into.note(parts)
		if len(parts) == 1 {
			if a, ok := parts[0].(attributePart); ok && a.of.data && a.of.typ == "aws_iam_policy_document" {
				w.document(c, into, a.of)
			}
		}
		return
	}
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		w.walk(c, into, e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		w.walk(c, into, e.Wrapped)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			w.walk(c, into, item.ValueExpr)
		}
	case *hclsyntax.TupleConsExpr:
		for _, item := range e.Exprs {
			w.walk(c, into, item)
		}
	case *hclsyntax.FunctionCallExpr:
		for _, arg := range e.Args {
			w.walk(c, into, arg)
		}
	case *hclsyntax.ConditionalExpr:
		w.walk(c, into, e.TrueResult)
		w.walk(c, into, e.FalseResult)
	case *hclsyntax.TemplateExpr:
		for _, part := range e.Parts {
			w.walk(c, into, part)
		}
	case *hclsyntax.SplatExpr:
		if r, ok := e.Each.(*hclsyntax.RelativeTraversalExpr); ok {
			w.all(c, into, e.Source, r.Traversal)
		}
	case *hclsyntax.ForExpr:
		if r, ok := e.ValExpr.(*hclsyntax.ScopeTraversalExpr); ok && r.Traversal.RootName() == e.ValVar {
			w.all(c, into, e.CollExpr, r.Traversal[1:])
		}
	default:
		if steps, ok := w.steps(c, e); ok {
			w.follow(c, steps, func(c context, e hclsyntax.Expression) bool {
				w.walk(c, into, e)
				return true
			})
		}
	}
}

// document walks the data source that makes a policy: it has no object, and what it refers to has.
func (w *written) document(c context, into *expressions, data *instance) {
	r, s := w.resource(data)
	if r == nil {
		return
	}
	var body func(c context, b *hclsyntax.Body)
	body = func(c context, b *hclsyntax.Body) {
		if c.depth++; c.depth > deepestExpression {
			return
		}
		for _, a := range b.Attributes {
			w.walk(c, into, a.Expr)
		}
		for _, inner := range b.Blocks {
			body(c, inner.Body)
		}
	}
	body(context{scope: s, of: data, depth: c.depth}, r.Body)
}

// all notes an attribute of all instances of a resource.
func (w *written) all(c context, into *expressions, source hclsyntax.Expression, attribute hcl.Traversal) {
	steps, ok := w.steps(c, source)
	rest, ok2 := traversed(attribute)
	if !ok || !ok2 || len(steps) < 2 {
		return
	}
	address, left := resourceAt(c.path, steps)
	if address == "" || len(left) > 0 {
		return
	}
	for _, i := range w.byAddress[address] {
		if text := textOf(valueAt(i.attrs, pathOf(rest))); text != "" {
			into.note([]any{attributePart{i, text}})
		}
	}
}

// note keeps parts by their text, where they say more than it.
func (x *expressions) note(parts []any) {
	text, symbolic := "", false
	for _, p := range parts {
		text += partText(p)
		_, literal := p.(string)
		symbolic = symbolic || !literal
	}
	if _, ok := x.byText[text]; !ok && symbolic && text != "" {
		x.byText[text] = parts
	}
	if !symbolic {
		x.literals[text] = true
	}
}

func partText(p any) string {
	switch p := p.(type) {
	case attributePart:
		return p.text
	case variablePart:
		return p.text
	case keyPart:
		return p.text
	case string:
		return p
	}
	return ""
}

// step is a step of a traversal.
type step struct {
	name  string
	index bool
}

func traversed(t hcl.Traversal) ([]step, bool) {
	var all []step
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			all = append(all, step{name: s.Name})
		case hcl.TraverseAttr:
			all = append(all, step{name: s.Name})
		case hcl.TraverseIndex:
			v, ok := configuration.Literal(&hclsyntax.LiteralValueExpr{Val: s.Key})
			if !ok || !isScalar(v) {
				return nil, false
			}
			all = append(all, step{textOf(v), true})
		default:
			return nil, false
		}
	}
	return all, true
}

// traversal is the expression that steps are.
func traversal(steps []step) hclsyntax.Expression {
	all := hcl.Traversal{hcl.TraverseRoot{Name: steps[0].name}}
	for _, s := range steps[1:] {
		if s.index {
			all = append(all, hcl.TraverseIndex{Key: cty.StringVal(s.name)})
		} else {
			all = append(all, hcl.TraverseAttr{Name: s.name})
		}
	}
	return &hclsyntax.ScopeTraversalExpr{Traversal: all}
}

// pathOf is the path of an attribute.
func pathOf(steps []step) string {
	names := make([]string, len(steps))
	for n, s := range steps {
		names[n] = s.name
	}
	return strings.Join(names, ".")
}

// steps are the steps of an expression that is a traversal, its keys as text.
func (w *written) steps(c context, e hclsyntax.Expression) ([]step, bool) {
	if c.depth++; c.depth > deepestExpression {
		return nil, false
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return traversed(e.Traversal)
	case *hclsyntax.ParenthesesExpr:
		return w.steps(c, e.Expression)
	case *hclsyntax.RelativeTraversalExpr:
		before, ok := w.steps(c, e.Source)
		after, ok2 := traversed(e.Traversal)
		return append(before, after...), ok && ok2
	case *hclsyntax.IndexExpr:
		before, ok := w.steps(c, e.Collection)
		key, ok2 := w.parts(c, e.Key)
		var text strings.Builder
		for _, p := range key {
			text.WriteString(partText(p))
		}
		return append(before, step{text.String(), true}), ok && ok2
	}
	return nil, false
}

// parts are the parts of an expression that is text, a number or a truth value.
func (w *written) parts(c context, e hclsyntax.Expression) ([]any, bool) {
	if c.depth++; c.depth > deepestExpression || w.left <= 0 {
		return nil, false
	}
	w.left--
	switch e := e.(type) {
	case *hclsyntax.TemplateWrapExpr:
		return w.parts(c, e.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		return w.parts(c, e.Expression)
	case *hclsyntax.TemplateExpr:
		return w.joined(c, e.Parts, "")
	case *hclsyntax.FunctionCallExpr:
		if e.ExpandFinal {
			return nil, false
		}
		switch {
		case e.Name == "tostring" && len(e.Args) == 1:
			return w.parts(c, e.Args[0])
		case e.Name == "join" && len(e.Args) == 2:
			by, ok := configuration.Literal(e.Args[0])
			list, isList := e.Args[1].(*hclsyntax.TupleConsExpr)
			if text, isText := by.(string); ok && isList && isText {
				return w.joined(c, list.Exprs, text)
			}
		case e.Name == "format" && len(e.Args) > 0:
			return w.formatted(c, e.Args)
		}
		return nil, false
	}
	if v, ok := configuration.Literal(e); ok {
		return []any{textOf(v)}, isScalar(v)
	}
	steps, ok := w.steps(c, e)
	if !ok || len(steps) < 2 {
		return nil, false
	}
	return w.resolve(c, steps)
}

// joined are the parts of several expressions.
func (w *written) joined(c context, all []hclsyntax.Expression, by string) ([]any, bool) {
	var parts []any
	for n, e := range all {
		inner, ok := w.parts(c, e)
		if !ok {
			return nil, false
		}
		if n > 0 && by != "" {
			parts = append(parts, by)
		}
		parts = append(parts, inner...)
	}
	return parts, true
}

// formatted are the parts of a call of format with verbs for text alone.
func (w *written) formatted(c context, args []hclsyntax.Expression) ([]any, bool) {
	v, _ := configuration.Literal(args[0])
	text, ok := v.(string)
	if !ok {
		return nil, false
	}
	var parts []any
	args = args[1:]
	for {
		before, after, found := strings.Cut(text, "%")
		parts = append(parts, before)
		if !found {
			return parts, len(args) == 0
		}
		switch {
		case strings.HasPrefix(after, "%"):
			parts = append(parts, "%")
		case (strings.HasPrefix(after, "s") || strings.HasPrefix(after, "d")) && len(args) > 0:
			inner, ok := w.parts(c, args[0])
			if !ok {
				return nil, false
			}
			parts, args = append(parts, inner...), args[1:]
		default:
			return nil, false
		}
		text = after[1:]
	}
}

// resolve are the parts of a traversal.
func (w *written) resolve(c context, steps []step) ([]any, bool) {
	switch steps[0].name {
	case "each":
		if key, ok := c.of.key.(string); ok && steps[1].name == "key" && len(steps) == 2 {
			return c.keyParts(key), true
		}
	case "count":
		if key, ok := c.of.key.(json.Number); ok && steps[1].name == "index" {
			return c.keyParts(key.String()), true
		}
	case "var":
		if c.parent == nil {
			return w.variableParts(steps)
		}
	case "path", "terraform", "self":
		return nil, false
	}
	if address, left := resourceAt(c.path, steps); address != "" {
		return w.attributeParts(address, left)
	}
	var parts []any
	found := w.follow(c, steps, func(c context, e hclsyntax.Expression) (ok bool) {
		parts, ok = w.parts(c, e)
		return ok
	})
	return parts, found
}

// keyParts are those of a key: of the instance itself, or, as literal text, of a module that it is in.
func (c context) keyParts(key string) []any {
	if c.of.typ == "" || c.of.data {
		return []any{key}
	}
	return []any{keyPart{key}}
}

// variableParts are the parts of a variable of the root module, or of a value in it.
func (w *written) variableParts(steps []step) ([]any, bool) {
	name := steps[1].name
	v, ok := w.values[name]
	if !ok || w.Root.Variables[name] == nil {
		return nil, false
	}
	if len(steps) == 2 {
		return []any{variablePart{name, textOf(v)}}, isScalar(v)
	}
	v = valueAt(v, pathOf(steps[2:]))
	return []any{textOf(v)}, isScalar(v)
}

// resourceAt is the address of the resource that a traversal begins with, "" where it begins with something else.
func resourceAt(module string, steps []step) (address string, left []step) {
	switch steps[0].name {
	case "var", "local", "module", "each", "count", "path", "terraform", "self":
		return "", nil
	case "data":
		if len(steps) < 3 {
			return "", nil
		}
		address, left = "data."+steps[1].name+"."+steps[2].name, steps[3:]
	default:
		address, left = steps[0].name+"."+steps[1].name, steps[2:]
	}
	if module != "" {
		address = module + "." + address
	}
	return address, left
}

// attributeParts are the parts of an attribute of an instance.
func (w *written) attributeParts(address string, left []step) ([]any, bool) {
	all := w.byAddress[address]
	if len(left) > 0 && left[0].index {
		key := left[0].name
		left = left[1:]
		all = slices.DeleteFunc(slices.Clone(all), func(i *instance) bool { return textOf(i.key) != key })
	}
	if len(all) != 1 || len(left) == 0 {
		return nil, false
	}
	v := valueAt(all[0].attrs, pathOf(left))
	if !isScalar(v) || textOf(v) == "" {
		return nil, false
	}
	return []any{attributePart{all[0], textOf(v)}}, true
}

// follow goes to the expression that a traversal of a local, of a variable of a module or of an output of one means.
func (w *written) follow(c context, steps []step, visit func(context, hclsyntax.Expression) bool) bool {
	if c.depth++; c.depth > deepestExpression || len(steps) < 2 {
		return false
	}
	var e hclsyntax.Expression
	rest := steps[2:]
	switch steps[0].name {
	case "local":
		e = c.module.Locals[steps[1].name]
	case "var":
		if c.parent == nil {
			return false
		}
		if e = c.call.Arguments[steps[1].name]; e == nil {
			return false
		}
		c = context{scope: c.parent, of: &instance{module: c.parent.path, key: c.key}, depth: c.depth}
	case "module":
		path := strings.TrimPrefix(c.path+".module."+steps[1].name, ".")
		if len(rest) > 0 && rest[0].index {
			key := strconv.Quote(rest[0].name)
			if _, err := strconv.Atoi(rest[0].name); err == nil && w.scopeOf(path+"["+key+"]") == nil {
				key = rest[0].name
			}
			path, rest = path+"["+key+"]", rest[1:]
		}
		s := w.scopeOf(path)
		if s == nil || len(rest) == 0 {
			return false
		}
		e, rest = s.module.Outputs[rest[0].name], rest[1:]
		c = context{scope: s, of: &instance{module: s.path}, depth: c.depth}
	default:
		return false
	}
	return w.within(c, e, rest, visit)
}

// within goes to what steps mean in an expression.
func (w *written) within(c context, e hclsyntax.Expression, rest []step, visit func(context, hclsyntax.Expression) bool) bool {
	if c.depth++; c.depth > deepestExpression || e == nil {
		return false
	}
	if len(rest) == 0 {
		return visit(c, e)
	}
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return w.within(c, e.Expression, rest, visit)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			if key, ok := configuration.Key(item.KeyExpr); ok && key == rest[0].name {
				return w.within(c, item.ValueExpr, rest[1:], visit)
			}
		}
	case *hclsyntax.TupleConsExpr:
		if n, err := strconv.Atoi(rest[0].name); err == nil && n >= 0 && n < len(e.Exprs) {
			return w.within(c, e.Exprs[n], rest[1:], visit)
		}
	case *hclsyntax.FunctionCallExpr:
		if (e.Name == "tomap" || e.Name == "tolist") && len(e.Args) == 1 {
			return w.within(c, e.Args[0], rest, visit)
		}
	default:
		steps, ok := w.steps(c, e)
		if !ok || len(steps) < 2 {
			return false
		}
		return visit(c, traversal(append(steps, rest...)))
	}
	return false
}
