package kindtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Golden checks both ways between props and the service's form of them, which a person wrote down from the service's
// documentation: what a creation sends is that body, and the body is read as those props. It finds a wrong unit, name or
// default in the tags of the props: what is derived from a table has the same mistake as the table. sent is empty.
func Golden[P any, W kind.Wire](t T, table *kind.Table[P], declared map[string]any, sent, body W) {
	t.Helper()
	golden(t, table, declared, sent, body, func(w kind.Wire) any { return treeOf(t, w) })
}

// GoldenStruct is [Golden] for a service whose bodies are structs of its client. A field that is nil is not sent.
func GoldenStruct[P, S any](t T, table *kind.Table[P], declared map[string]any, body *S) {
	t.Helper()
	sent, wire := new(S), kind.Struct(body)
	golden(t, table, declared, kind.Struct(sent), wire, func(w kind.Wire) any {
		if w == wire {
			return treeOf(t, inJSON(t, body))
		}
		return treeOf(t, inJSON(t, sent))
	})
}

// inJSON is a struct of a client by its fields.
func inJSON(t T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	out, err := tree.Decode(text)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// golden compares what is sent with a body. whole is all that one of them says, as a tree.
func golden[P any](t T, table *kind.Table[P], declared map[string]any, sent, body kind.Wire, whole func(kind.Wire) any) {
	t.Helper()
	if err := table.Validate(); err != nil {
		t.Fatalf("%v", err)
	}
	var p P
	if err := props.Decode(treeOfProps(declared), &p); err != nil {
		t.Fatalf("%v", err)
	}
	table.Default(&p)
	if err := table.Created(p, sent); err != nil {
		t.Fatalf("%v", err)
	}
	if have, want := whole(sent), whole(body); !tree.Equal(have, want) {
		t.Errorf("a creation sends\n%s\nand the documentation says\n%s\n%s", tree.Canonical(have), tree.Canonical(want), strings.Join(apart(have, want, ""), "\n"))
	}
	read, err := table.Read(body)
	if err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	for _, a := range table.Attributes() {
		if a.Wire == "" || a.Wire == "-" || a.WriteOnly {
			continue
		}
		have, _ := tree.Get(treeOf(t, must(props.Encode(read))), a.Path)
		want, _ := tree.Get(treeOf(t, must(props.Encode(p))), a.Path)
		if !tree.Equal(document(have), document(want)) {
			t.Errorf("%s of the body is read as %s, and was declared as %s", a.Path, tree.Canonical(have), tree.Canonical(want))
		}
	}
}

// apart says of each member that differs what either side has there.
func apart(have, want any, at tree.Path) (all []string) {
	h, isMap := have.(map[string]any)
	w, both := want.(map[string]any)
	if !isMap || !both {
		return []string{fmt.Sprintf("%s: sent %s, in the body %s", at, tree.Canonical(have), tree.Canonical(want))}
	}
	names := maps.Clone(h)
	maps.Copy(names, w)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		h, sent := h[name]
		w, said := w[name]
		switch here := at.Key(name); {
		case !said:
			all = append(all, fmt.Sprintf("%s: sent %s, and the body has none", here, tree.Canonical(h)))
		case !sent:
			all = append(all, fmt.Sprintf("%s: not sent, in the body %s", here, tree.Canonical(w)))
		case !tree.Equal(h, w):
			all = append(all, apart(h, w, here)...)
		}
	}
	return all
}

func must(v map[string]any, err error) map[string]any {
	if err != nil {
		panic("kindtest: " + err.Error()) // it was decoded a moment ago
	}
	return v
}

// treeOf is a body as a tree: documents that are text count by what they say.
func treeOf(t T, v any) any {
	t.Helper()
	out, err := tree.Of(v)
	if err != nil {
		t.Fatalf("%s: %v", reflect.TypeOf(v), err)
	}
	if m, ok := out.(map[string]any); ok {
		for k, e := range m {
			m[k] = document(e)
		}
	}
	return out
}

// document is a document that was written as text. Other text stays as it is: "30" is no number.
func document(v any) any {
	if text, ok := v.(string); ok && text != "" && (text[0] == '{' || text[0] == '[') {
		if d, err := tree.Decode([]byte(text)); err == nil {
			return d
		}
	}
	return v
}
