package render

import "slices"

// PlainWords is how many words of Go and of operating systems have a plain one.
func PlainWords() int { return len(plainly()) }

// PlainlyWithout is [Plainly] without one of the words.
func PlainlyWithout(word int, text string) string {
	return inWords(slices.Delete(slices.Clone(plainly()), word, word+1), text)
}
