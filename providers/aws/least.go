package aws

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// LeastPolicy is the policy that allows what needs ask for, and no more. Actions on the same resources stand in one
// statement; the order of needs does not count, and neither do repetitions.
func LeastPolicy(needs []reconcile.Need) map[string]any {
	type right struct{ action, conditions string }
	on := map[right]map[string]bool{} // resources
	conditions := map[string]map[string]map[string][]string{}
	for _, need := range needs {
		if need.Provider != "aws" {
			continue
		}
		written := fmt.Sprint(need.Conditions) // sorted by its keys
		conditions[written] = need.Conditions
		for _, action := range need.Actions {
			if on[right{action, written}] == nil {
				on[right{action, written}] = map[string]bool{}
			}
			for _, r := range need.Resources {
				on[right{action, written}][r] = true
			}
			if len(need.Resources) == 0 {
				on[right{action, written}]["*"] = true
			}
		}
	}
	type where struct{ resources, conditions string }
	together := map[where][]string{} // actions
	for r, resources := range on {
		key := where{strings.Join(covering(resources), "\n"), r.conditions}
		together[key] = append(together[key], r.action)
	}
	var statements []Statement
	for _, key := range slices.SortedFunc(maps.Keys(together), func(a, b where) int {
		return cmp.Or(cmp.Compare(a.resources, b.resources), cmp.Compare(a.conditions, b.conditions))
	}) {
		slices.Sort(together[key])
		statements = append(statements, Statement{
			Actions: together[key], Resources: strings.Split(key.resources, "\n"), Conditions: conditions[key.conditions],
		})
	}
	return Policy(statements...)
}

// covering are resources without those that another one of them covers, sorted.
func covering(resources map[string]bool) []string {
	all := slices.Sorted(maps.Keys(resources))
	return slices.DeleteFunc(slices.Clone(all), func(r string) bool {
		return slices.ContainsFunc(all, func(wider string) bool { return wider != r && covers(wider, r) })
	})
}

// covers reports whether a pattern, in which * stands for any text, fits all that another one fits.
func covers(wide, narrow string) bool {
	parts := strings.Split(wide, "*")
	if len(parts) == 1 {
		return wide == narrow
	}
	last := parts[len(parts)-1]
	rest, ok := strings.CutPrefix(narrow, parts[0])
	if !ok || len(rest) < len(last) || !strings.HasSuffix(rest, last) {
		return false
	}
	rest = rest[:len(rest)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return true
}
