package kind

import (
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// NameRule is what a service takes as a name.
type NameRule struct {
	// Min and Max are the least and the greatest length in bytes, Suffix included.
	Min, Max int
	// Marks are the characters allowed beside letters and digits. Lower: upper-case letters are not.
	Marks string
	Lower bool
	// Inner: a name begins and ends with a letter or digit.
	Inner bool
	// Suffix is required at the end, and its characters need not be allowed elsewhere (".fifo").
	Suffix string
	// Any: given names may hold any characters, without spaces around them. Generated ones hold those above.
	Any bool
	// Note is said of a name that the rule refuses, beside what the rule is: when Suffix is required.
	Note string
}

// Allowed reports whether a name may hold the character.
func (n NameRule) Allowed(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		return true
	case r >= 'A' && r <= 'Z':
		return !n.Lower
	}
	return strings.ContainsRune(n.Marks, r)
}

// Problem is what is wrong with a given name, "" when nothing is.
func (n NameRule) Problem(name string) string {
	bare, ends := strings.CutSuffix(name, n.Suffix)
	refused := func(r rune) bool { return !n.Allowed(r) }
	inner := !n.Inner || strings.Trim(bare, n.Marks) == bare
	if n.Any {
		inner, refused = strings.TrimSpace(name) == name, func(rune) bool { return false }
	}
	if ends && bare != "" && len(name) >= n.Min && len(name) <= n.Max && inner && !strings.ContainsFunc(bare, refused) {
		return ""
	}
	return n.String()
}

// String is the rule in words.
func (n NameRule) String() string {
	if n.Any {
		return fmt.Sprintf("want up to %d bytes without spaces around them", n.Max)
	}
	letters := "letters"
	if n.Lower {
		letters = "lower-case letters"
	}
	kinds := []string{letters, "digits"}
	for _, mark := range n.Marks {
		kinds = append(kinds, string(mark))
	}
	last := len(kinds) - 1
	length := fmt.Sprintf("up to %d", n.Max)
	if n.Min > 1 {
		length = fmt.Sprintf("%d to %d", n.Min, n.Max)
	}
	text := fmt.Sprintf("want %s %s and %s", length, strings.Join(kinds[:last], ", "), kinds[last])
	if n.Inner {
		text += ", with a letter or digit at both ends"
	}
	if n.Suffix != "" && n.Note == "" {
		text += ", and " + n.Suffix + " at the end"
	}
	if n.Note != "" {
		text += "; " + n.Note
	}
	return text
}

// format is the rule as generated names are shaped by it.
func (n NameRule) format() reconcile.Naming {
	return reconcile.Naming{Max: n.Max, Allowed: n.Allowed, Lower: n.Lower, Suffix: n.Suffix}
}
