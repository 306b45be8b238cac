package token

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// shortestTrace is the length of the shortest text that an encoder makes of an opening bracket.
const shortestTrace = len(`\u27e6`)

// enough is how many bytes of a token's inside must follow a bracket that was found by decoding, when no
// closing bracket is in sight: fewer could be chance.
const enough = 8

// needle is a text that base64 makes of a bracket.
type needle struct {
	text string
	// ahead is how far after the beginning of text a group of four letters begins, known what of the bracket
	// that group and the next ones decode to first.
	ahead         int
	known, closer string
}

// needles is computed once and never changed.
var needles = base64Needles()

// base64Needles are the letters that the bracket alone decides, at the three places that it can have in a
// group of three bytes.
func base64Needles() []needle {
	var all []needle
	for _, b := range [][2]string{{plainOpen, plainClose}, {shiftedOpen, shiftedClose}} {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for shift := range 3 {
				text := enc.EncodeToString([]byte(strings.Repeat("\x00", shift) + b[0]))
				from, group := (8*shift+5)/6, 0
				if shift > 0 {
					group = 4
				}
				n := needle{
					text: text[from : (8*shift+24)/6], ahead: group - from,
					known: b[0][max(0, group/4*3-shift):], closer: b[1],
				}
				if !slices.Contains(all, n) {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

// trace finds what encoders leave of a token in text, which stands at offset in the whole.
func trace(text string, offset int) error {
	if len(text) < shortestTrace {
		return nil
	}
	if at := escapeTrace(text); at >= 0 {
		return &DamagedError{At: offset + at, Why: "it was escaped; s.URL and s.JSON escape values rightly"}
	}
	if at := hexTrace(text); at >= 0 {
		return &DamagedError{At: offset + at, Why: "it was encoded as hex; use Then to encode a value"}
	}
	if at := base64Trace(text); at >= 0 {
		return &DamagedError{At: offset + at, Why: "it was encoded as base64; use Then to encode a value"}
	}
	return nil
}

// escapeTrace finds %E2%9F%A6 and \u27e6 and their like.
func escapeTrace(text string) int {
	for i := 0; i+shortestTrace <= len(text); i++ {
		var forms []string
		switch text[i] {
		case '%':
			forms = []string{"%e2%9f%a6", "%ef%b9%9d"}
		case '\\':
			forms = []string{`\u27e6`, `\ufe5d`, `\xe2\x9f\xa6`, `\xef\xb9\x9d`}
		case '&':
			forms = []string{"&#x27e6;", "&#10214;", "&#xfe5d;", "&#65117;"}
		}
		for _, f := range forms {
			if i+len(f) <= len(text) && strings.EqualFold(text[i:i+len(f)], f) {
				return i
			}
		}
	}
	return -1
}

// hexTrace finds the bytes of a bracket as hex digits, with the inside of a token after them.
func hexTrace(text string) int {
	for i := 0; i+6 <= len(text); i++ {
		if c := text[i]; c != 'e' && c != 'E' {
			continue
		}
		closer := plainClose
		switch {
		case strings.EqualFold(text[i:i+6], "e29fa6"):
		case strings.EqualFold(text[i:i+6], "efb99d"):
			closer = shiftedClose
		default:
			continue
		}
		n := i + 6
		for n < len(text) && isHex(text[n]) {
			n++
		}
		inside, _ := hex.DecodeString(text[i+6 : n-(n-i)%2])
		if looksInside(string(inside), closer) {
			return i
		}
	}
	return -1
}

// base64Trace finds a bracket in base64, at any of the three places that it can have in the encoded bytes.
func base64Trace(text string) int {
	for _, n := range needles {
		for from := 0; ; {
			i := strings.Index(text[from:], n.text)
			if i < 0 {
				break
			}
			i += from
			from = i + 1
			inside, ok := strings.CutPrefix(decodeRun(text[i+n.ahead:]), n.known)
			if ok && looksInside(inside, n.closer) {
				return i
			}
		}
	}
	return -1
}

// decodeRun decodes the base64 that text begins with, of either alphabet.
func decodeRun(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r > 0x7f || !isLetter(byte(r)) && (r < '0' || r > '9') && !strings.ContainsRune("+/-_", r)
	})
	if end < 0 {
		end = len(text)
	}
	run := strings.NewReplacer("+", "-", "/", "_").Replace(text[:end])
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	out, _ := base64.RawURLEncoding.DecodeString(run)
	return string(out)
}

// looksInside reports whether s goes on as a token does: its inside up to the closer, or enough of it.
func looksInside(s, closer string) bool {
	n := 0
	for n < len(s) && (isKeyByte(s[n]) || strings.IndexByte("/:[]", s[n]) >= 0) {
		n++
	}
	return n > 0 && strings.HasPrefix(s[n:], closer) || n >= enough
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
