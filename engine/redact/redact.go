// Package redact masks secret values in texts, plain and encoded.
//
// It knows the values that it was taught and the forms in which they show up in other texts. It knows no secrets of its own
// and reads nothing.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// shortest is the length below which a secret is not looked for inside other texts: masking every "a"
// would hide nothing and garble everything.
const shortest = 4

// Redactor knows the secret values of a run and masks them in texts, plain and encoded. Its zero value is ready for use, by
// several goroutines at once.
type Redactor struct {
	mu       sync.Mutex
	values   map[string]bool
	replacer *strings.Replacer // of all values, nil when they changed since
	finders  []finder          // the same values in parts, the largest first
}

// finder finds some of the values in a text. Secrets become known one by one while texts are looked through, and a
// finder for all of them would be built anew for each: so they are merged like the digits of a number that counts up,
// and each secret is built in a logarithmic number of times.
type finder struct {
	values []string
	in     *strings.Replacer // nil until it is used
}

// Learn adds every string of a secret value.
func (r *Redactor) Learn(v any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tree.Walk(v, func(_ tree.Path, x any) bool {
		if s, ok := x.(string); ok && len(s) >= shortest && !r.values[s] {
			if r.values == nil {
				r.values = map[string]bool{}
			}
			r.values[s], r.replacer = true, nil
			r.join(s)
		}
		return true
	})
}

// join adds a value to the finders.
func (r *Redactor) join(value string) {
	f := finder{values: []string{value}}
	for n := len(r.finders); n > 0 && len(r.finders[n-1].values) <= len(f.values); n-- {
		f.values = append(f.values, r.finders[n-1].values...)
		r.finders = r.finders[:n-1]
	}
	r.finders = append(r.finders, f)
}

// finds reports whether a text holds a secret. The lock is held.
func (r *Redactor) finds(s string) bool {
	for i := range r.finders {
		f := &r.finders[i]
		if f.in == nil {
			f.in = strings.NewReplacer(pairs(slices.Values(f.values))...)
		}
		if f.in.Replace(s) != s {
			return true
		}
	}
	return false
}

// Text returns a text in which secrets are masked.
func (r *Redactor) Text(s string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.finds(s) {
		return s
	}
	if r.replacer == nil {
		r.replacer = strings.NewReplacer(pairs(maps.Keys(r.values))...)
	}
	return r.replacer.Replace(s)
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

// pairs are what to mask, longer first, so that a secret inside another never leaves a rest.
func pairs(values iter.Seq[string]) []string {
	forms := map[string]bool{}
	for v := range values {
		for _, f := range encodings(v) {
			forms[f] = true
		}
	}
	sorted := make([]string, 0, len(forms))
	for f := range forms {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(sorted))
	for _, f := range sorted {
		pairs = append(pairs, f, reconcile.Mask)
	}
	return pairs
}

// encodings are the forms in which a secret shows up in texts of others.
func encodings(s string) []string {
	quoted := string(tree.Canonical(s))
	forms := []string{s, quoted[1 : len(quoted)-1], url.QueryEscape(s), url.PathEscape(s)}
	if html, err := json.Marshal(s); err == nil {
		forms = append(forms, string(html[1:len(html)-1]))
	}
	// Base64 of a longer text that holds the secret shows it at one of three alignments.
	for shift := range 3 {
		padded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + s))
		from := (shift*8 + 5) / 6
		to := (shift + len(s)) * 8 / 6
		if to-from >= shortest {
			core := padded[from:to]
			forms = append(forms, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
		}
	}
	return forms
}

// Holds reports whether a value contains a known secret.
func (r *Redactor) Holds(v any) bool {
	r.mu.Lock()
	none := len(r.finders) == 0
	r.mu.Unlock()
	return !none && tree.Any(v, func(x any) bool {
		s, ok := x.(string)
		if !ok {
			return false
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.finds(s)
	})
}
