package from

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/reconcile/tree"
	"go.yaml.in/yaml/v3"
)

// YAML is a stack as it stands in athanor.yaml, in a folder from which that of the file that was read is at base.
func (s Stack) YAML(base string) ([]byte, error) {
	var w nodes
	doc := &yaml.Node{Kind: yaml.MappingNode}
	w.put(doc, "stack", s.Name)
	if len(s.Providers) > 0 {
		providers := map[string]any{}
		for name, settings := range s.Providers {
			providers[name] = settings
		}
		w.put(doc, "providers", providers)
	}
	if len(s.Config) > 0 {
		config := map[string]any{}
		for name, v := range s.Config {
			entry := map[string]any{"default": v}
			if more := s.Configured[name]; more.Description != "" {
				entry["description"] = more.Description
			}
			if more := s.Configured[name]; len(more.Stages) > 0 {
				entry["stages"] = more.Stages
			}
			config[name] = entry
		}
		w.put(doc, "config", config)
	}
	if len(s.Secrets) > 0 {
		secrets := map[string]any{}
		for _, secret := range s.Secrets {
			secrets[secret.Name] = map[string]any{"sealed": true}
		}
		w.put(doc, "secrets", secrets)
	}
	if len(s.Reads) > 0 {
		reads := map[string]any{}
		for _, r := range s.Reads {
			reads[r.Address] = r.read()
		}
		w.put(doc, "read", reads)
	}
	resources := &yaml.Node{Kind: yaml.MappingNode}
	for _, r := range s.Resources {
		entry := r.node(&w, base)
		address := scalar(r.Address)
		address.HeadComment = comment(r.Comment)
		resources.Content = append(resources.Content, address, entry)
	}
	doc.Content = append(doc.Content, scalar("resources"), resources)
	if len(s.Outputs) > 0 {
		w.put(doc, "outputs", s.Outputs)
	}
	if err := w.fill(); err != nil {
		return nil, err
	}
	quoted(doc)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return escaped(b.String()), nil
}

// read is an object that is read and not managed.
func (r Resource) read() map[string]any {
	entry := map[string]any{"kind": r.Kind, "id": r.Adopt}
	if r.Provider != "" {
		entry["provider"] = r.Provider
	}
	return entry
}

// node is a resource as it stands in athanor.yaml.
func (r Resource) node(w *nodes, base string) *yaml.Node {
	entry := &yaml.Node{Kind: yaml.MappingNode}
	if len(r.For) > 0 {
		each := map[string]any{}
		for key, values := range r.For {
			each[key] = Placed(values, base)
		}
		w.put(entry, "for", each)
	}
	w.put(entry, "kind", r.Kind)
	if r.Provider != "" {
		w.put(entry, "provider", r.Provider)
	}
	if len(r.Props) > 0 {
		props := w.put(entry, "props", Placed(r.Props, base))
		if len(r.Comments) > 0 {
			w.filled = append(w.filled, func() {
				for n := 0; n+1 < len(props.Content); n += 2 {
					props.Content[n].HeadComment = comment(r.Comments[props.Content[n].Value])
				}
			})
		}
	}
	options := map[string]any{}
	switch {
	case len(r.For) > 0:
		for _, values := range r.For {
			if values["adopt"] != nil {
				options["adopt"] = Each{"adopt"}
			}
		}
	case r.Adopt != "":
		options["adopt"] = r.Adopt
	}
	if len(r.DependsOn) > 0 {
		options["dependsOn"] = r.DependsOn
	}
	if len(r.IgnoreChanges) > 0 {
		options["ignoreChanges"] = r.IgnoreChanges
	}
	if len(options) > 0 {
		w.put(entry, "options", options)
	}
	return entry
}

// misleading reports a character that changes how the others are shown, such as the direction of text. The encoder writes them as
// they are.
func misleading(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }

// quoted puts text with misleading characters into quotes, where they can be escaped, and text that has the form of a number.
func quoted(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && (strings.ContainsFunc(n.Value, misleading) || n.Tag == "!!str" && tree.NumberLike(n.Value)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, inner := range n.Content {
		quoted(inner)
	}
}

// escaped writes misleading characters, all of which are in quotes, as escapes.
func escaped(text string) []byte {
	var b []byte
	for _, r := range text {
		switch {
		case !misleading(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			b = fmt.Appendf(b, `\U%08X`, r)
		default:
			b = fmt.Appendf(b, `\u%04X`, r)
		}
	}
	return b
}

// Placed writes the paths in a value as they are seen from another folder, from which that of the source is at base.
func Placed(v any, base string) any {
	return tree.Map(v, func(leaf any) any {
		p, ok := leaf.(Path)
		if !ok {
			return leaf
		}
		if path.IsAbs(string(p)) {
			return string(p)
		}
		at := path.Join(base, string(p))
		if strings.HasPrefix(string(p), ".") && !strings.HasPrefix(at, ".") { // where a package could be meant
			at = "./" + at
		}
		return at
	})
}

// comment is text as a comment, "" for none. What is not shown as it is has no place in one.
func comment(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return ' '
			}
			return r
		}, line))
		if line != "" {
			lines = append(lines, "# "+line)
		}
	}
	return strings.Join(lines, "\n")
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// nodes are the values of a document. They are encoded together: an encoder for each of them would be most of the work.
type nodes struct {
	values []any
	nodes  []*yaml.Node
	filled []func() // what is done when the nodes have their values
}

// put adds a value to an object, and gives its node, which is filled later.
func (w *nodes) put(into *yaml.Node, name string, v any) *yaml.Node {
	value := &yaml.Node{}
	into.Content = append(into.Content, scalar(name), value)
	w.values, w.nodes = append(w.values, written(v)), append(w.nodes, value)
	return value
}

// fill encodes the values.
func (w *nodes) fill() error {
	var all yaml.Node
	if err := all.Encode(w.values); err != nil {
		return err
	}
	for n, value := range all.Content {
		*w.nodes[n] = *value
	}
	for _, then := range w.filled {
		then()
	}
	return nil
}

// written returns a value as athanor's YAML writes it: references in ${ }, and text that only looks like one escaped.
func written(v any) any {
	escaped := tree.MapText(v, func(text string) string { return strings.ReplaceAll(text, "${", "$${") })
	return tree.Map(escaped, func(leaf any) any {
		switch leaf := leaf.(type) {
		case Ref:
			return "${" + leaf.Address + "." + leaf.Attribute + "}"
		case Each:
			if leaf.Name == "" {
				return "${each.key}"
			}
			return "${each.value." + leaf.Name + "}"
		case Config:
			return "${config." + leaf.Name + "}"
		case SecretRef:
			return "${secret." + leaf.Name + "}"
		case Text:
			var b strings.Builder
			for _, part := range leaf.Parts {
				text, _ := written(part).(string)
				b.WriteString(text)
			}
			return b.String()
		}
		return leaf
	})
}
