package gostructs

import (
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
)

// Of is a kind by what it says of its props and attributes.
func Of(kind string, declared, attributes []props.Field) Kind {
	k := Kind{Name: kind, Go: Name(baseOf(kind))}
	k.add(k.Go+"Props", fmt.Sprintf("%sProps are what can be declared of a %s. What is not set is not declared.", k.Go, kind), k.Go, declared)
	for _, f := range attributes {
		if !strings.HasPrefix(f.Type, "list of") && !strings.HasPrefix(f.Type, "map of") && f.Type != "object" { // Resource.Attr refers to what is in those
			k.Attrs = append(k.Attrs, Field{Name: Name(last(f)), Type: "string", Key: last(f)})
		}
	}
	return k
}

// add appends a struct and those of the objects in it, whose names begin with prefix.
func (k *Kind) add(name, doc, prefix string, fields []props.Field) {
	at := len(k.Props)
	k.Props = append(k.Props, Struct{Name: name, Doc: doc})
	for _, f := range fields {
		of := ""
		if len(f.Fields) > 0 {
			of = prefix + Name(last(f))
			k.add(of, of+" is a part of "+prefix+".", of, f.Fields)
		}
		var about []string
		if f.Required {
			about = append(about, "Required.")
		}
		for line := range strings.SplitSeq(f.Doc, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				about = append(about, line)
			}
		}
		k.Props[at].Fields = append(k.Props[at].Fields, Field{Name: Name(last(f)), Type: typeOf(f.Type, of), Key: last(f), Doc: about})
	}
}

// typeOf is a type of fields in Go. of is the struct of the objects in it. Numbers and what has any type are any, so that a literal and a reference
// can stand there.
func typeOf(typ, of string) string {
	if rest, ok := strings.CutPrefix(typ, "list of "); ok {
		return "[]" + strings.TrimPrefix(typeOf(rest, of), "*")
	}
	if rest, ok := strings.CutPrefix(typ, "map of "); ok {
		return "map[string]" + strings.TrimPrefix(typeOf(rest, of), "*")
	}
	switch {
	case typ == "object" && of != "":
		return "*" + of
	case typ == "string", typ == "secret string":
		return "string"
	case typ == "bool":
		return "athanor.Bool"
	}
	return "any"
}

func last(f props.Field) string {
	steps := f.Path.Steps()
	return steps[len(steps)-1].Key
}

// baseOf is the name of a kind without what all of its family have: random_id of tf.random_id, EC2VPC of AWS::EC2::VPC.
func baseOf(kind string) string {
	if _, rest, ok := strings.Cut(kind, "::"); ok {
		return strings.ReplaceAll(rest, "::", "")
	}
	_, rest, ok := strings.Cut(kind, ".")
	if !ok {
		return kind
	}
	return rest
}
