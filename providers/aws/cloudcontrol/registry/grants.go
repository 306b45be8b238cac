package registry

import (
	"maps"
	"slices"
	"strings"
)

// handlers are those that a type may have, by letter.
func (t *Type) handlers() map[string]*Handler {
	return map[string]*Handler{"c": t.Create, "r": t.Read, "d": t.Delete, "u": t.Update, "l": t.List}
}

// Shorten writes the permissions of all handlers into Grants: by the letters of the handlers that need them,
// "ec2:CreateTags,CreateVpc s3:GetObject".
func (t *Type) Shorten() {
	needs := map[string]string{}
	for _, letter := range []string{"c", "r", "d", "u", "l"} {
		h := t.handlers()[letter]
		if h == nil {
			continue
		}
		for _, p := range h.Permissions {
			needs[p] += letter
		}
	}
	by := map[string]map[string][]string{}
	for _, p := range slices.Sorted(maps.Keys(needs)) {
		letters := needs[p]
		if by[letters] == nil {
			by[letters] = map[string][]string{}
		}
		service, action, _ := strings.Cut(p, ":")
		by[letters][service] = append(by[letters][service], action)
	}
	t.Grants = map[string]string{}
	for letters, services := range by {
		var words []string
		for _, service := range slices.Sorted(maps.Keys(services)) {
			words = append(words, service+":"+strings.Join(services[service], ","))
		}
		t.Grants[letters] = strings.Join(words, " ")
	}
}

// grant gives the handlers what Grants says.
func (t *Type) grant() {
	all := t.handlers()
	for letters, text := range t.Grants {
		for word := range strings.FieldsSeq(text) {
			service, actions, _ := strings.Cut(word, ":")
			for action := range strings.SplitSeq(actions, ",") {
				for _, letter := range letters {
					if h := all[string(letter)]; h != nil {
						h.Permissions = append(h.Permissions, service+":"+action)
					}
				}
			}
		}
	}
	for _, h := range all {
		if h != nil {
			slices.Sort(h.Permissions)
		}
	}
}
