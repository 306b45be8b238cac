package controltest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// tags are those of a resource, however its type writes them.
func (r *resource) tags() map[string]string {
	tags := map[string]string{}
	if r.typ.TagInformation == nil {
		return tags
	}
	switch at := r.model[r.typ.TagInformation.TagPropertyName].(type) {
	case map[string]any:
		for k, v := range at {
			tags[k] = fmt.Sprint(v)
		}
	case []any:
		for _, e := range at {
			if entry, ok := e.(map[string]any); ok {
				tags[fmt.Sprint(entry["Key"])] = fmt.Sprint(entry["Value"])
			}
		}
	}
	return tags
}

var holder = regexp.MustCompile(`\$\{(\w+)\}`)

// arn is the resource's name in all of AWS: a property of its own, or as the schema writes it.
func (r *resource) arn() string {
	for _, name := range slices.Sorted(maps.Keys(r.model)) {
		if text, ok := r.model[name].(string); ok && strings.HasPrefix(text, "arn:") && r.typ.readOnly(name) {
			return text
		}
	}
	last := r.typ.PrimaryIdentifier[len(r.typ.PrimaryIdentifier)-1]
	return written(r.typ.ARNTemplate, func(name string) string {
		if v, ok := r.model[name]; ok {
			return fmt.Sprint(v)
		}
		return fmt.Sprint(r.model[last])
	})
}

// written is the template of an ARN with its holders filled in.
func written(template string, value func(name string) string) string {
	return holder.ReplaceAllStringFunc(template, func(found string) string {
		switch name := holder.FindStringSubmatch(found)[1]; name {
		case "Partition":
			return "aws"
		case "Region":
			return Region
		case "Account":
			return Account
		default:
			return value(name)
		}
	})
}

// tagged is what the tagging service answers: all with the tags asked for, on one page.
func (s *Server) tagged(in *input) any {
	list := []any{}
	for _, at := range slices.Sorted(maps.Keys(s.resources)) {
		r := s.resources[at]
		tags := r.tags()
		fits := len(tags) > 0
		for _, f := range in.TagFilters {
			fits = fits && slices.Contains(f.Values, tags[f.Key])
		}
		if arn := r.arn(); fits && arn != "" {
			entries := []any{}
			for _, k := range slices.Sorted(maps.Keys(tags)) {
				entries = append(entries, map[string]any{"Key": k, "Value": tags[k]})
			}
			list = append(list, map[string]any{"ResourceARN": arn, "Tags": entries})
		}
	}
	return map[string]any{"ResourceTagMappingList": list, "PaginationToken": ""}
}
