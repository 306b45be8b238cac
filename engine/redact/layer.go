package redact

import (
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// deepest is how many encodings inside each other are undone: JSON in JSON in a percent-encoded query, for example.
	deepest = 8
	// shortestRun is how many characters of base64 or hex are worth decoding. A secret that is encoded alone needs none of
	// this: its encodings are looked for as they are.
	shortestRun = 8
	// textual is how many bytes must look like text before a run counts as an encoded text.
	textual = 6
)

// layer is a text, or a part of it, with encodings undone.
type layer struct {
	text string
	// from and to are where each byte begins and ends in the original text; nil while nobody needs to know.
	from, to []int32
}

// original returns a text as the layer that everything else is decoded from.
func original(text string, mapped bool) layer {
	l := layer{text: text}
	if mapped {
		l.from, l.to = make([]int32, len(text)), make([]int32, len(text))
		for i := range l.from {
			l.from[i], l.to[i] = int32(i), int32(i+1)
		}
	}
	return l
}

// decoder writes the layer that is decoded from another one.
type decoder struct {
	source   layer
	text     []byte
	from, to []int32
}

// put adds bytes that the source spells from i to j.
func (d *decoder) put(i, j int, bytes string) {
	d.text = append(d.text, bytes...)
	if d.source.from == nil {
		return
	}
	for range len(bytes) {
		d.from, d.to = append(d.from, d.source.from[i]), append(d.to, d.source.to[j-1])
	}
}

// same adds a part of the source as it is.
func (d *decoder) same(i, j int) {
	d.text = append(d.text, d.source.text[i:j]...)
	if d.source.from != nil {
		d.from, d.to = append(d.from, d.source.from[i:j]...), append(d.to, d.source.to[i:j]...)
	}
}

func (d *decoder) layer() layer { return layer{string(d.text), d.from, d.to} }

// layers calls yield with a text and all that it decodes to, until yield returns false. It returns false when yield
// did.
func layers(l layer, depth int, budget *int, yield func(layer) bool) bool {
	if *budget -= len(l.text); *budget < 0 {
		return true
	}
	if !yield(l) {
		return false
	}
	if depth == 0 {
		return true
	}
	all, kinds := unescaped(l, allEscapes)
	if kinds != 0 && !layers(all, depth-1, budget, yield) {
		return false
	}
	// Where escapes of several kinds meet, one kind may belong to the secret itself.
	for kind := uint8(1); kind < allEscapes && kinds&(kinds-1) != 0; kind <<= 1 {
		if one, found := unescaped(l, kinds&kind); found != 0 && !layers(one, depth-1, budget, yield) {
			return false
		}
	}
	if strings.IndexByte(l.text, '\n') >= 0 || strings.IndexByte(l.text, '\r') >= 0 {
		return layers(joined(l), depth-1, budget, yield)
	}
	return runs(l, func(inner layer) bool { return layers(inner, depth-1, budget, yield) })
}

// allEscapes are the kinds of escapes: those of JSON and Go, of XML and HTML, of URLs, of mail. Each is a bit.
const allEscapes uint8 = 15

// kindOf is the kind of escape that a character begins.
var kindOf = [256]uint8{'\\': 1, '&': 2, '%': 4, '=': 8}

// unescaped undoes escapes of some kinds once. It returns which kinds there were.
func unescaped(l layer, kinds uint8) (layer, uint8) {
	at := len(l.text)
	for _, c := range []byte(`\&%=`) {
		if j := strings.IndexByte(l.text[:at], c); j >= 0 {
			at = j
		}
	}
	if at == len(l.text) {
		return layer{}, 0
	}
	d, done, found := decoder{source: l, text: make([]byte, 0, len(l.text))}, 0, uint8(0)
	for at < len(l.text) {
		kind := kindOf[l.text[at]] & kinds
		if kind == 0 {
			at++
			continue
		}
		plain, n := escape(l.text[at:])
		if n == 0 {
			at++
			continue
		}
		d.same(done, at)
		d.put(at, at+n, plain)
		at += n
		done, found = at, found|kind
	}
	if found == 0 {
		return layer{}, 0
	}
	d.same(done, len(l.text))
	return d.layer(), found
}

