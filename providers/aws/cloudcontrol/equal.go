package cloudcontrol

import (
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// equality says when what is read means what is declared.
type equality struct{ *registry.Type }

// covers reports whether what is read has all that is declared, at a path with * for elements. What a service adds
// inside does not count, but for what had says was declared there before. Elements are as many as declared.
func (e equality) covers(n *registry.Node, at tree.Path, want, have, had any) bool {
	n = e.Follow(n)
	switch w := want.(type) {
	case object:
		if n.Free() {
			return sameDocument(at, want, have)
		}
		h, ok := have.(object)
		return ok && e.coversObject(n, at, w, h, had)
	case []any:
		h, ok := have.([]any)
		if !ok {
			return have == nil && len(w) == 0
		}
		hadList, _ := had.([]any)
		if n.Unordered {
			return len(w) == len(h) && e.matches(n, at, w, h, hadList)
		}
		if len(w) != len(h) {
			return false
		}
		for i := range w {
			if !e.covers(n.Items, at.Any(), w[i], h[i], elementOf(hadList, i)) {
				return false
			}
		}
		return true
	case string:
		if _, isText := have.(string); !isText && have != nil && n.Free() && (n.Is('o') || n.Is('a')) {
			return sameDocument(at, want, have)
		}
	}
	return e.same(at, want, have)
}

func elementOf(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func (e equality) coversObject(n *registry.Node, at tree.Path, want, have object, had any) bool {
	hadMap, _ := had.(object)
	for key, w := range want {
		below, path := e.below(n, at, key)
		if e.WriteOnlyAt(path) {
			continue
		}
		if !e.covers(below, path, w, have[key], hadMap[key]) {
			return false
		}
	}
	for key, h := range have {
		if _, wanted := want[key]; wanted || h == nil {
			continue
		}
		_, path := e.below(n, at, key)
		if before, declared := hadMap[key]; n.Values != nil || declared && !e.ReadOnlyAt(path) && tree.Equal(before, h) {
			return false
		}
	}
	return true
}

// below is the shape and the path of a key of an object or a map.
func (e equality) below(n *registry.Node, at tree.Path, key string) (*registry.Node, tree.Path) {
	if p := n.Properties[key]; p != nil {
		return p, at.Key(key)
	}
	if n.Values != nil {
		return n.Values, at.Any()
	}
	return &registry.Node{}, at.Key(key)
}

// matches pairs elements whose order does not count.
func (e equality) matches(n *registry.Node, at tree.Path, want, have, had []any) bool {
	taken := make([]bool, len(have))
	for _, w := range want {
		found := false
		for i, h := range have {
			if !taken[i] && e.covers(n.Items, at.Any(), w, h, e.before(n, at, had, h)) {
				taken[i], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// before is the element of what was declared that a read element came from.
func (e equality) before(n *registry.Node, at tree.Path, had []any, have any) any {
	for _, b := range had {
		if e.covers(n.Items, at.Any(), b, have, nil) {
			return b
		}
	}
	return nil
}

// same compares plain values. Services answer numbers as text and the other way round; where the registry says so
// they change the case, or answer an ARN for a name.
func (e equality) same(at tree.Path, want, have any) bool {
	if tree.Equal(want, have) {
		return true
	}
	if want == nil || have == nil {
		return false
	}
	if !plain(want) || !plain(have) {
		return sameDocument(at, want, have)
	}
	w, h := text(want), text(have)
	if w == h {
		return true
	}
	return e.LooseAt(at) && (strings.EqualFold(w, h) || endsIn(h, w) || endsIn(w, h))
}

func plain(v any) bool {
	switch v.(type) {
	case object, []any:
		return false
	}
	return true
}

// endsIn reports whether the last part of an ARN or path is word.
func endsIn(whole, word string) bool {
	rest, ok := strings.CutSuffix(whole, word)
	return ok && word != "" && (strings.HasSuffix(rest, "/") || strings.HasSuffix(rest, ":"))
}

var policyName = props.Pattern(`Polic(y|ies)(Document|Text)?$`)

// sameDocument compares values that the registry does not look into, which may be JSON text on either side. Policies say
// the same in several ways.
func sameDocument(at tree.Path, want, have any) bool {
	if policyName().MatchString(string(at)) {
		want, have = aws.CanonicalPolicy(want), aws.CanonicalPolicy(have)
	}
	return tree.Equal(decoded(want), decoded(have))
}

func decoded(v any) any {
	if s, ok := v.(string); ok {
		if d, err := tree.Decode([]byte(s)); err == nil && !plain(d) {
			return d
		}
	}
	return v
}
