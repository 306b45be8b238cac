package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Kind documents a kind: its props, its attributes, its calls and the permissions that they need.
func Kind(w io.Writer, name string, spec *reconcile.Spec, fields, attrs []props.Field) {
	fmt.Fprintf(w, "%s\n\n%s\n\nProps:\n", name, spec.Doc)
	shapesOf(fields).print(w, fields, "  ")
	fmt.Fprintln(w, "\nAttributes:")
	shapesOf(attrs).print(w, attrs, "  ")
	if spec.InDev {
		fmt.Fprintln(w, "\nRuns in dev: a plain deploy leaves it as it is.")
	}
	if spec.Logs {
		fmt.Fprintln(w, "\nLogs: athanor logs ADDRESS")
	}
	if len(spec.Calls) > 0 {
		fmt.Fprintf(w, "\nCalls: %s\n", strings.Join(spec.Calls, ", "))
	}
	if needs := spec.Permissions.All(); len(needs) > 0 {
		fmt.Fprintf(w, "Permissions: %s\n", strings.Join(needs, ", "))
	}
}

// FirstSentence is what a listing has room for.
func FirstSentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if i := strings.Index(doc, ". "); i >= 0 {
		return doc[:i]
	}
	return strings.TrimSuffix(doc, ".")
}

// shapes are the fields that are documented in full, by their shape: of each shape the one that lies least deep, so that shapes
// which contain themselves end there.
type shapes map[string]props.Field

func shapesOf(level []props.Field) shapes {
	all := shapes{}
	for len(level) > 0 {
		var next []props.Field
		for _, f := range level {
			if _, known := all[f.Shape]; !known && f.Shape != "" && len(f.Fields) > 0 {
				all[f.Shape] = f
			}
			next = append(next, f.Fields...)
		}
		level = next
	}
	return all
}

// elsewhere is the path at which the fields of f are documented: "" where f has few, or others than that one.
func (s shapes) elsewhere(f props.Field) tree.Path {
	const few = 3
	full, known := s[f.Shape]
	if !known || full.Path == f.Path || len(f.Fields) > 0 && count(f.Fields) <= few || !agree(f.Fields, full.Fields) {
		return ""
	}
	return full.Path
}

func count(fields []props.Field) int {
	n := len(fields)
	for _, f := range fields {
		n += count(f.Fields)
	}
	return n
}

// agree reports whether two objects have the same fields, as deep as both are documented.
func agree(a, b []props.Field) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return slices.EqualFunc(a, b, func(f, g props.Field) bool {
		return lastPart(f.Path) == lastPart(g.Path) && f.Required == g.Required && f.Replaces == g.Replaces && agree(f.Fields, g.Fields)
	})
}

func (s shapes) print(w io.Writer, fields []props.Field, indent string) {
	for _, f := range fields {
		var notes []string
		if f.Required {
			notes = append(notes, "required")
		}
		if f.Default != "" {
			notes = append(notes, "default "+f.Default)
		}
		if f.Replaces {
			notes = append(notes, "replaces")
		}
		if f.Secret {
			notes = append(notes, "secret")
		}
		if len(f.Enum) > 0 {
			notes = append(notes, strings.Join(f.Enum, " | "))
		}
		notes = append(notes, boundsOf(f)...)
		line := indent + lastPart(f.Path) + "  " + f.Type
		if len(notes) > 0 {
			line += "  (" + strings.Join(notes, ", ") + ")"
		}
		fmt.Fprintln(w, line)
		for doc := range strings.SplitSeq(strings.TrimSpace(f.Doc), "\n") {
			if doc != "" {
				fmt.Fprintln(w, indent+"    "+doc)
			}
		}
		if at := s.elsewhere(f); at != "" {
			fmt.Fprintf(w, "%s    Its fields are those of %s.\n", indent, at)
			continue
		}
		s.print(w, f.Fields, indent+"  ")
	}
}

// boundsOf says what limits the values of a prop.
func boundsOf(f props.Field) (bounds []string) {
	switch {
	case f.Min != "" && f.Max != "":
		bounds = append(bounds, f.Min+" to "+f.Max)
	case f.Min != "":
		bounds = append(bounds, "at least "+f.Min)
	case f.Max != "":
		bounds = append(bounds, "at most "+f.Max)
	}
	if f.MaxItems > 0 {
		bounds = append(bounds, fmt.Sprintf("at most %d entries", f.MaxItems))
	}
	if f.MaxLen > 0 {
		bounds = append(bounds, fmt.Sprintf("at most %d characters", f.MaxLen))
	}
	return bounds
}

func lastPart(p tree.Path) string {
	steps := p.Steps()
	for _, step := range slices.Backward(steps) {
		if step.Key != "" {
			return step.Key
		}
	}
	return string(p)
}