// escape returns what the escape at the beginning of a text stands for, and how long it is: 0 when it is none.
func escape(text string) (string, int) {
	switch text[0] {
	case '%':
		if v, ok := number(text, 1, 3, 16); ok {
			return oneByte(v), 3
		}
		if strings.HasPrefix(text, "%u") || strings.HasPrefix(text, "%U") {
			return unicodeEscape(text)
		}
	case '=':
		return quotedPrintable(text)
	case '&':
		if strings.HasPrefix(text, "&#") {
			return numericEntity(text)
		}
		end := strings.IndexByte(text[:min(len(text), 34)], ';')
		if end < 0 {
			return "", 0
		}
		entity := text[:end+1]
		if plain := html.UnescapeString(entity); plain != entity && (plain == ";" || !strings.HasSuffix(plain, ";")) {
			return plain, len(entity)
		}
	case '\\':
		return backslash(text)
	}
	return "", 0
}

// numericEntity is what an entity of digits stands for. Readers of HTML miss no semicolon behind one.
func numericEntity(text string) (string, int) {
	const longest = 34
	from, base := len("&#"), 10
	if len(text) > from && (text[from] == 'x' || text[from] == 'X') {
		from, base = from+1, 16
	}
	end := from
	for end < min(len(text), longest) && isHex(text[end]) && (base == 16 || text[end] <= '9') {
		end++
	}
	v, ok := number(text, from, end, base)
	if !ok || v > unicode.MaxRune {
		return "", 0
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	return string(rune(v)), end
}

// quotedPrintable is what an escape of mail stands for: a byte, or nothing at the end of a line that goes on.
func quotedPrintable(text string) (string, int) {
	for _, soft := range []string{"=\r\n", "=\n"} {
		if strings.HasPrefix(text, soft) {
			return "", len(soft)
		}
	}
	if v, ok := number(text, 1, 3, 16); ok {
		return oneByte(v), 3
	}
	return "", 0
}

func oneByte(v uint64) string { return string([]byte{byte(v)}) }

// simple are the escapes of one character.
const simple = "\"\"''\\\\//b\bf\fn\nr\rt\ta\av\ve\x1b"

func backslash(text string) (string, int) {
	if len(text) < 2 {
		return "", 0
	}
	switch c := text[1]; {
	case c == 'x':
		if v, ok := number(text, 2, 4, 16); ok {
			return oneByte(v), 4
		}
	case c == 'u':
		return unicodeEscape(text)
	case c == 'U':
		if v, ok := number(text, 2, 10, 16); ok && v <= unicode.MaxRune {
			return string(rune(v)), 10
		}
	case c >= '0' && c <= '3':
		if v, ok := number(text, 1, 4, 8); ok {
			return oneByte(v), 4
		}
	default:
		for i := 0; i < len(simple); i += 2 {
			if simple[i] == c {
				return simple[i+1 : i+2], 2
			}
		}
	}
	return "", 0
}

func unicodeEscape(text string) (string, int) {
	if end := strings.IndexByte(text[:min(len(text), 11)], '}'); strings.HasPrefix(text, `\u{`) && end > 3 {
		if v, ok := number(text, 3, end, 16); ok && v <= unicode.MaxRune {
			return string(rune(v)), end + 1
		}
		return "", 0
	}
	v, ok := number(text, 2, 6, 16)
	if !ok {
		return "", 0
	}
	if !utf16.IsSurrogate(rune(v)) {
		return string(rune(v)), 6
	}
	if len(text) >= 12 && text[6:8] == text[:2] {
		if low, ok := number(text, 8, 12, 16); ok {
			if r := utf16.DecodeRune(rune(v), rune(low)); r != utf8.RuneError {
				return string(r), 12
			}
		}
	}
	return "", 0
}

// number reads the digits of a text from i to j.
func number(text string, i, j, base int) (uint64, bool) {
	if len(text) < j {
		return 0, false
	}
	for _, c := range []byte(text[i:j]) {
		if !isHex(c) {
			return 0, false // ParseUint would take a sign or an underscore
		}
	}
	v, err := strconv.ParseUint(text[i:j], base, 32)
	return v, err == nil
}

// joined is a text without its line breaks and what indents its lines: encoders of base64 break lines anywhere.
func joined(l layer) layer {
	d := decoder{source: l}
	for at := 0; at < len(l.text); {
		end := at
		for end < len(l.text) && l.text[end] != '\n' && l.text[end] != '\r' {
			end++
		}
		d.same(at, end)
		for end < len(l.text) && strings.IndexByte("\r\n \t", l.text[end]) >= 0 {
			end++
		}
		at = end
	}
	return d.layer()
}

// base64Values are one more than what each character stands for in base64, both the standard one and that for URLs; 0
// for a character of neither.
var base64Values = [256]uint8{
	'A': 1, 'B': 2, 'C': 3, 'D': 4, 'E': 5, 'F': 6, 'G': 7, 'H': 8, 'I': 9, 'J': 10,
	'K': 11, 'L': 12, 'M': 13, 'N': 14, 'O': 15, 'P': 16, 'Q': 17, 'R': 18, 'S': 19, 'T': 20,
	'U': 21, 'V': 22, 'W': 23, 'X': 24, 'Y': 25, 'Z': 26, 'a': 27, 'b': 28, 'c': 29, 'd': 30,
	'e': 31, 'f': 32, 'g': 33, 'h': 34, 'i': 35, 'j': 36, 'k': 37, 'l': 38, 'm': 39, 'n': 40,
	'o': 41, 'p': 42, 'q': 43, 'r': 44, 's': 45, 't': 46, 'u': 47, 'v': 48, 'w': 49, 'x': 50,
	'y': 51, 'z': 52, '0': 53, '1': 54, '2': 55, '3': 56, '4': 57, '5': 58, '6': 59, '7': 60,
	'8': 61, '9': 62, '+': 63, '/': 64, '-': 63, '_': 64,
}

// isBreak reports whether a character of base64 also separates words.
func isBreak(c byte) bool { return c == '+' || c == '/' || c == '-' || c == '_' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// runs calls yield with the texts that runs of base64 and hex decode to. A run begins where its alphabet begins, or
// behind a character of it that also separates words.
func runs(l layer, yield func(layer) bool) bool {
	text := l.text
	for at := 0; at+shortestRun <= len(text); {
		end := at + shortestRun
		for end > at && base64Values[text[end-1]] != 0 {
			end--
		}
		if end > at {
			at = end // no run that is long enough begins before
			continue
		}
		for end = at + shortestRun; end < len(text) && base64Values[text[end]] != 0; {
			end++
		}
		for start := at; end-start >= shortestRun; start++ {
			if start > at && !isBreak(text[start-1]) {
				continue
			}
			if inner, ok := fromBase64(l, start, end); ok && !yield(inner) {
				return false
			}
			if inner, ok := fromHex(l, start, end); ok && !yield(inner) {
				return false
			}
		}
		at = end + 1
	}
	return true
}

func fromBase64(l layer, start, end int) (layer, bool) {
	var head [textual]byte
	decode64(head[:0], l.text[start:start+shortestRun])
	if !isText(head[:]) {
		return layer{}, false
	}
	d := decoder{source: l, text: decode64(make([]byte, 0, end-start), l.text[start:end])}
	for i := range d.text {
		if l.from == nil {
			break
		}
		d.from, d.to = append(d.from, l.from[start+i*8/6]), append(d.to, l.to[start+(i*8+7)/6])
	}
	return d.layer(), true
}

// decode64 appends the whole bytes of a run.
func decode64(to []byte, run string) []byte {
	bits, count := uint32(0), 0
	for i := range len(run) {
		bits = bits<<6 | uint32(base64Values[run[i]]-1)
		if count += 6; count >= 8 {
			count -= 8
			to = append(to, byte(bits>>count))
		}
	}
	return to
}

func fromHex(l layer, start, end int) (layer, bool) {
	stop := start
	for stop < end && isHex(l.text[stop]) {
		stop++
	}
	if stop-start < 2*textual {
		return layer{}, false
	}
	var head [textual]byte
	if _, err := hex.Decode(head[:], []byte(l.text[start:start+2*textual])); err != nil || !isText(head[:]) {
		return layer{}, false
	}
	d := decoder{source: l}
	for at := start; at+2 <= stop; at += 2 {
		v, _ := number(l.text, at, at+2, 16)
		d.put(at, at+2, oneByte(v))
	}
	return d.layer(), true
}

// isText reports whether bytes look like the beginning of a text.
func isText(bytes []byte) bool {
	for i := 0; i < len(bytes); {
		if c := bytes[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(bytes[i:])
		if r == utf8.RuneError && utf8.FullRune(bytes[i:]) || r < 0xa0 && r != utf8.RuneError {
			return false
		}
		i += n
	}
	return true
}
