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
	printFields(w, fields, "  ")
	fmt.Fprintln(w, "\nAttributes:")
	printFields(w, attrs, "  ")
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

func printFields(w io.Writer, fields []props.Field, indent string) {
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
		printFields(w, f.Fields, indent+"  ")
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
