package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"mime/quotedprintable"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// spelling is a way in which a text shows up inside another.
type spelling struct {
	name  string
	spell func(string) string
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// wrapped breaks a text into lines of a width, as encoders of base64 do.
func wrapped(text string, width int) string {
	var lines []string
	for part := range slices.Chunk([]byte(text), width) {
		lines = append(lines, string(part))
	}
	return strings.Join(lines, "\n")
}

// ascii is JSON in which every character is escaped that is no letter or digit, in upper or lower case.
func ascii(text string, form string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, form+form, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, form, r)
		}
	}
	return b.String()
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func spellings() []spelling {
	return []spelling{
		{"plain", func(s string) string { return s }},
		{"JSON", quoted},
		{"JSON without HTML escapes", func(s string) string {
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(s); err != nil {
				panic(err)
			}
			return strings.TrimSpace(b.String())
		}},
		{"JSON in ASCII", func(s string) string { return ascii(s, `\u%04x`) }},
		{"JSON in ASCII, upper case", func(s string) string { return ascii(s, `\u%04X`) }},
		{"JSON in JSON", func(s string) string { return quoted(quoted(s)) }},
		{"JSON in JSON in JSON", func(s string) string { return quoted(quoted(quoted(s))) }},
		{"Go", func(s string) string { return fmt.Sprintf("%+q", s) }},
		{"XML", func(s string) string {
			var b strings.Builder
			if err := xml.EscapeText(&b, []byte(s)); err != nil {
				panic(err)
			}
			return b.String()
		}},
		{"HTML", html.EscapeString},
		{"decimal entities", func(s string) string {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, "&#%d;", r)
			}
			return b.String()
		}},
		{"hexadecimal entities", func(s string) string {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, "&#x%X;", r)
			}
			return b.String()
		}},
		{"entities without an end", func(s string) string {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, "&#%d", r)
			}
			return b.String()
		}},
		{"mail", func(s string) string {
			var b strings.Builder
			w := quotedprintable.NewWriter(&b)
			if _, err := io.WriteString(w, s); err != nil {
				panic(err)
			}
			if err := w.Close(); err != nil {
				panic(err)
			}
			return b.String()
		}},
		{"mail in short lines", func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				fmt.Fprintf(&b, "=%02X", s[i])
				if i%5 == 4 {
					b.WriteString("=\r\n")
				}
			}
			return b.String()
		}},
		{"query, of both cases", func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[i%2], s[i])
			}
			return b.String()
		}},
		{"query in UTF-16", func(s string) string {
			var b strings.Builder
			for _, unit := range utf16.Encode([]rune(s)) {
				fmt.Fprintf(&b, "%%u%04X", unit)
			}
			return b.String()
		}},
		{"query", url.QueryEscape},
		{"path", url.PathEscape},
		{"query, lower case", func(s string) string {
			return percent.ReplaceAllStringFunc(url.QueryEscape(s), strings.ToLower)
		}},
		{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
		{"base64 for URLs", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
		{"base64 in lines of 64", func(s string) string { return wrapped(base64.StdEncoding.EncodeToString([]byte(s)), 64) }},
		{"base64 in lines of 76", func(s string) string { return wrapped(base64.StdEncoding.EncodeToString([]byte(s)), 76) }},
		{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
		{"hex, upper case", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }},
		{"bytes", func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				fmt.Fprintf(&b, `\x%02x`, s[i])
			}
			return b.String()
		}},
	}
}

// unmasked is what a text shows beside the mask.
func unmasked(text string) string { return strings.ReplaceAll(text, "(secret)", "\x00") }

// left is how many bytes of a text show.
func left(text string) int { return len(unmasked(text)) }

// TestSpellings spells secrets, alone and inside a longer text, in every way and in two ways at once.
func TestSpellings(t *testing.T) {
	long := strings.Repeat("a filler & text / ", 6)
	for _, secret := range []string{
		"hunter2&", `S3cr3t "env" \ /+=&<é>%41`, `pass\nword\\u0041&lt;x`, "line one\nline two\tend", "日本語の秘密です", "emoji 🔑 key",
		strings.Repeat("0123456789abcdef", 12),
	} {
		r := &Redactor{}
		r.Learn(secret)
		for _, outer := range spellings() {
			for _, inner := range spellings() {
				for _, around := range []string{"", "x", "xy", "{", long} {
					text := outer.spell(inner.spell(around + secret + around))
					rest := outer.spell(inner.spell(around))
					have := r.Text(text)
					// What is around stays, give or take a line break and what shares a byte with the secret.
					if most := 2*len(rest) + 24 + len(text)/32; left(have) > most {
						t.Errorf("%q as %s in %s behind %q shows %d bytes: %q", secret, inner.name, outer.name, around, left(have), have)
					}
					if !r.Holds(text) {
						t.Errorf("%q as %s in %s behind %q is not found", secret, inner.name, outer.name, around)
					}
				}
			}
		}
	}
}

