package terraform

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// withhold takes out of an object what is sensitive and does not become a secret, because only text can be one: numbers, truth values, and
// text that becomes anything else. The paths are not compared, so that the object keeps these values. An object that needs one fails.
func (d *draft) withhold(o *object) {
	if len(o.inst.sensitive) == 0 && !slices.ContainsFunc(o.parts, func(i *instance) bool { return len(i.sensitive) > 0 }) && !d.hasSecretValues() {
		return
	}
	for _, at := range slices.Sorted(maps.Keys(o.origins)) {
		of := o.origins[at]
		if slices.ContainsFunc(d.sensitiveLeaves(o.inst, of.attr), func(leaf any) bool { return isExposed(leaf, of.value) }) {
			o.ignore(o.pathOf(at))
		}
	}
	for _, i := range append([]*instance{o.inst}, o.parts...) {
		d.withholdUntold(o, i)
	}
	for at, attr := range o.silent {
		if len(d.sensitiveLeaves(o.inst, attr)) > 0 {
			o.unshown = append(o.unshown, o.pathOf(at))
		}
	}
	slices.Sort(o.unshown)
	d.completed(o)
}

// withholdUntold takes out the sensitive numbers and truth values of an instance that a function made a part of the object, which no origin
// tells: numbers are found by their value, truth values by their name.
func (d *draft) withholdUntold(o *object, i *instance) {
	for _, path := range i.sensitive {
		if i == o.inst && o.isMapped(path) {
			continue
		}
		leavesAt(i.attrs, pathSteps(path), "", func(name string, leaf any) {
			switch leaf.(type) {
			case json.Number, bool:
			default:
				return
			}
			tree.Walk(o.props, func(p tree.Path, v any) bool {
				if isMadeOf(v, leaf) && (leaf != true && leaf != false || sameName(p, name)) {
					o.ignore(o.pathOf(strings.Join(namesIn(p), ".")))
				}
				return true
			})
		})
	}
}

// isMapped reports whether it is known which prop has an attribute.
func (o *object) isMapped(attr string) bool {
	for _, of := range o.origins {
		if within(attr, of.attr) {
			return true
		}
	}
	for _, of := range o.silent {
		if within(attr, of) {
			return true
		}
	}
	return false
}

// sameName reports whether a path ends in the name of an attribute.
func sameName(p tree.Path, attr string) bool {
	names := namesIn(p)
	if len(names) == 0 {
		return false
	}
	last, want := norm(names[len(names)-1]), norm(attr)
	return last == want || strings.HasSuffix(want, last) || strings.HasSuffix(last, want)
}

// namesIn are the names in a path.
func namesIn(p tree.Path) []string {
	var names []string
	for _, s := range p.Steps() {
		if s.Key != "" {
			names = append(names, s.Key)
		}
	}
	return names
}

// isMadeOf reports whether a value of a prop is a number or truth value of a state, or a duration of the number.
func isMadeOf(v, leaf any) bool {
	text := textOf(leaf)
	if made, ok := v.(string); ok {
		n, isInt := number(leaf)
		whole, ok := n.(int64)
		return ok && isInt && slices.Contains([]string{seconds(whole), text + "s", text + "ms", text + "m", text + "d"}, made)
	}
	return fmt.Sprint(v) == text
}

// completed checks an object without what was withheld. Where the kind needs a part of an object, the whole object is withheld.
func (d *draft) completed(o *object) {
	if len(o.ignored) == 0 || o.failed != "" {
		return
	}
	kind := d.factsOf(o.kind).kind
	decode := func() error {
		declared, _ := literal(o.props).(map[string]any)
		return kind.Decode(&reconcile.Job{Address: "a", Props: declared})
	}
	err := decode()
	if err == nil {
		return
	}
	for _, p := range slices.Clone(o.ignored) {
		o.ignore(tree.Path("").Key(p.Steps()[0].Key))
	}
	if err = decode(); err != nil {
		o.failed = "its " + o.withheld() + " is needed and sensitive, and no text: only text can be a secret. Declare it with that value, and adopt " + o.id
	}
}

// pathOf is the path of a prop by the names that lead to it, as far as there are no lists.
func (o *object) pathOf(at string) tree.Path {
	path, v := tree.Path(""), any(o.props)
	for name := range strings.SplitSeq(at, ".") {
		if _, isObject := v.(map[string]any); !isObject && v != nil {
			break
		}
		path = path.Key(name)
		v, _ = tree.Get(o.props, path)
	}
	return path
}

