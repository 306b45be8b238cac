package tree

import "strconv"

// Trail is where a walk through a tree is: the steps from the root. A walk goes in and out far more often than anybody
// asks for its path, which is made only then. The zero Trail is at the root.
type Trail struct {
	steps []Step
	first [8]Step // room for the depth of most trees
}

// Enter goes on to the entry of a map.
func (t *Trail) Enter(key string) { t.push(Step{Key: key, Index: -1}) }

// Element goes on to the element of a list.
func (t *Trail) Element(i int) { t.push(Step{Index: i}) }

func (t *Trail) push(s Step) {
	if t.steps == nil {
		t.steps = t.first[:0]
	}
	t.steps = append(t.steps, s)
}

// Leave goes back by one step.
func (t *Trail) Leave() { t.steps = t.steps[:len(t.steps)-1] }

// Path is the place where the walk is.
func (t *Trail) Path() Path {
	var space [64]byte
	b := space[:0]
	for _, s := range t.steps {
		switch {
		case s.Index >= 0:
			b = append(strconv.AppendInt(append(b, '['), int64(s.Index), 10), ']')
		case plainKey(s.Key) && len(b) == 0:
			b = append(b, s.Key...)
		case plainKey(s.Key):
			b = append(append(b, '.'), s.Key...)
		default:
			b = append(appendString(append(b, '['), s.Key), ']')
		}
	}
	return Path(b)
}
