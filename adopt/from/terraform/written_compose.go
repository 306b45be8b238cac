package terraform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// longestConfig bounds the text of a config.
const longestConfig = 4096

// variableConfig is the config of a variable.
type variableConfig struct {
	name string
	// value is that of the stage which is adopted.
	value any
}

// useConfiguration takes the configuration next to a state. The values of its sensitive variables are secrets.
func (d *draft) useConfiguration(w *written) {
	d.written = w
	if w == nil {
		return
	}
	for name, v := range w.Root.Variables {
		if !v.Sensitive {
			continue
		}
		each(w.values[name], "", func(_, text string) {
			d.values = append(d.values, generated{&instance{typ: "var", name: name}, "value", text, true})
		})
	}
	slices.SortFunc(d.values, func(a, b generated) int {
		return strings.Compare(a.inst.address()+a.path+a.value, b.inst.address()+b.path+b.value)
	})
	d.withholdVariables()
}

// withholdVariables takes the attributes that are sensitive variables for sensitive: states of Terraform before 0.15 do not say it.
func (d *draft) withholdVariables() {
	for _, o := range d.objects {
		known := len(o.inst.sensitive)
		for attr, variable := range d.written.bare[o.inst] {
			if v := d.written.Root.Variables[variable]; v != nil && v.Sensitive && !slices.Contains(o.inst.sensitive, attr) {
				o.inst.sensitive = append(o.inst.sensitive, attr)
			}
		}
		if len(o.inst.sensitive) == known {
			continue
		}
		if d.withhold(o); o.failed != "" {
			d.entry(o.inst, from.Unmapped, o.failed)
		}
	}
	d.dropFailed()
}

// report says what was read of the configuration.
func (w *written) report() []string {
	if w == nil {
		return nil
	}
	all, found := map[string]bool{}, map[string]bool{}
	for _, i := range w.state.instances {
		if i.data {
			continue
		}
		all[i.resource()] = true
		if r, _ := w.resource(i); r != nil {
			found[i.resource()] = true
		}
	}
	lines := []string{fmt.Sprintf("the configuration next to it was read: %d files, with %d of the %d resources", w.Files, len(found), len(all))}
	for _, what := range w.Unread {
		lines = append(lines, "not read: "+what)
	}
	return lines
}

// hasValue reports whether text is the value of a variable.
func (w *written) hasValue(text string) bool {
	if w == nil {
		return false
	}
	for _, v := range w.values {
		if v == any(text) {
			return true
		}
	}
	return false
}

// output are the expressions of an output.
func (w *written) output(name string) *expressions {
	into := newExpressions()
	if w == nil {
		return into
	}
	if root := w.scopeOf(""); root != nil {
		w.walk(context{scope: root, of: &instance{}}, into, root.module.Outputs[name])
	}
	return into
}

// said is what the configuration says that text in a prop is, and whether it says anything.
func (c *composing) said(o *object, takes bool, path []string, text string) ([]any, bool) {
	if c.written == nil || len(path) < 2 {
		return nil, false
	}
	attrs := map[string]bool{}
	for at, of := range o.origins {
		if at == path[1] || strings.HasPrefix(at, path[1]+".") {
			top, _, _ := strings.Cut(of.attr, ".")
			attrs[top] = true
		}
	}
	literal := false
	for n, i := range append([]*instance{o.inst}, o.parts...) {
		all := c.written.of[i]
		for _, attr := range sortedKeys(all) {
			if n == 0 && len(attrs) > 0 && !attrs[attr] {
				continue
			}
			if parts, ok := c.partsOf(o, takes, path[len(path)-1], all[attr].byText[text]); ok {
				return parts, true
			}
			literal = literal || all[attr].literals[text] && all[attr].byText[text] == nil && n == 0 && len(attrs) > 0
		}
	}
	return []any{text}, literal
}

