package kind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// attributeTags adds what the attr tags of an attributes struct say:
//
//	attr:"early"         Create returns it, and others may use it before the object is ready
//	attr:"createOnly"    only the answer to the creation has it (a token's secret)
//	attr:"mutable"       any update in place may change it; mutable=a|b: an update that changes the prop a or b
//
// An attribute without mutable keeps its value for the object's life. names are those that mutable may name, but for those of which
// a change replaces the object, with the reason.
func attributeTags(t reflect.Type, names []string, replaces map[string]string, into *reconcile.Tags) error {
	fields, err := props.Tags(t)
	if err != nil {
		return err
	}
	if err := props.Tokens(reflect.New(t).Interface(), token.Plain, "x"); err != nil {
		return err // a program could declare no resource of the kind
	}
	for _, f := range fields {
		for _, key := range []string{"prop", "wire"} {
			if _, tagged := f.Field.Tag.Lookup(key); tagged {
				return fmt.Errorf("attribute %s: its %s tag means nothing for an attribute", f.Name, key)
			}
		}
		tag, tagged := f.Field.Tag.Lookup("attr")
		if !tagged {
			continue
		}
		seen := map[string]bool{}
		for word := range strings.SplitSeq(tag, ",") {
			key, value, given := strings.Cut(word, "=")
			if seen[key] {
				return fmt.Errorf("attribute %s: tag %q stands there twice", f.Name, word)
			}
			seen[key] = true
			if given && key == "mutable" && value == "" {
				return fmt.Errorf("attribute %s: tag %q: names no prop", f.Name, word)
			}
			if err := attributeWord(f.Name, key, value, names, into); err != nil {
				return fmt.Errorf("attribute %s: tag %q: %w", f.Name, word, err)
			}
		}
		for _, prop := range into.MovedBy[f.Name] {
			if why := replaces[string(prop)]; why != "" {
				return fmt.Errorf("attribute %s: tag %q: %s %s: a change replaces the object, and no update changes the attribute by it: leave it out", f.Name, tag, prop, why)
			}
		}
		if seen["createOnly"] && seen["mutable"] {
			return fmt.Errorf("attribute %s: tag \"mutable\": means nothing for what the creation alone answers", f.Name)
		}
	}
	return nil
}

// attributeWords are those of an attr tag.
var attributeWords = []string{"early", "createOnly", "mutable"}

func attributeWord(name, key, value string, names []string, into *reconcile.Tags) error {
	if value != "" && key != "mutable" {
		return fmt.Errorf("takes no value")
	}
	switch key {
	case "early":
		into.AtBirth = append(into.AtBirth, name)
	case "createOnly":
		into.Once = append(into.Once, name)
	case "mutable":
		into.Moves = append(into.Moves, name)
		if value == "" {
			return nil
		}
		for prop := range strings.SplitSeq(value, "|") {
			if !slices.Contains(names, prop) {
				return fmt.Errorf("%q is no prop%s", prop, meant(prop, names))
			}
			if slices.Contains(into.MovedBy[name], tree.Path(prop)) {
				return fmt.Errorf("says %q twice", prop)
			}
			if into.MovedBy == nil {
				into.MovedBy = map[string][]tree.Path{}
			}
			into.MovedBy[name] = append(into.MovedBy[name], tree.Path(prop))
		}
	default:
		if slices.Contains(attributeWords, strings.TrimSpace(key)) {
			return fmt.Errorf("is not known: words have a comma between them, and no space")
		}
		return fmt.Errorf("is not known%s", meant(key, attributeWords))
	}
	return nil
}
