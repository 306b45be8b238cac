package tree

import "fmt"

// Members goes through a document that [Canonical] wrote of an object, and makes no tree of what is not asked for. For
// each member it calls visit, names rising, which reads what it wants of it. A document whose names do not rise, or that
// is no object, is an error: a *SyntaxError. Visit may have been called before that is known.
func Members(data []byte, visit func(name string, m Member)) error {
	return new(Reader).Members(data, visit)
}

// Reader goes through many documents, one after the other. It is for one goroutine.
type Reader struct{ d decoder }

// Members is the function of that name.
func (r *Reader) Members(data []byte, visit func(name string, m Member)) error {
	d := &r.d
	*d = decoder{s: string(data), apart: true, elements: d.elements[:0], written: d.written}
	d.space()
	d.visit(0, visit)
	return d.end()
}

// visit goes through an object for Members.
func (d *decoder) visit(depth int, visit func(name string, m Member)) {
	if d.peek() != '{' {
		d.fail("want an object")
		return
	}
	last, first := "", true
	d.members(func(name string, start int) bool {
		if !first && name <= last {
			d.at = start
			d.fail(fmt.Sprintf("key %q is out of order", name))
			return false
		}
		last, first = name, false
		m := Member{d: d, depth: depth + 1, at: d.at}
		visit(name, m)
		m.Value() // unless it was read
		return d.err == nil
	})
}

// Member is a member of an object whose value was not read yet. It can be read once, while it is visited.
type Member struct {
	d     *decoder
	depth int
	at    int // where its value begins
}

// Value reads it. It is nil when it was read already, and when the document is broken.
func (m Member) Value() any {
	if m.d.at != m.at {
		return nil
	}
	v, _ := m.d.value(m.depth)
	return v
}

// Map reads it as a map, nil when it is none.
func (m Member) Map() map[string]any {
	v, _ := m.Value().(map[string]any)
	return v
}

// MapAs is [Member.Map], and gives the very map that it is given where that is what would be read.
func (m Member) MapAs(known map[string]any) map[string]any {
	if len(known) == 0 || m.d.at != m.at {
		return m.Map()
	}
	m.d.written = AppendCanonical(m.d.written[:0], known)
	end := m.at + len(m.d.written) // an object ends with its own bracket: nothing longer begins with it
	if end > len(m.d.s) || m.d.s[m.at:end] != string(m.d.written) {
		return m.Map()
	}
	m.d.at = end
	return known
}

// Text reads it as a text, "" when it is none.
func (m Member) Text() string {
	v, _ := m.Value().(string)
	return v
}

// True reads it and reports whether it is true.
func (m Member) True() bool {
	v, _ := m.Value().(bool)
	return v
}

// Members goes through it as an object; one that is none breaks the document.
func (m Member) Members(visit func(name string, m Member)) {
	if m.d.at != m.at {
		return
	}
	if m.depth > maxDepth {
		m.d.fail("nested too deep")
		return
	}
	m.d.visit(m.depth, visit)
}