func sortedKeys[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// partsOf are the parts of an expression as references and configs. False: it has none, or one that nothing here has.
func (c *composing) partsOf(o *object, takes bool, prop string, parts []any) ([]any, bool) {
	var all []any
	for _, part := range parts {
		switch p := part.(type) {
		case attributePart:
			if len(c.byResource[p.of.resource()]) == 0 { // such as a random value, which stays
				all = append(all, p.text)
				continue
			}
			k, ok := c.attributeOf(o, prop, p)
			if !ok || !takes {
				return nil, false
			}
			c.refer(o, k.object)
			all = append(all, from.Ref{Address: k.object.address, Attribute: k.attr})
		case variablePart:
			value, isText := c.written.values[p.name].(string)
			if config, ok := c.configOfVariable(p.name, value); ok && isText {
				all = append(all, config)
			} else {
				all = append(all, p.text)
			}
		case keyPart:
			if textOf(o.inst.key) == p.text && keyText(o.inst.key) == p.text {
				all = append(all, from.Each{})
			} else {
				all = append(all, p.text)
			}
		default:
			all = append(all, p)
		}
	}
	return merged(all), len(all) > 0
}

// merged are parts with literal text that stands together in one.
func merged(parts []any) []any {
	var all []any
	for _, part := range parts {
		text, ok := part.(string)
		if last := len(all) - 1; ok && last >= 0 {
			if before, ok := all[last].(string); ok {
				all[last] = before + text
				continue
			}
		}
		if part != any("") {
			all = append(all, part)
		}
	}
	return all
}

// textOfParts is a value of parts: literal text alone is text.
func textOfParts(parts []any) any {
	parts = merged(parts)
	if len(parts) == 1 {
		return parts[0]
	}
	return from.Text{Parts: parts}
}

// attributeOf is the attribute of a resource that an attribute of an instance became.
func (c *composing) attributeOf(o *object, prop string, p attributePart) (known, bool) {
	var best known
	for _, to := range c.byResource[p.of.resource()] {
		if to == o || to.address == "" || c.cut[[2]*object{o, to}] || to.inst != p.of && !slices.Contains(to.parts, p.of) {
			continue
		}
		for _, attr := range sortedKeys(to.known) {
			if to.known[attr] == p.text && c.secrets.hidden(p.text) == p.text && (best.object == nil || preference(attr, best.attr, prop) < 0) {
				best = known{to, attr, p.text}
			}
		}
	}
	return best, best.object != nil && (best.object.inst.data || slices.Contains(c.objects, best.object))
}

// bare is the config of a variable that is the whole attribute which a prop was made of, where the prop is still as it made it.
func (c *composing) bare(o *object, path []string, v any) (any, bool) {
	if c.written == nil || c.inList > 0 || len(path) < 2 {
		return nil, false
	}
	of, ok := o.origins[strings.Join(path[1:], ".")]
	variable := c.written.bare[o.inst][of.attr]
	if !ok || variable == "" || !tree.Equal(of.value, v) || textOf(valueAt(o.inst.attrs, of.attr)) != textOf(c.written.values[variable]) {
		return nil, false
	}
	return c.configOfVariable(variable, v)
}

// configOfVariable is the config of a variable with a value. False: it has another value elsewhere, or one that is no config.
func (c *composing) configOfVariable(variable string, value any) (any, bool) {
	if have, ok := c.variables[variable]; ok {
		return from.Config{Name: have.name}, tree.Equal(have.value, value)
	}
	of := c.written.Root.Variables[variable]
	if of == nil || of.Sensitive || !c.isConfig(variable, value) {
		return nil, false
	}
	name := unique(c.names, variable)
	c.variables[variable] = variableConfig{name, value}
	c.config[name] = value
	more := from.Configured{Description: c.comment(of.Description)}
	if byDefault := likewise(of.Default, value); c.stage != "" && byDefault != nil && byDefault != value &&
		fmt.Sprint(value) == textOf(c.written.values[variable]) && c.isConfig(variable, byDefault) {
		c.config[name], more.Stages = byDefault, map[string]any{c.stage: value}
	}
	if more.Description != "" || more.Stages != nil {
		c.configured[name] = more
	}
	return from.Config{Name: name}, true
}

// likewise is the default of a variable in the type that its value has in the stack, nil where it has none.
func likewise(byDefault, value any) any {
	switch value.(type) {
	case string:
		if text := textOf(byDefault); text != "" {
			return text
		}
	case bool:
		if is, ok := byDefault.(bool); ok {
			return is
		}
	case int64:
		if n, ok := number(byDefault); ok {
			return n
		}
	}
	return nil
}

// isConfig reports whether a value may stand in the stack as a config.
func (c *composing) isConfig(name string, value any) bool {
	switch v := value.(type) {
	case bool, int64:
		return true
	case string:
		_, secret := c.secrets.sealed(v)
		return v != "" && len(v) <= longestConfig && !secret && whySecret(name, v) == "" && !isAwaited(v)
	}
	return false
}

// comments are what stands above a resource and its attributes in the configuration.
func (c *composing) comments(o *object) (above string, props map[string]string) {
	r, _ := c.written.resource(o.inst)
	if r == nil || o.suffix != "" {
		return "", nil
	}
	for at, of := range o.origins {
		top, _, _ := strings.Cut(at, ".")
		attr, _, _ := strings.Cut(of.attr, ".")
		if text := c.comment(r.Comments[attr]); text != "" {
			if props == nil {
				props = map[string]string{}
			}
			props[top] = text
		}
	}
	return c.comment(r.Comment), props
}

// secretComment is a line that says what a secret is.
var secretComment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(pass\w*|secret|token|key|credentials?|pwd)\S*\s*(is|[:=])\s*\S`)
})

// comment is a comment without lines that may hold a secret, and without what changes how text is shown.
func (c *composing) comment(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return ' '
		}, line))
		if line == "" || secretComment().MatchString(line) || c.secrets.hidden(line) != line ||
			slices.ContainsFunc(strings.Fields(line), func(word string) bool { return whySecret("", strings.Trim(word, `"'(),.;`)) != "" }) {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