// ignore leaves a path out of what is declared and compared.
func (o *object) ignore(p tree.Path) {
	if slices.ContainsFunc(o.ignored, func(other tree.Path) bool { return p.Within(other) }) {
		return
	}
	o.ignored = slices.DeleteFunc(o.ignored, func(other tree.Path) bool { return other.Within(p) })
	o.ignored = append(o.ignored, p)
	slices.Sort(o.ignored)
	o.props, _ = tree.Without(o.props, p).(map[string]any)
}

// unseen is what was observed of an object without what is withheld.
func (o *object) unseen(have map[string]any) map[string]any {
	for _, p := range o.unshown {
		if _, there := tree.Get(have, p); there {
			o.ignore(p)
		}
	}
	for _, p := range o.ignored {
		have, _ = tree.Without(have, p).(map[string]any)
	}
	if have == nil {
		have = map[string]any{}
	}
	return have
}

// withheld are the paths that are not declared because they are sensitive.
func (o *object) withheld() string {
	var all []string
	for _, p := range o.ignored {
		all = append(all, string(p))
	}
	return strings.Join(all, ", ")
}

// whyWithheld says what is not declared because it is sensitive, "" where there is nothing.
func (o *object) whyWithheld() string {
	if len(o.ignored) == 0 {
		return ""
	}
	return o.withheld() + ": sensitive at its provider, and no text: only text can be a secret. It is not declared, and ignoreChanges leaves it as it " +
		"is: to manage it, declare it and take it out of ignoreChanges"
}

// hasSecretValues reports whether the source has secrets that are no attributes.
func (d *draft) hasSecretValues() bool {
	return len(d.state.secretValues) > 0 || len(d.state.awaited) > 0
}

// sensitiveLeaves are the values at an attribute, or in it, that are sensitive.
func (d *draft) sensitiveLeaves(i *instance, attr string) []any {
	var all []any
	add := func(_ string, leaf any) { all = append(all, leaf) }
	for _, path := range i.sensitive {
		switch {
		case path == "" || within(attr, path):
			leavesAt(i.attrs, pathSteps(attr), "", add)
		case within(path, attr):
			leavesAt(i.attrs, pathSteps(path), "", add)
		}
	}
	if d.hasSecretValues() {
		leavesAt(i.attrs, pathSteps(attr), "", func(name string, leaf any) {
			text, ok := leaf.(string)
			isSecret := func(g generated) bool { return g.secret && g.value == text }
			if ok && text != "" && (d.state.awaited[text].secret != "" || slices.ContainsFunc(d.state.secretValues, isSecret)) {
				add(name, leaf)
			}
		})
	}
	return all
}

// within reports whether a path of attributes is another one, or leads into it. Places in lists do not count.
func within(path, other string) bool {
	p, o := withoutPlaces(path), withoutPlaces(other)
	return len(p) >= len(o) && slices.Equal(p[:len(o)], o)
}

func withoutPlaces(path string) []string {
	return slices.DeleteFunc(pathSteps(path), func(step string) bool { return strings.Trim(step, "0123456789") == "" })
}

// pathSteps are the steps of a path, none for that of everything.
func pathSteps(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// leavesAt visits the values at a path, and those in them, with the last name that leads to each. Without a place the path leads through
// each element of a list.
func leavesAt(v any, steps []string, name string, visit func(name string, leaf any)) {
	switch v := v.(type) {
	case map[string]any:
		if len(steps) > 0 {
			step := shownPath(steps[0])
			leavesAt(v[step], steps[1:], step, visit)
			return
		}
		for key, x := range v {
			leavesAt(x, nil, key, visit)
		}
	case []any:
		for n, x := range v {
			switch {
			case len(steps) == 0 || strings.Trim(steps[0], "0123456789") != "":
				leavesAt(x, steps, name, visit)
			case steps[0] == fmt.Sprint(n):
				leavesAt(x, steps[1:], name, visit)
			}
		}
	case nil:
	default:
		if len(steps) == 0 {
			visit(name, v)
		}
	}
}

// isExposed reports whether a sensitive value would stand in clear in what was made of it: anything but text that is the value, or text
// in which it is found.
func isExposed(leaf, made any) bool {
	text := textOf(leaf)
	if made == nil || text == "" {
		return false
	}
	if _, isBool := leaf.(bool); isBool {
		return true
	}
	sealed := false
	tree.Walk(literal(made), func(_ tree.Path, v any) bool {
		s, ok := v.(string)
		sealed = sealed || ok && (s == text || len(text) >= shortest && strings.Contains(s, text))
		return true
	})
	return !sealed
}
