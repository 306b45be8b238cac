// Package redact masks secret values in texts, plain and encoded.
//
// It knows the values that it was taught and the ways in which other texts spell them. It knows no secrets of its own
// and reads nothing.
package redact

import (
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Redactor knows the secret values of a run and masks them in texts: as they are, escaped for JSON, Go, XML, HTML and
// URLs, in hex and in base64, several of these inside each other, and any part of sixteen bytes or more that no public
// value has too. Its zero value is ready for use, by several goroutines at once.
type Redactor struct {
	mu     sync.RWMutex
	values map[string]bool
	index  *index // of all values, nil while there are none
	public map[string]bool
}

// Learn adds every string of a secret value.
func (r *Redactor) Learn(v any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tree.Walk(v, func(_ tree.Path, x any) bool {
		if s, ok := x.(string); ok && len(s) >= shortest && !r.values[s] {
			if r.values == nil {
				r.values, r.index = map[string]bool{}, newIndex()
			}
			// What was composed around a known secret is a secret as a whole; of its parts that one alone is.
			r.index.add(s, !r.found(s))
			r.values[s] = true
		}
		return true
	})
}

// Public adds the strings of a value that is no secret: a part of a secret that one of them holds too is not masked, a
// whole secret still is. Engine and commands tell what the program declares and what others may know.
func (r *Redactor) Public(v any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tree.Walk(v, func(_ tree.Path, x any) bool {
		if s, ok := x.(string); ok && len(s) >= window {
			if r.public == nil {
				r.public = map[string]bool{}
			}
			r.public[s] = true
		}
		return true
	})
}

// span is a part of a text.
type span struct{ from, to int32 }

// search calls yield with the places of secrets in a layer until it returns false. The lock is held.
func (r *Redactor) search(l layer, yield func(from, to int) bool) (more bool) {
	more = true
	r.index.find(l.text, func(from, to int, part bool) bool {
		if part && r.isPublic(l.text[from:to]) {
			return true
		}
		more = yield(from, to)
		return more
	})
	return more
}

// isPublic reports whether a part of a secret is known from elsewhere.
func (r *Redactor) isPublic(part string) bool {
	for s := range r.public {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// budget bounds what one text may decode to: a text can hold texts that hold texts.
func budget(text string) *int {
	n := 16*len(text) + 1<<12
	return &n
}

// found reports whether a text holds a secret. The lock is held.
func (r *Redactor) found(s string) bool {
	if r.index == nil || len(s) < shortest {
		return false
	}
	return !layers(original(s, false), deepest, budget(s), func(l layer) bool {
		return r.search(l, func(int, int) bool { return false })
	})
}

// Text returns a text in which secrets are masked.
func (r *Redactor) Text(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.found(s) {
		return s
	}
	var spans []span
	layers(original(s, true), deepest, budget(s), func(l layer) bool {
		return r.search(l, func(from, to int) bool {
			spans = append(spans, span{l.from[from], l.to[to-1]})
			return true
		})
	})
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	var b strings.Builder
	done := int32(0)
	for i := 0; i < len(spans); {
		at := spans[i]
		for i++; i < len(spans) && spans[i].from < at.to; i++ {
			at.to = max(at.to, spans[i].to)
		}
		b.WriteString(s[done:at.from])
		b.WriteString(reconcile.Mask)
		done = at.to
	}
	b.WriteString(s[done:])
	return b.String()
}

// Error returns an error whose own text is masked. What it wraps stays as it was, to be branched on.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	plain := err.Error()
	text := r.Text(plain)
	if text == plain {
		return err
	}
	return &maskedError{text: text, err: err}
}

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }

// Holds reports whether a value contains a known secret.
func (r *Redactor) Holds(v any) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.index != nil && tree.Any(v, func(x any) bool {
		s, ok := x.(string)
		return ok && r.found(s)
	})
}
