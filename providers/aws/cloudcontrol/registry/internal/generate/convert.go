package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// convert is a schema in the form of the table, nil when Cloud Control cannot serve the type.
func convert(name string, schema obj, left notes) *registry.Type {
	handlers, _ := schema["handlers"].(obj)
	t := &registry.Type{
		Name:   name,
		Create: handlerOf(handlers["create"]), Read: handlerOf(handlers["read"]), Delete: handlerOf(handlers["delete"]),
		Update: handlerOf(handlers["update"]), List: handlerOf(handlers["list"]),
		DeleteFirst: schema["replacementStrategy"] == "delete_then_create",
	}
	if t.Create == nil || t.Read == nil || t.Delete == nil || name == "AWS::Route53::RecordSet" || name == "AWS::Budgets::Budget" {
		return nil
	}
	c := converter{schema: schema, t: t, left: left}
	t.Root = c.node(schema, 0)
	if definitions, ok := schema["definitions"].(obj); ok {
		t.Definitions = map[string]*registry.Node{}
		for key, d := range definitions {
			t.Definitions[key] = c.node(d, 0)
		}
		c.prune()
	}
	t.ID = c.paths("primaryIdentifier")
	if len(t.ID) == 0 {
		return nil
	}
	t.CreateOnly, t.Conditional = c.paths("createOnlyProperties"), c.paths("conditionalCreateOnlyProperties")
	t.ReadOnly, t.WriteOnly = c.paths("readOnlyProperties"), c.paths("writeOnlyProperties")
	t.Loose = c.loose()
	t.Tags = c.tags()
	return t
}

func handlerOf(v any) *registry.Handler {
	h, ok := v.(obj)
	if !ok {
		return nil
	}
	out := &registry.Handler{Permissions: words(h["permissions"])}
	slices.Sort(out.Permissions)
	out.Permissions = slices.Compact(out.Permissions)
	if minutes, ok := h["timeoutInMinutes"].(int64); ok {
		out.Minutes = int(minutes)
	}
	if input, ok := h["handlerSchema"].(obj); ok {
		out.Needs = words(input["required"])
	}
	return out
}

func words(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// converter works on one schema.
type converter struct {
	schema obj
	t      *registry.Type
	left   notes
}

// paths turns the JSON pointers of a list into paths, with * where a list or map was passed over.
func (c *converter) paths(list string) []tree.Path {
	var out []tree.Path
	for _, pointer := range words(c.schema[list]) {
		p, ok := c.path(pointer)
		if !ok {
			c.left["pointers to nothing"]++
			continue
		}
		out = append(out, p)
	}
	return out
}

func (c *converter) path(pointer string) (tree.Path, bool) {
	rest, ok := strings.CutPrefix(pointer, "/properties/")
	if !ok {
		return "", false
	}
	var p tree.Path
	at := c.t.Root
	for step := range strings.SplitSeq(rest, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		at = c.t.Follow(at)
		if step == "properties" && at.Properties["properties"] == nil {
			continue
		}
		below := at.Items
		if below == nil {
			below = at.Values
		}
		if below != nil && at.Properties[step] == nil {
			p, at = p.Any(), below
			if step == "*" || step == "items" {
				continue
			}
			at = c.t.Follow(at)
		}
		next := at.Properties[step]
		if next == nil && !at.Free() {
			return "", false
		}
		p, at = p.Key(step), next
	}
	return p, true
}

var (
	fold   = regexp.MustCompile(`^\$(lowercase|uppercase)\([\w.]+\)( \$OR [\w.]+)?$`)
	suffix = regexp.MustCompile(`^[^?{]*(\$join|\$split|\$substringAfter|\$OR)`)
)

// loose are the properties that the registry transforms before it compares: by case, or to and from ARNs.
func (c *converter) loose() []tree.Path {
	transforms, _ := c.schema["propertyTransform"].(obj)
	var out []tree.Path
	for pointer, v := range transforms {
		text, _ := v.(string)
		p, ok := c.path(pointer)
		switch {
		case !ok:
			c.left["pointers to nothing"]++
		case fold.MatchString(text) || suffix.MatchString(text):
			out = append(out, p)
		default:
			c.left["transforms left out"]++
		}
	}
	slices.Sort(out)
	return out
}

// prune takes out definitions that nothing refers to.
func (c *converter) prune() {
	used := map[string]bool{}
	var walk func(n *registry.Node)
	walk = func(n *registry.Node) {
		if n == nil {
			return
		}
		if n.Ref != "" && !used[n.Ref] {
			used[n.Ref] = true
			walk(c.t.Definitions[n.Ref])
		}
		walk(n.Items)
		walk(n.Values)
		for _, p := range n.Properties {
			walk(p)
		}
	}
	walk(c.t.Root)
	for key := range c.t.Definitions {
		if !used[key] {
			delete(c.t.Definitions, key)
		}
	}
}
