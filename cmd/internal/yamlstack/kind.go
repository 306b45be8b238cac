package yamlstack

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// kind is what the loader knows of a kind.
type kind struct {
	reconcile.Any
	name     string
	provider string
	spec     *reconcile.Spec
	// attrs are the attributes; free says that they are not known beforehand.
	attrs []props.Field
	free  bool
	// words are the names of the props; none when these are free.
	words []string
}

func (l *loader) kindOf(name string) (*kind, error) {
	if k, ok := l.kinds[name]; ok {
		return k, nil
	}
	any, err := l.catalog.Find(name)
	if err != nil {
		return nil, err
	}
	k := &kind{Any: any, name: name, spec: any.Spec()}
	if p, ok := l.catalog.ProviderOf(name); ok {
		k.provider = p.Name
	}
	fields, attrs, err := k.spec.Shape()
	k.attrs, k.words, k.free = attrs, fieldWords(fields), err != nil
	l.kinds[name] = k
	return k, nil
}

// check reports whether an attribute exists, and whether it is a list.
func (e *entry) check(path tree.Path) (list bool, err error) {
	if e.kind == nil || e.kind.free || path == "" {
		return false, nil
	}
	fields, typ := e.kind.attrs, "object"
	for _, s := range path.Steps() {
		of, inList := strings.CutPrefix(typ, "list of ")
		each, inMap := strings.CutPrefix(typ, "map of ")
		switch {
		case typ == "any":
			return false, nil
		case inList && s.Index >= 0:
			typ = of
		case inMap && s.Index < 0:
			typ = each
		case typ == "object" && s.Index < 0:
			i := slices.IndexFunc(fields, func(f props.Field) bool { return last(f.Path) == s.Key })
			if i < 0 {
				return false, near(fmt.Errorf("%s has no attribute %q", e.kind.name, s.Key), s.Key, fieldWords(fields))
			}
			typ, fields = fields[i].Type, fields[i].Fields
		default:
			return false, fmt.Errorf("%s: attribute %s: a %s has nothing inside", e.kind.name, path, typ)
		}
	}
	return strings.HasPrefix(typ, "list of "), nil
}

// hasProp reports what is wrong with the first step of a path into the props.
func (e *entry) hasProp(first tree.Step) error {
	if e.kind == nil || len(e.kind.words) == 0 || first.Any || slices.Contains(e.kind.words, first.Key) {
		return nil
	}
	return near(fmt.Errorf("%s has no prop %q", e.kind.name, first.Key), first.Key, e.kind.words)
}

func fieldWords(fields []props.Field) []string {
	var words []string
	for _, f := range fields {
		words = append(words, last(f.Path))
	}
	return words
}

func last(p tree.Path) string {
	steps := p.Steps()
	return steps[len(steps)-1].Key
}

// form is how a kind takes bindings.
type form int

const (
	noBindings form = iota
	listRows
	namedRows // rows of a list with a field sid
	keyedRows // a map of rows
)

func (k *kind) bindings() form {
	t := reflect.TypeOf(k.spec.NewProps()).Elem()
	if t.Kind() != reflect.Struct {
		return noBindings
	}
	f, ok := t.FieldByName("Bindings")
	switch {
	case !ok:
		return noBindings
	case f.Type.Kind() == reflect.Map:
		return keyedRows
	case f.Type.Kind() != reflect.Slice:
		return noBindings
	}
	if e := f.Type.Elem(); e.Kind() == reflect.Struct {
		if sid, ok := e.FieldByName("Sid"); ok && sid.Type.Kind() == reflect.String {
			return namedRows
		}
	}
	return listRows
}
