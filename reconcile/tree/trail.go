package tree

import "strconv"

// Trail is where a walk through a tree is: the steps from the root. A walk goes in and out far more often than anybody
// asks for its path, which is made only then. The zero Trail is at the root.
type Trail struct {
	depth int
	near  [6]Step // the first steps, which are all that most walks take: a slice would be on the heap
	far   []Step
}

// Enter goes on to the entry of a map.
func (t *Trail) Enter(key string) { t.push(Step{Key: key, Index: -1}) }

// Element goes on to the element of a list.
func (t *Trail) Element(i int) { t.push(Step{Index: i}) }

// AtRoot reports whether nothing was entered.
func (t *Trail) AtRoot() bool { return t.depth == 0 }

func (t *Trail) push(s Step) {
	if t.depth < len(t.near) {
		t.near[t.depth] = s
	} else {
		t.far = append(t.far[:t.depth-len(t.near)], s)
	}
	t.depth++
}

// Leave goes back by one step.
func (t *Trail) Leave() { t.depth-- }

// Path is the place where the walk is.
func (t *Trail) Path() Path {
	var room [64]byte
	b := room[:0]
	for i := range t.depth {
		if i < len(t.near) {
			b = appendStep(b, &t.near[i])
		} else {
			b = appendStep(b, &t.far[i-len(t.near)])
		}
	}
	return Path(b)
}

// appendStep appends what Key and Index make of a step.
func appendStep(b []byte, s *Step) []byte {
	switch {
	case s.Index >= 0:
		return append(strconv.AppendInt(append(b, '['), int64(s.Index), 10), ']')
	case !plainKey(s.Key):
		return append(appendString(append(b, '['), s.Key), ']')
	case len(b) > 0:
		b = append(b, '.')
	}
	return append(b, s.Key...)
}
