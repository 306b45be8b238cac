package value

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Difference is one path at which a planned state is another than the prior one. A set differs as a whole.
type Difference struct {
	Path cty.Path
	// Have and Want are both sides. Want may be unknown, and either null.
	Have, Want cty.Value
	// Sensitive says that the provider calls the value a secret.
	Sensitive bool
}

// At is the path in the tree of what is declared.
func (d Difference) At() tree.Path { return PathOf(d.Path) }

// Differences are those between two values of a type, in the order of their names. A null, and the zero value of the same type, are
// equal where alike says so: old SDKs do not tell them apart.
func Differences(b *schema.Block, have, want cty.Value, alike bool) []Difference {
	d := &differing{block: b, alike: alike}
	switch {
	case have.IsNull() && want.IsNull():
		return nil
	case have.IsNull():
		have = b.Empty()
	case want.IsNull():
		want = b.Empty()
	}
	d.walk(nil, have, want)
	return d.all
}

type differing struct {
	block *schema.Block
	alike bool
	all   []Difference
}

func (d *differing) walk(path cty.Path, have, want cty.Value) {
	if have.RawEquals(want) || d.alike && isZero(have) && isZero(want) {
		return
	}
	both := have.IsKnown() && want.IsKnown() && !have.IsNull() && !want.IsNull()
	ht, wt := have.Type(), want.Type()
	switch {
	case both && ht.IsObjectType() && wt.IsObjectType() && ht.Equals(wt):
		var names []string
		for name := range wt.AttributeTypes() {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			d.walk(below(path, cty.GetAttrStep{Name: name}), have.GetAttr(name), want.GetAttr(name))
		}
		return
	case both && ht.IsMapType() && wt.IsMapType(), both && ht.IsListType() && wt.IsListType() && have.LengthInt() == want.LengthInt():
		d.elements(path, have, want)
		return
	}
	a := d.block.At(path)
	d.all = append(d.all, Difference{Path: path, Have: have, Want: want, Sensitive: a != nil && a.Sensitive})
}

func (d *differing) elements(path cty.Path, have, want cty.Value) {
	for it := want.ElementIterator(); it.Next(); {
		key, w := it.Element()
		h := cty.NullVal(w.Type())
		if have.HasIndex(key).True() {
			h = have.Index(key)
		}
		d.walk(below(path, cty.IndexStep{Key: key}), h, w)
	}
	for it := have.ElementIterator(); it.Next(); {
		if key, h := it.Element(); !want.HasIndex(key).True() {
			d.walk(below(path, cty.IndexStep{Key: key}), h, cty.NullVal(h.Type()))
		}
	}
}

func below(path cty.Path, step cty.PathStep) cty.Path {
	return append(slices.Clip(path), step)
}

// isZero reports whether a value is null, or what Go would have in its place.
func isZero(v cty.Value) bool {
	switch ty := v.Type(); {
	case !v.IsKnown():
		return false
	case v.IsNull():
		return true
	case ty == cty.String:
		return v.AsString() == ""
	case ty == cty.Bool:
		return v.False()
	case ty == cty.Number:
		return v.AsBigFloat().Sign() == 0
	case ty.IsCollectionType():
		return v.LengthInt() == 0
	}
	return false
}

// PathOf is a path of values as one of trees. An element of a set, which has no place, ends it.
func PathOf(path cty.Path) tree.Path {
	var at tree.Path
	for _, step := range path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			at = at.Key(s.Name)
		case cty.IndexStep:
			switch {
			case s.Key.Type() == cty.String && s.Key.IsKnown():
				at = at.Key(s.Key.AsString())
			case s.Key.Type() == cty.Number && s.Key.IsKnown():
				i, _ := s.Key.AsBigFloat().Int64()
				at = at.Index(int(i))
			default:
				return at
			}
		}
	}
	return at
}

// WirePath is a path of an answer as one of trees.
func WirePath(path *tfplugin.AttributePath) tree.Path {
	var at tree.Path
	for _, step := range path.GetSteps() {
		switch s := step.Selector.(type) {
		case *tfplugin.AttributePath_Step_AttributeName:
			at = at.Key(s.AttributeName)
		case *tfplugin.AttributePath_Step_ElementKeyString:
			at = at.Key(s.ElementKeyString)
		case *tfplugin.AttributePath_Step_ElementKeyInt:
			at = at.Index(int(s.ElementKeyInt))
		}
	}
	return at
}
