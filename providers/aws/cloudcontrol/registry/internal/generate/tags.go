package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
)

// tags says how a type is tagged, nil when it is not, or not in a way that an owner tag fits into.
func (c *converter) tags() *registry.Tags {
	said, ok := c.schema["tagging"].(obj)
	taggable, _ := said["taggable"].(bool)
	if said["taggable"] == nil {
		taggable = c.schema["taggable"] != false
	}
	if !taggable && (ok || c.schema["taggable"] == false) {
		return nil
	}
	property, _ := said["tagProperty"].(string)
	if property == "" {
		property = "/properties/Tags"
	}
	name := strings.TrimPrefix(property, "/properties/")
	n := c.t.Root.Properties[name]
	if n == nil {
		if taggable && ok {
			c.left["tags that are no property of their own"]++
		}
		return nil
	}
	t := &registry.Tags{Property: name, OnCreate: said["tagOnCreate"] != false, Fixed: said["tagUpdatable"] == false}
	if c.t.ReadOnlyAt(pathOf(name)) || !c.spelling(t, c.t.Follow(n)) {
		c.left["tags of another form"]++
		return nil
	}
	t.Fixed = t.Fixed || slices.Contains(c.t.CreateOnly, pathOf(name)) || c.t.Update == nil
	return t
}

// spelling finds how tags are written: a list of keys and values, or a map.
func (c *converter) spelling(t *registry.Tags, n *registry.Node) bool {
	if n.Values != nil || n.Is('o') && n.Items == nil && len(n.Properties) == 0 {
		return true
	}
	if n.Items == nil {
		return false
	}
	entry := c.t.Follow(n.Items)
	for _, names := range [][2]string{{"Key", "Value"}, {"TagKey", "TagValue"}, {"key", "value"}} {
		key, value := entry.Properties[names[0]], entry.Properties[names[1]]
		if key == nil || value == nil {
			continue
		}
		t.Key, t.Value = names[0], names[1]
		if pattern := c.t.Follow(key).Pattern; pattern != "" && !regexp.MustCompile(pattern).MatchString("athanor:stack") {
			return false
		}
		for _, also := range entry.Required {
			if also != t.Key && also != t.Value {
				t.Also = append(t.Also, also)
			}
		}
		return true
	}
	return false
}

var placeholder = regexp.MustCompile(`\$\{(\w+)\}`)

// shapeOfARN is an ARN's service and resource with the parts of the identity in braces, "" when these do not all stand in
// it. Partition, region and account are those of the place.
func shapeOfARN(t *registry.Type, template string) string {
	fields := strings.SplitN(template, ":", 6)
	if len(fields) != 6 || t.Tags == nil {
		return ""
	}
	shape := fields[2] + ":" + fields[5]
	if t.Name == "AWS::SecretsManager::Secret" { // its Id is its ARN, whatever it is called
		return placeholder.ReplaceAllString(shape, "{*}")
	}
	holders := placeholder.FindAllStringSubmatch(shape, -1)
	ids := map[string]string{}
	for _, p := range t.ID {
		ids[strings.ToLower(string(p))] = string(p)
	}
	used := map[string]bool{}
	for _, h := range holders {
		name, ok := ids[strings.ToLower(h[1])]
		switch {
		case ok:
		case len(holders) == 1 && len(t.ID) == 1:
			name = string(t.ID[0])
		case len(t.ID) == 1 && isARN(string(t.ID[0])):
			name = "*" // the whole ARN is the identity
		default:
			return ""
		}
		shape = strings.Replace(shape, h[0], "{"+name+"}", 1)
		used[name] = true
	}
	if len(t.ID) == 1 && isARN(string(t.ID[0])) {
		return placeholderOf.ReplaceAllString(shape, "{*}")
	}
	if len(used) != len(t.ID) {
		return ""
	}
	return shape
}

var placeholderOf = regexp.MustCompile(`\{[^}]+\}`)

// namesake reports a type whose service is called as in the shape of an ARN: DocDB's clusters are RDS's there.
func namesake(name, shape string) bool {
	service, _, _ := strings.Cut(shape, ":")
	return strings.EqualFold(strings.Split(name, "::")[1], service)
}

func isARN(property string) bool { return strings.HasSuffix(strings.ToLower(property), "arn") }

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
