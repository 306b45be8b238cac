package aws

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// LeastPolicy is the policy that allows what needs ask for, and no more. Actions on the same resources stand in one
// statement; the order of needs does not count, and neither do repetitions.
func LeastPolicy(needs []reconcile.Need) map[string]any {
	on := map[string]map[string]bool{} // resources, by action
	for _, need := range needs {
		if need.Provider != "aws" {
			continue
		}
		for _, action := range need.Actions {
			if on[action] == nil {
				on[action] = map[string]bool{}
			}
			for _, r := range need.Resources {
				on[action][r] = true
			}
			if len(need.Resources) == 0 {
				on[action]["*"] = true
			}
		}
	}
	together := map[string][]string{} // actions, by resources
	for action, resources := range on {
		key := strings.Join(covering(resources), "\n")
		together[key] = append(together[key], action)
	}
	var statements []Statement
	for _, key := range slices.Sorted(maps.Keys(together)) {
		slices.Sort(together[key])
		statements = append(statements, Statement{Actions: together[key], Resources: strings.Split(key, "\n")})
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
