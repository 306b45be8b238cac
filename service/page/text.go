package page

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// status is how something is: a shape and a word, and a colour that repeats them.
type status struct{ Class, Icon, Word string }

// verb is what is done to a resource.
type verb struct{ Class, Glyph, Word, Past, Now string }

// verbs are the actions of the engine by their names in events and plans.
var verbs = map[string]verb{
	"create":    {"c", "+", "create", "created", "creating"},
	"update":    {"u", "~", "update", "updated", "updating"},
	"replace":   {"r", "±", "replace", "replaced", "replacing"},
	"delete":    {"d", "-", "delete", "deleted", "deleting"},
	"adopt":     {"a", "<", "adopt", "adopted", "adopting"},
	"recover":   {"a", "=", "recover", "recovered", "recovering"},
	"move":      {"a", ">", "move", "moved", "moving"},
	"forget":    {"d", "×", "remove from state", "removed from state", "removing from state"},
	"wait":      {"", "…", "wait", "waits", "waiting"},
	"blocked":   {"d", "!", "blocked", "blocked", "blocked"},
	"left":      {"", "…", "left to the next deploy", "left", "left"},
	"unchanged": {"", " ", "unchanged", "unchanged", "comparing"},
}

func verbOf(action string) verb {
	if v, known := verbs[action]; known {
		return v
	}
	return verb{"", "·", action, action, action}
}

// moment is a time as pages show it.
type moment struct{ ISO, Ago, Clock, Full string }

func momentOf(t, now time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &moment{t.Format(time.RFC3339), statestore.Ago(now.Sub(t)) + " ago", t.Format(time.TimeOnly), t.Format("2 Jan 2006 15:04:05 MST")}
}

// plainWord is what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellCommand writes a command that people copy: a name from state must not become another command in their shell.
func shellCommand(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; !plainWord.MatchString(w) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// seconds writes how long something took.
func seconds(s float64) string {
	if s < 0.095 {
		return fmt.Sprintf("%.0f ms", s*1000)
	}
	if s < 59.95 {
		return fmt.Sprintf("%.1f s", s)
	}
	whole := int(s + 0.5)
	if whole < 3600 {
		return fmt.Sprintf("%dm %ds", whole/60, whole%60)
	}
	return fmt.Sprintf("%dh %dm", whole/3600, whole/60%60)
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// shortDigest cuts a digest to what people compare.
func shortDigest(s string) string {
	if len(s) > 16 {
		return s[:16] + "…"
	}
	return s
}
