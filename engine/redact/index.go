package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	// shortest is the length below which a secret is not looked for inside other texts: masking every "a"
	// would hide nothing and garble everything.
	shortest = 4
	// window is how long a part of a secret must be to be masked on its own: services echo values cut off.
	window = 16
)

// alphabets are the ways in which a part of a secret is spelt, each with the least that a part of [window] bytes takes.
const (
	asItIs = iota
	inBase64
	inHex
	alphabetCount
)

var leastPart = [alphabetCount]int{window, window*8/6 - 1, 2 * window}

// index finds known texts, and parts of them, in one pass over another text. Adding one costs what its own length does.
type index struct {
	whole map[uint32][]string    // by the first four bytes, the longest first
	parts map[[window]byte]uint8 // a bit for each alphabet
	// wholes and beginnings sort out nearly all places where nothing known begins.
	wholes, beginnings filter
}

func newIndex() *index {
	return &index{whole: map[uint32][]string{}, parts: map[[window]byte]uint8{}}
}

// begin is the first bytes of a text as a number.
func begin(text string) uint64 {
	var v uint64
	for i := range min(len(text), 8) {
		v |= uint64(text[i]) << (8 * i)
	}
	return v
}

// filter has a bit for the hash of each number that was added. It may take a number for another one that it has.
type filter struct {
	bits  []uint64 // a power of two of them
	known []uint64 // the numbers themselves, to make room for more
}

func (f *filter) bit(v uint64) (word, mask uint64) {
	h := v * 0x9e3779b97f4a7c15 >> 24
	return h >> 6 & uint64(len(f.bits)-1), 1 << (h & 63)
}

func (f *filter) add(v uint64) {
	f.known = append(f.known, v)
	if len(f.bits)*4 > len(f.known) {
		word, mask := f.bit(v)
		f.bits[word] |= mask
		return
	}
	f.bits = make([]uint64, max(64, 4*len(f.bits)))
	for _, v := range f.known {
		word, mask := f.bit(v)
		f.bits[word] |= mask
	}
}

func (f *filter) has(v uint64) bool {
	if len(f.bits) == 0 {
		return false
	}
	word, mask := f.bit(v)
	return f.bits[word]&mask != 0
}

// add makes a secret known, in all forms that cannot be decoded without knowing where they begin.
func (x *index) add(secret string, parts bool) {
	budget := 16*len(secret) + 1<<10
	layers(original(secret, false), deepest, &budget, func(l layer) bool {
		x.addText(l.text, parts)
		if strings.Contains(l.text, " ") {
			x.addText(strings.ReplaceAll(l.text, " ", "+"), parts) // as in a query
		}
		return true
	})
	lower := hex.EncodeToString([]byte(secret))
	for _, form := range []string{lower, strings.ToUpper(lower)} {
		x.addWhole(form)
		x.addParts(form, inHex, parts)
	}
	// Base64 of a longer text that holds the secret shows it at one of three alignments.
	for shift := range 3 {
		padded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
		core := padded[(shift*8+5)/6 : (shift+len(secret))*8/6]
		for _, form := range []string{core, strings.NewReplacer("+", "-", "/", "_").Replace(core)} {
			x.addWhole(form)
			x.addParts(form, inBase64, parts)
		}
	}
}

func (x *index) addText(text string, parts bool) {
	x.addWhole(text)
	x.addParts(text, asItIs, parts)
}

func (x *index) addWhole(text string) {
	if len(text) < shortest {
		return
	}
	head := uint32(begin(text))
	list := x.whole[head]
	at, known := slices.BinarySearchFunc(list, text, longerFirst)
	if !known {
		x.whole[head] = slices.Insert(list, at, text)
		x.wholes.add(uint64(head))
	}
}

func longerFirst(a, b string) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	return strings.Compare(a, b)
}

func (x *index) addParts(text string, alphabet int, wanted bool) {
	if !wanted {
		return
	}
	for i := range len(text) - window + 1 {
		part := [window]byte([]byte(text[i : i+window]))
		if x.parts[part] == 0 {
			x.beginnings.add(begin(text[i:]))
		}
		x.parts[part] |= 1 << alphabet
	}
}

// find calls a function with each place in a text where something known is; it stops when that returns false.
func (x *index) find(text string, mark func(from, to int, part bool) bool) {
	var runs [alphabetCount]struct{ from, to int }
	flush := func(alphabet int) bool {
		run := &runs[alphabet]
		found := run.to-run.from >= leastPart[alphabet]
		more := !found || mark(run.from, run.to, true)
		run.from, run.to = 0, 0
		return more
	}
	next := begin(text)
	for i := 0; i+shortest <= len(text); i++ {
		here := next
		if next >>= 8; i+8 < len(text) {
			next |= uint64(text[i+8]) << 56
		}
		if head := uint32(here); x.wholes.has(uint64(head)) {
			for _, whole := range x.whole[head] {
				if strings.HasPrefix(text[i:], whole) {
					if !mark(i, i+len(whole), false) {
						return
					}
					break
				}
			}
		}
		if i+window > len(text) || !x.beginnings.has(here) {
			continue
		}
		spelt := x.parts[[window]byte([]byte(text[i:i+window]))]
		for a := range alphabetCount {
			if spelt&(1<<a) == 0 {
				continue
			}
			if run := &runs[a]; run.to == i+window-1 {
				run.to++
			} else if !flush(a) {
				return
			} else {
				run.from, run.to = i, i+window
			}
		}
	}
	for a := range alphabetCount {
		if !flush(a) {
			return
		}
	}
}
