// Package causes finds the errors that several resources have in common, so that each is reported once, with the addresses
// it concerns. It is pure: it knows texts and addresses, and neither plans nor runs.
package causes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Error is what went wrong with one resource. Its texts are redacted.
type Error struct {
	Address string
	Text    string
	Hint    string
	// Own are the names and identities of the resource, which its text may hold.
	Own []string
	// Follows is the address whose error caused this one, "" when this one has a cause of its own.
	Follows string
	// Common is why every other resource of its location fails, "" where the error may be the resource's own; CommonHint is what can
	// be done about that.
	Common, CommonHint string
	// Cause is the ID of the cause, where that is known already.
	Cause string
}

// Cause is one error with all addresses that it concerns.
type Cause struct {
	ID    string `json:"id"`
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
	// Addresses are in the order in which the errors were given.
	Addresses []string `json:"addresses"`
	// Follows is the address whose error caused this one.
	Follows string `json:"follows,omitempty"`
}

// Shared reports whether the cause concerns more than one address.
func (c *Cause) Shared() bool { return len(c.Addresses) > 1 }

// Group returns the causes of errors: first those that have their own cause, then those that follow from others.
func Group(errs []Error) []Cause {
	var all []Cause
	at := map[string]int{}
	for _, e := range errs {
		id := e.ID()
		i, known := at[id]
		if !known {
			at[id] = len(all)
			all = append(all, Cause{ID: id, Error: e.Text, Hint: e.Hint, Addresses: []string{e.Address}, Follows: e.Follows})
			continue
		}
		c := &all[i]
		c.Addresses = append(c.Addresses, e.Address)
		text, hint := e.Text, e.Hint
		if e.Common != "" {
			text, hint = e.Common, e.CommonHint
		}
		if c.Error != e.Text {
			c.Error = general(text, e.Own)
		}
		if c.Hint != e.Hint {
			c.Hint = general(hint, e.Own)
		}
	}
	slices.SortStableFunc(all, func(a, b Cause) int { return cmp.Compare(min(1, len(a.Follows)), min(1, len(b.Follows))) })
	return all
}

// ID returns the name of the cause of an error, which is the same in every run and for every resource that it concerns.
func (e *Error) ID() string {
	if e.Cause != "" {
		return e.Cause
	}
	text, hint := e.Text, e.Hint
	if e.Common != "" {
		text, hint = e.Common, "" // what is done about one resource may be said beside it
	}
	sum := sha256.Sum256([]byte(general(text, e.Own) + "\x00" + general(hint, e.Own) + "\x00" + e.Follows))
	return hex.EncodeToString(sum[:4])
}

// placeholder stands for what differs from one resource to another.
const placeholder = "…"

// passing is what differs from one answer of a service to the next: names of requests, ports of connections, attempts, times.
var passing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:request|ray|trace|correlation)[ _-]?id"?\s*[:=]\s*"?[\w-]*|` +
		`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|` +
		`:\d+->|\(\d+ attempts?\)|\b(?:\d+(?:\.\d+)?(?:h|m|s|ms|µs))+\b|\b\d\d:\d\d:\d\d\b`)
})

// general returns a text without what names one resource or one answer.
func general(text string, own []string) string {
	text = passing().ReplaceAllString(text, placeholder)
	own = slices.Clone(own)
	slices.SortFunc(own, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // a name may be a part of an identity
	for _, name := range slices.Compact(own) {
		if len(name) > 1 { // a letter is a word of every text
			text = withoutWord(text, name)
		}
	}
	return text
}

// withoutWord replaces a name where it is no part of a longer word.
func withoutWord(text, name string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, name)
		if i < 0 {
			return b.String() + text
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(name):])
		b.WriteString(text[:i])
		if inWord(before) || inWord(after) {
			b.WriteString(name)
		} else {
			b.WriteString(placeholder)
		}
		text = text[i+len(name):]
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
