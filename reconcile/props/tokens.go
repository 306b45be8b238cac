package props

import (
	"fmt"
	"reflect"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Tokens fills into, a pointer to a struct of attributes, with references to those of the resource at
// address: each text, token.Int, Bool, Duration and Secret with its own, each list of such with one element
// that stands for all. Structs within are filled too; a map stays as it is. A field of another type is an error that names it.
func Tokens(into any, s token.Spelling, address string) error {
	if _, free := into.(*map[string]any); free {
		return nil // its names are not known here
	}
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("props: want a pointer to a struct, have %T", into)
	}
	sh, err := shapeOf(v.Type().Elem())
	if err != nil {
		return err
	}
	return fill(sh, v.Elem(), token.Ref{Address: address}, s)
}

func fill(sh *shape, v reflect.Value, at token.Ref, s token.Spelling) error {
	switch sh.form {
	case formText, formSecret, formTokenInt, formTokenBool, formTokenDuration:
		v.SetString(s.Ref(at))
		return nil
	case formAny:
		v.Set(reflect.ValueOf(s.Ref(at)))
		return nil
	case formPointer:
		v.Set(reflect.New(sh.elem.typ))
		return fill(sh.elem, v.Elem(), at, s)
	case formList:
		if sh.elem.form == formObject || sh.elem.elem != nil {
			break
		}
		at.Spread = true
		v.Set(reflect.MakeSlice(sh.typ, 1, 1))
		return fill(sh.elem, v.Index(0), at, s)
	case formObject:
		for _, f := range sh.fields {
			below := at
			below.Path = at.Path.Key(f.name)
			if err := fill(f.shape, v.FieldByIndex(f.index), below, s); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("props: attribute %s: a %s cannot hold a reference; use text, athanor.Int, Bool or Duration, or a list of them", at.Path, sh.typ)
}

// SecretPaths are the paths in a struct type that are secret by their type, with * for the elements of lists
// and maps. Of a type that cannot hold props there are none.
func SecretPaths(t reflect.Type) []tree.Path {
	s, err := shapeOf(t)
	if err != nil {
		return nil
	}
	return secrets(s, "", nil)
}

func secrets(s *shape, at tree.Path, found []tree.Path) []tree.Path {
	switch s.form {
	case formSecret:
		return append(found, at)
	case formPointer:
		return secrets(s.elem, at, found)
	case formList, formMap:
		return secrets(s.elem, at.Any(), found)
	}
	for _, f := range s.fields {
		found = secrets(f.shape, at.Key(f.name), found)
	}
	return found
}
