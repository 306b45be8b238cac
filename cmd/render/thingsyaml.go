package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ThingsYAML writes objects down as resources of a stack: those that were described, each at an address that nothing in
// the graph has. It returns the objects with their addresses, and the text as it stands in athanor.yaml.
func ThingsYAML(g *engine.Graph, found *engine.Scan) ([]engine.Thing, []byte, error) {
	y := &thingsYAML{graph: g, places: found.Places}
	for _, t := range found.Things {
		if t.Props != nil {
			y.add(t)
		}
	}
	text, err := y.text()
	return y.chosen, text, err
}

type thingsYAML struct {
	graph  *engine.Graph
	places []reconcile.Place
	chosen []engine.Thing
	taken  map[string]bool
}

// add chooses an object, and gives it an address that nothing has.
func (y *thingsYAML) add(t engine.Thing) {
	if y.taken == nil {
		y.taken = map[string]bool{}
		for _, r := range y.graph.Resources {
			y.taken[r.Address] = true
		}
	}
	if !t.Declared {
		t.Address = y.free(t)
	}
	y.taken[t.Address] = true
	y.chosen = append(y.chosen, t)
}

// free returns an address for an object: that in its own owner tag of this stage, else one made of its name.
func (y *thingsYAML) free(t engine.Thing) string {
	base := t.Address
	if t.Standing != engine.StandingOurs || base == "" {
		base = addressOf(t)
	}
	address := base
	for n := 2; y.taken[address]; n++ {
		address = fmt.Sprintf("%s-%d", base, n)
	}
	return address
}

// addressOf makes an address of an object's name.
func addressOf(t engine.Thing) string {
	name := t.Name
	if name == "" {
		name = t.Identity[strings.LastIndexAny(t.Identity, ":/")+1:]
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	address := strings.Trim(b.String(), "-")
	if graph.CheckAddress(address) != nil {
		kind := t.Kind[strings.LastIndexByte(t.Kind, '.')+1:]
		address = strings.TrimRight(strings.ToLower(kind)+"-"+address, "-")
	}
	return address
}

// text is the resources as they stand in athanor.yaml.
func (y *thingsYAML) text() ([]byte, error) {
	resources := &yaml.Node{Kind: yaml.MappingNode}
	for _, t := range y.chosen {
		node, err := entryOf(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Identity, err)
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: t.Address, HeadComment: y.comment(t)}
		resources.Content = append(resources.Content, key, node)
	}
	doc := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: "resources", HeadComment: "athanor deploy --adopt adopts these as they are."}, resources,
	}}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// quoteNumbers puts text that has the form of a number into quotes, which the encoder does only where a number has room for it.
func quoteNumbers(n *yaml.Node) {
	if n.Tag == "!!str" && tree.NumberLike(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, inner := range n.Content {
		quoteNumbers(inner)
	}
}

// entryOf is one resource: kind, props, and its identity where nothing else leads to it.
func entryOf(t engine.Thing) (*yaml.Node, error) {
	into := &yaml.Node{Kind: yaml.MappingNode}
	put := func(name string, v any) error {
		value := &yaml.Node{}
		if err := value.Encode(v); err != nil {
			return err
		}
		quoteNumbers(value)
		into.Content = append(into.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
		return nil
	}
	if err := put("kind", t.Kind); err != nil {
		return nil, err
	}
	if len(t.Props) > 0 {
		if err := put("props", literal(t.Props)); err != nil {
			return nil, err
		}
	}
	if t.Standing == engine.StandingOurs || !t.Assigned && t.Standing != engine.StandingForeign {
		return into, nil
	}
	return into, put("options", map[string]any{"adopt": t.Identity})
}

// comment says what the YAML cannot.
func (y *thingsYAML) comment(t engine.Thing) string {
	var lines []string
	if t.Declared {
		lines = append(lines, "declared already: this is how it is")
	}
	if o := t.Owner; o != nil && t.Standing != engine.StandingOurs {
		lines = append(lines, fmt.Sprintf("%s: it is %s of %s/%s", t.Standing, o.Address, o.Stack, o.Stage))
	}
	others := slices.ContainsFunc(y.places, func(p reconcile.Place) bool { return p.Provider == t.Place.Provider && p != t.Place })
	if others {
		lines = append(lines, "it lies in "+t.Place.String())
	}
	for _, p := range t.Missing {
		lines = append(lines, fmt.Sprintf("%s cannot be read: declare it", p))
	}
	return strings.Join(lines, "\n")
}

// literal returns a tree in which nothing is taken for a reference.
func literal(v any) any {
	return tree.MapText(v, func(text string) string { return strings.ReplaceAll(text, "${", "$${") })
}
