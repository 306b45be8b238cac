package tree

import (
	"fmt"
	"strconv"
	"strings"
)

// Path is the canonical text of a place in a tree: a.b[0].c["odd key"]. The root is "". A key that is not
// [A-Za-z_][A-Za-z0-9_-]* is written as a JSON string in brackets. In patterns, such as the paths of
// options, a step * stands for any key or index.
//
// Paths made by Key, Index, Any and ParsePath, and constants written in that form, can be compared as text.
type Path string

// Step is one part of a path.
type Step struct {
	// Key is the key of a map, when Index is -1 and Any is false.
	Key string
	// Index is the place in a list, from 0; -1 for a key or a wildcard.
	Index int
	// Any says that this is a wildcard.
	Any bool
}

// PathError says where a text stops being a path.
type PathError struct {
	Text string
	// At is the offset in bytes.
	At  int
	Why string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path %q: at %d: %s", e.Text, e.At, e.Why)
}

// Key is the path of an entry of the map at p.
func (p Path) Key(name string) Path {
	if !plainKey(name) {
		b := make([]byte, 0, len(p)+len(name)+4)
		b = append(append(b, p...), '[')
		return Path(append(appendString(b, name), ']'))
	}
	if p == "" {
		return Path(name)
	}
	return p + "." + Path(name)
}

// Index is the path of an element of the list at p.
func (p Path) Index(i int) Path {
	return p + Path("["+strconv.Itoa(i)+"]")
}

// Any is the pattern that stands for every entry of the map or list at p.
func (p Path) Any() Path {
	if p == "" {
		return "*"
	}
	return p + ".*"
}

// Join is the path that leads to p and from there along q.
func (p Path) Join(q Path) Path {
	if p == "" || q == "" || q[0] == '[' {
		return p + q
	}
	return p + "." + q
}

// Steps are the parts of p, none for the root. Of a text that is no path, what does not parse becomes one key.
func (p Path) Steps() []Step {
	if p == "" {
		return nil
	}
	steps := make([]Step, 0, 1+strings.Count(string(p), ".")+strings.Count(string(p), "["))
	for p != "" {
		var s Step
		s, p, _ = p.next()
		steps = append(steps, s)
	}
	return steps
}

// First is the first of p's steps; ok is false for the root, which has none.
func (p Path) First() (s Step, ok bool) {
	s, _, _ = p.next()
	return s, p != ""
}

// Overlaps reports whether p and q are one path, or one of them lies below the other.
func (p Path) Overlaps(q Path) bool { return p.Within(q) || q.Within(p) }

// Within reports whether p is q or lies below it; q may hold wildcards.
func (p Path) Within(q Path) bool {
	if !strings.Contains(string(q), "*") {
		rest, ok := strings.CutPrefix(string(p), string(q))
		return ok && (rest == "" || q == "" || rest[0] == '.' || rest[0] == '[')
	}
	for q != "" {
		if p == "" {
			return false
		}
		var have, want Step
		have, p, _ = p.next()
		want, q, _ = q.next()
		if have != want && !want.Any {
			return false
		}
	}
	return true
}

// Parent is p without its last step; the root is its own parent.
func (p Path) Parent() Path {
	rest := p
	for {
		_, after, _ := rest.next()
		if after == "" {
			return p[:len(p)-len(rest)].trimDot()
		}
		rest = after
	}
}

func (p Path) trimDot() Path {
	if n := len(p); n > 0 && p[n-1] == '.' {
		return p[:n-1]
	}
	return p
}

// ParsePath checks s and puts it into canonical form. The error is a *PathError.
func ParsePath(s string) (Path, error) {
	var p Path
	// Only quoted keys and wildcards have more than one form; all else is checked and stays as it is.
	rewrites := strings.ContainsAny(s, `"*`)
	for rest := Path(s); rest != ""; {
		at := len(s) - len(rest)
		if at == 0 && rest[0] == '.' {
			return "", &PathError{Text: s, At: 0, Why: "a path begins with a key or an index"}
		}
		step, after, why := rest.next()
		if why != "" {
			return "", &PathError{Text: s, At: at, Why: why}
		}
		if rewrites {
			p = p.then(step)
		}
		rest = after
		if rest == "." {
			return "", &PathError{Text: s, At: len(s) - 1, Why: "a key is missing after the dot"}
		}
	}
	if !rewrites {
		return Path(s), nil
	}
	return p, nil
}

// then is the path of what step leads to from p.
func (p Path) then(step Step) Path {
	switch {
	case step.Any:
		return p.Any()
	case step.Index >= 0:
		return p.Index(step.Index)
	}
	return p.Key(step.Key)
}

// next cuts the first step off p, which is not the root. When why is not empty the text is no path, and all
// of it is the step.
func (p Path) next() (step Step, rest Path, why string) {
	if p == "" {
		return Step{Index: -1}, "", ""
	}
	if p[0] == '[' {
		return p.nextBracket()
	}
	n := 0
	for n < len(p) && keyByte(p[n], n == 0) {
		n++
	}
	switch {
	case n == 0 && p[0] == '*':
		n, step = 1, Step{Index: -1, Any: true}
	case n == 0:
		return p.whole("a key begins with a letter or _; write others as [\"...\"]")
	default:
		step = Step{Key: string(p[:n]), Index: -1}
	}
	return p.after(step, n)
}

func (p Path) nextBracket() (Step, Path, string) {
	if len(p) > 1 && p[1] == '"' {
		key, n, why := scanString(string(p), 2)
		if why != "" {
			return p.whole(why)
		}
		if n >= len(p) || p[n] != ']' {
			return p.whole("a bracket is not closed")
		}
		return p.after(Step{Key: key, Index: -1}, n+1)
	}
	inside, _, ok := strings.Cut(string(p[1:]), "]")
	if !ok {
		return p.whole("a bracket is not closed")
	}
	if inside == "*" {
		return p.after(Step{Index: -1, Any: true}, 3)
	}
	i, err := strconv.ParseUint(inside, 10, 31)
	if err != nil || len(inside) > 1 && inside[0] == '0' {
		return p.whole("want an index, * or a quoted key in the brackets")
	}
	return p.after(Step{Index: int(i)}, len(inside)+2)
}

// after splits p behind the n bytes of step, and the dot that follows when a key comes next.
func (p Path) after(step Step, n int) (Step, Path, string) {
	rest := p[n:]
	switch {
	case rest == "" || rest[0] == '[':
	case rest == ".":
		// Left in place for ParsePath to report; Steps sees an odd key.
	case rest[0] == '.' && rest[1] != '[':
		rest = rest[1:]
	default:
		return p.whole("want a dot or a bracket after a step")
	}
	return step, rest, ""
}

func (p Path) whole(why string) (Step, Path, string) {
	return Step{Key: string(p), Index: -1}, "", why
}

func plainKey(s string) bool {
	for i := range len(s) {
		if !keyByte(s[i], i == 0) {
			return false
		}
	}
	return s != ""
}

func keyByte(c byte, first bool) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		return true
	}
	return !first && ('0' <= c && c <= '9' || c == '-')
}
