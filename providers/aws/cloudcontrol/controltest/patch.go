package controltest

import (
	"fmt"
	"strings"
)

// operation is one of a JSON patch (RFC 6902), as far as Cloud Control's users need them.
type operation struct {
	Op, Path string
	Value    any
}

// apply is a model with a patch applied; problem says why that is not possible.
func apply(patch []operation, model map[string]any) (next map[string]any, problem string) {
	next, _ = copied(model).(map[string]any)
	for _, o := range patch {
		steps := strings.Split(strings.TrimPrefix(o.Path, "/"), "/")
		for i, s := range steps {
			steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
		}
		parent := next
		for _, s := range steps[:len(steps)-1] {
			below, ok := parent[s].(map[string]any)
			if !ok {
				return nil, fmt.Sprintf("patch: %s: there is nothing to set it in", o.Path)
			}
			parent = below
		}
		name := steps[len(steps)-1]
		_, there := parent[name]
		switch {
		case o.Op == "add", o.Op == "replace" && there:
			parent[name] = o.Value
		case o.Op == "remove" && there:
			delete(parent, name)
		default:
			return nil, fmt.Sprintf("patch: %s %s is not possible", o.Op, o.Path)
		}
	}
	return next, ""
}
