package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TFVars writes values as a variable file of Terraform and OpenTofu:
// https://opentofu.org/docs/language/syntax/configuration/. All of it is data: text holds no template and no character that a terminal
// obeys.
func TFVars(values map[string]any) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		b.WriteString(name + " = ")
		writeHCL(&b, values[name], "")
		b.WriteByte('\n')
	}
	return b.String()
}

func writeHCL(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case string:
		writeHCLText(b, v)
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeHCL(b, x, indent)
		}
		b.WriteByte(']')
	case map[string]any:
		if len(v) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteString("{\n")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(indent + "  ")
			writeHCLText(b, name)
			b.WriteString(" = ")
			writeHCL(b, v[name], indent+"  ")
			b.WriteByte('\n')
		}
		b.WriteString(indent + "}")
	default: // numbers and truths are written as in JSON
		b.Write(tree.Canonical(v))
	}
}

// writeHCLText writes text in quotes. What begins a template is doubled.
func writeHCLText(b *strings.Builder, text string) {
	b.WriteByte('"')
	for i, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case (r == '$' || r == '%') && strings.HasPrefix(text[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case unicode.IsGraphic(r) && r != unicode.ReplacementChar:
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(b, `\U%08X`, r)
		default:
			fmt.Fprintf(b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
}
