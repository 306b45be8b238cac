package plan

import (
	"slices"
	"strconv"
	"time"
)

// AppendJSON appends the event as encoding/json writes it. It returns false, and to as it was, for an event that needs
// encoding/json: a text that has to be escaped, a time or a duration out of the ordinary. A run has two events for each resource,
// nearly all of them plain, and each is written twice.
func (e *Event) AppendJSON(to []byte) (line []byte, ok bool) {
	texts := [...]string{
		e.Run, string(e.Type), e.Address, e.Kind, string(e.Action), string(e.Status), e.Note, e.Error, e.Hint, e.Cause, string(e.Class),
	}
	for _, text := range texts {
		if !plain(text) {
			return to, false
		}
	}
	_, zone := e.Time.Zone()
	year := e.Time.Year()
	if zone != 0 || year < 0 || year > 9999 || slices.ContainsFunc(e.Paths, func(p string) bool { return !plain(p) }) {
		return to, false
	}
	if e.Elapsed != 0 && !(e.Elapsed >= 1e-6 && e.Elapsed < 1e21) { // others have an exponent, or are no numbers
		return to, false
	}
	line = e.Time.UTC().AppendFormat(append(to, `{"time":"`...), time.RFC3339Nano)
	line = append(append(line, `","run":"`...), e.Run...)
	line = strconv.AppendUint(append(line, `","seq":`...), e.Seq, 10)
	line = append(append(append(line, `,"type":"`...), e.Type...), '"')
	for i, name := range [...]string{"address", "kind", "action", "status", "note", "error", "hint", "cause", "class"} {
		if text := texts[i+2]; text != "" {
			line = append(append(append(append(line, ',', '"'), name...), `":"`...), text...)
			line = append(line, '"')
		}
	}
	for i, path := range e.Paths {
		before := `","`
		if i == 0 {
			before = `,"paths":["`
		}
		line = append(append(line, before...), path...)
	}
	if len(e.Paths) > 0 {
		line = append(line, `"]`...)
	}
	if e.Elapsed != 0 {
		line = strconv.AppendFloat(append(line, `,"elapsed":`...), e.Elapsed, 'f', -1, 64)
	}
	if e.Total != 0 {
		line = strconv.AppendInt(append(line, `,"total":`...), int64(e.Total), 10)
	}
	return append(line, '}'), true
}

// plain reports whether no encoder of JSON escapes anything in a text: not for JSON, not for HTML.
func plain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
