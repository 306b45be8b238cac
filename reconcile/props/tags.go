package props

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// tagWords are those of a prop tag, and whether each takes a value.
var tagWords = map[string]bool{
	"required": false, "enum": true, "min": true, "max": true, "maxitems": true, "maxlen": true, "default": true, "immutable": false,
	"unit": true, "deferrable": false, "needsready": false, "masklive": false, "writeonly": false, "needs": true, "with": true,
	"excludes": true, "set": false, "each": false, "whole": false,
}

// wellFormed refuses a word of a prop tag that is not known, or that has a value and takes none, or the other way round.
func wellFormed(word string, afterEnum bool) error {
	key, _, given := strings.Cut(word, "=")
	takes, known := tagWords[key]
	switch {
	case known && takes && !given:
		return fmt.Errorf("props: tag %q has no value: want %s=VALUE", word, key)
	case known && !takes && given:
		return fmt.Errorf("props: tag %q takes no value", word)
	case known:
		return nil
	}
	hint := ""
	if _, spaced := tagWords[strings.TrimSpace(key)]; spaced {
		hint = ": words have a comma between them, and no space"
	} else if near, ok := Nearest(key, slices.Sorted(maps.Keys(tagWords))); ok {
		hint = ": did you mean " + near + "?"
	} else if afterEnum {
		hint = ": an enum has | between its words"
	}
	return fmt.Errorf("props: tag %q is not known%s", word, hint)
}

// ownKeys are the keys of the tags that are read of props and attributes.
var ownKeys = []string{"prop", "wire", "attr"}

// example is a word of a prop tag as it is written.
func example(word string) string {
	if tagWords[word] {
		return word + "=…"
	}
	return word
}

// tagged reports whether a field of a struct has tags that are read of props and attributes.
func tagged(t reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return slices.ContainsFunc(ownKeys, func(key string) bool { _, is := f.Tag.Lookup(key); return is })
	})
}

// readable refuses tags of a field that nothing would read. In a struct that is ours others have such tags: a struct of another
// package may have tags of its own.
func readable(f reflect.StructField, ours bool) error {
	why := ""
	switch left, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
	case left == "-":
		why = "json:\"-\" leaves the field out"
	case f.Anonymous && left == "" && f.Type.Kind() == reflect.Struct:
		why = "the fields of what is embedded have tags of their own"
	case !f.IsExported():
		why = "the field is not exported"
	}
	keys, ok := keysOf(f.Tag)
	if !ok {
		return fmt.Errorf("props: its tags cannot be read: want KEY:\"VALUE\" pairs with a space between them, as in prop:\"required\" wire:\"name\"")
	}
	for i, key := range keys {
		own := slices.Contains(ownKeys, key)
		_, word := tagWords[key]
		switch {
		case own && why != "":
			return fmt.Errorf("props: its %s tag means nothing: %s", key, why)
		case own && slices.Contains(keys[:i], key):
			return fmt.Errorf("props: its %s tag stands there twice", key)
		case word && ours:
			return fmt.Errorf("props: tag key %q is not known: it is a word of the prop tag, as in prop:\"%s\"", key, example(key))
		case !own:
			if near, ok := Nearest(key, ownKeys); ok {
				return fmt.Errorf("props: tag key %q is not known: did you mean %s?", key, near)
			}
		}
	}
	return nil
}

// keysOf are the keys of a tag. ok is false where reflect finds no more than a part of them.
func keysOf(tag reflect.StructTag) (keys []string, ok bool) {
	for rest := strings.TrimLeft(string(tag), " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, value, _ := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(value)
		if err != nil || quoted[0] != '"' || key == "" || strings.ContainsAny(key, " \"`,;") {
			return nil, false
		}
		keys, rest = append(keys, key), value[len(quoted):]
	}
	return keys, true
}

// Tagged is one field of a struct with its tags, for those who read more of them than this package does.
type Tagged struct {
	// Name is the name of the prop.
	Name string
	// Field is the Go field. Its Index leads to it from the struct that was asked about, through those that it embeds.
	Field reflect.StructField
}

// Tags are the fields of a struct type that are props, in their order, those of embedded structs included.
func Tags(t reflect.Type) ([]Tagged, error) {
	s, err := shapeOf(t)
	if err != nil {
		return nil, err
	}
	all := make([]Tagged, len(s.fields))
	for i, f := range s.fields {
		field := t.FieldByIndex(f.index)
		field.Index = f.index
		all[i] = Tagged{Name: f.name, Field: field}
	}
	return all, nil
}

// ForTable is the name of the first field, of a struct type or of the structs in it, with a tag that means nothing without
// an attribute table; "" when there is none.
func ForTable(t reflect.Type) string {
	s, err := shapeOf(t)
	if err != nil {
		return ""
	}
	return forTable(s)
}

// Attr is the path of the first field of a struct type, or of the structs in it, that has an attr tag; "" when there is none. Of the
// fields of the struct itself it looks at none where within is set.
func Attr(t reflect.Type, within bool) tree.Path {
	s, err := shapeOf(t)
	if err != nil {
		return ""
	}
	return attrIn(s, "", within)
}

func attrIn(s *shape, at tree.Path, within bool) tree.Path {
	for _, f := range s.fields {
		if f.attr && !within {
			return at.Key(f.name)
		}
		if below := attrIn(f.shape.leaf(), at.Key(f.name), false); below != "" {
			return below
		}
	}
	return ""
}

// Has reports whether a struct type has a field at a path. Of what may hold anything it has every one.
func Has(t reflect.Type, path tree.Path) bool {
	s, err := shapeOf(t)
	if err != nil || path == "" {
		return false
	}
	for _, step := range path.Steps() {
		for s.form == formPointer {
			s = s.elem
		}
		switch s.form {
		case formAny:
			return true
		case formList, formMap:
			s = s.elem
		case formObject:
			i, ok := s.byName[step.Key]
			if !ok {
				return false
			}
			s = s.fields[i].shape
		default:
			return false
		}
	}
	return true
}

func forTable(s *shape) string {
	for _, f := range s.fields {
		if f.forTable {
			return f.name
		}
		if below := forTable(f.shape.leaf()); below != "" {
			return f.name + "." + below
		}
	}
	return ""
}
