package token

import (
	"strings"
	"unicode/utf8"
)

// Has reports whether s holds the beginning of a token. It does not check the token.
func Has(s string) bool {
	return strings.Contains(s, plainOpen) || strings.Contains(s, shiftedOpen)
}

// HasOnlyRefs reports that s holds no token but references to resources, as far as that shows without reading any: whatever else a
// token stands for has a colon in it, or is spelt in the other way.
func HasOnlyRefs(s string) bool {
	return !strings.Contains(s, ":") && !strings.Contains(s, shiftedOpen)
}

// Scan splits s into literal text and tokens; text without tokens is one part, and "" is none. The error is a
// *[DamagedError] when a token is cut, misspelt or not closed, and when the text holds the trace of a token
// that went through percent, \u, base64 or hex encoding.
func Scan(s string) ([]Part, error) { return scan(s, parseBody) }

// scan is Scan with a reader of what stands inside a token.
func scan(s string, read func(body string) (*Expr, bool)) ([]Part, error) {
	if s == "" {
		return nil, nil
	}
	if err := ragged(s); err != nil {
		return nil, err
	}
	opened := strings.Count(s, plainOpen) + strings.Count(s, shiftedOpen)
	parts, start := make([]Part, 0, 2*opened+1), 0
	for start < len(s) {
		at, mark := nextBracket(s, start)
		if text := s[start:at]; text != "" {
			if err := trace(text, start); err != nil {
				return nil, err
			}
			parts = append(parts, Part{Text: text})
		}
		if mark == "" {
			break
		}
		if mark == plainClose || mark == shiftedClose {
			return nil, &DamagedError{At: at, Why: "an end without a beginning"}
		}
		e, end, err := token(s, at, mark, read)
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{Expr: e})
		start = end
	}
	return parts, nil
}

// literal reports text without any bracket, and what is wrong with it. It spares such text the parts of Scan.
func literal(s string) (bool, error) {
	if _, mark := nextBracket(s, 0); mark != "" {
		return false, nil
	}
	if err := ragged(s); err != nil {
		return true, err
	}
	return true, trace(s, 0)
}

// token reads the token whose opening bracket stands at s[at].
func token(s string, at int, mark string, read func(body string) (*Expr, bool)) (*Expr, int, error) {
	inside := at + len(mark)
	end, closer := nextBracket(s, inside)
	want := plainClose
	if mark == shiftedOpen {
		want = shiftedClose
	}
	if closer != want {
		return nil, 0, &DamagedError{At: at, Why: "a beginning without an end"}
	}
	body, ok := s[inside:end], true
	if mark == shiftedOpen {
		body, ok = unshift(body)
	}
	var e *Expr
	if ok {
		e, ok = read(body)
	}
	if !ok {
		return nil, 0, &DamagedError{At: at, Why: "its text was changed; references can be joined, formatted and marshalled, not edited"}
	}
	return e, end + len(want), nil
}

// nextBracket finds the first bracket of either spelling from start; at the end it is len(s), "".
func nextBracket(s string, start int) (int, string) {
	for i := start; i+3 <= len(s); i++ {
		if s[i] != plainOpen[0] && s[i] != shiftedOpen[0] {
			continue
		}
		switch s[i : i+3] {
		case plainOpen, plainClose, shiftedOpen, shiftedClose:
			return i, s[i : i+3]
		}
	}
	return len(s), ""
}

// ragged finds a bracket that was cut in its middle: bytes of one where the text is not UTF-8.
func ragged(s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 && strings.IndexByte(plainOpen+plainClose+shiftedOpen+shiftedClose, s[i]) >= 0 {
			return &DamagedError{At: i, Why: "it was cut within a bracket"}
		}
		i += n
	}
	return nil
}