// TestParts cuts a secret off: any sixteen characters of it are masked, fewer are not.
func TestParts(t *testing.T) {
	const secret = "AKIA-begin-0123456789-middle-abcdefghij-the-end"
	r := &Redactor{}
	r.Learn(secret)
	for from := range len(secret) - 16 {
		part := secret[from : from+16]
		for _, s := range spellings() {
			text := "invalid: " + s.spell(part) + "…"
			if have := r.Text(text); have == text {
				t.Errorf("%q as %s shows", part, s.name)
			}
		}
		if text := "invalid: " + secret[from:from+15]; r.Text(text) != text {
			t.Errorf("%q is masked", text)
		}
	}
}

// TestPublicParts keeps what an input says that is no secret.
func TestPublicParts(t *testing.T) {
	const host, password = "shop-db.cluster-abc.eu-north-1.example.com", "pw-9c1f2b7e6d"
	link := "postgres://app:" + password + "@" + host + "/shop"
	r := &Redactor{}
	r.Public(map[string]any{"host": host, "n": []any{int64(1), "other text"}})
	r.Learn(link)
	if text := "connecting to " + host + "…"; r.Text(text) != text || r.Holds(text) {
		t.Errorf("a public name is masked: %q", r.Text(text))
	}
	for _, text := range []string{link, "x" + link + "y", link[:30], url.QueryEscape(link)} {
		if have := r.Text("see " + text); strings.Contains(have, password[:6]) {
			t.Errorf("%q shows as %q", text, have)
		}
	}
}

// TestComposedParts masks parts of the secret that another secret was made of, not what it stands among.
func TestComposedParts(t *testing.T) {
	r := &Redactor{}
	r.Learn("pw-9c1f2b7e6d-0a1b2c3d4e")
	r.Learn("postgres://app:pw-9c1f2b7e6d-0a1b2c3d4e@shop-db.eu-north-1.example.com/shop")
	for text, want := range map[string]string{
		"at shop-db.eu-north-1.example.com": "at shop-db.eu-north-1.example.com",
		"at w-9c1f2b7e6d-0a1b2c3":           "at (secret)",
		"postgres://app:pw-9c1f2b7e6d-0a1b2c3d4e@shop-db.eu-north-1.example.com/shop": "(secret)",
	} {
		if have := r.Text(text); have != want {
			t.Errorf("%q shows as %q", text, have)
		}
	}
}

// TestPlainTextStays leaves texts alone that hold no secret, in whatever spelling.
func TestPlainTextStays(t *testing.T) {
	r := &Redactor{}
	r.Learn("correct horse battery staple")
	for _, text := range []string{
		"", "x", `a "quoted" text\n with \u0041 &amp; %41 and 100% of \`, "&#", "&#x;", `\u12`, `\ud83d`, "%", "%4", "horse battery", "\xff\xfe",
		"correct\nhorse", strings.Repeat("ab", 100),
	} {
		if have := r.Text(text); have != text {
			t.Errorf("%q shows as %q", text, have)
		}
	}
}

// FuzzText masks a secret in any text: it never panics, masking twice is masking once, and the secret does not show.
func FuzzText(f *testing.F) {
	f.Add("secret", "a secret here", uint8(0), uint8(1))
	f.Add(`a\u0041&lt;%41`, `\ud83d\ude00&#x110000;%zz\`, uint8(3), uint8(8))
	f.Add("0123456789abcdef0123", "MDEyMzQ1Njc4OWFi\r\n  Y2RlZjAxMjM=", uint8(15), uint8(17))
	f.Fuzz(func(t *testing.T, secret, around string, one, two uint8) {
		if len(secret) > 1<<10 || len(around) > 1<<12 {
			return
		}
		r := &Redactor{}
		r.Learn(secret)
		r.Text(around)
		all := spellings()
		outer, inner := all[int(one)%len(all)], all[int(two)%len(all)]
		if len(secret) < shortestRun {
			outer = all[0] // in two ways at once too few characters of it are left to look for
		}
		isNoText := func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0xfffe || r == 0xffff }
		if len(secret) < shortest || !utf8.ValidString(secret) || strings.ContainsFunc(secret, isNoText) {
			return // encoders of XML replace what is no text
		}
		around = strings.ToValidUTF8(around, "")
		for _, text := range []string{"[" + outer.spell(inner.spell(secret)) + "]", around + secret + around} {
			have := unmasked(r.Text(text))
			for _, hidden := range []string{secret, outer.spell(inner.spell(secret))} {
				if strings.Contains(have, hidden) {
					t.Fatalf("%q as %s in %s shows in %q: %q", secret, inner.name, outer.name, text, have)
				}
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"note": "created; waiting until it is visible (12s)",
		"line": `{"type":"done","address":"net/queue","note":"set \"visibility\" to 30s & more","arn":"arn:aws:sqs:eu-north-1:123456789012:net-queue"}`,
	} {
		for _, count := range []int{1, 30, 300} {
			r := &Redactor{}
			for i := range count {
				r.Learn(fmt.Sprintf("%032x", uint64(i)*0x9e3779b97f4a7c15))
			}
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r.Text(text)
				}
			})
		}
	}
}

func BenchmarkLearn(b *testing.B) {
	for b.Loop() {
		r := &Redactor{}
		for i := range 100 {
			r.Learn(fmt.Sprintf("%032x", uint64(i)*0x9e3779b97f4a7c15))
			r.Holds("some text of an attribute")
		}
	}
}
