// Package docs is the documentation as the command carries it: the pages of this folder, and a search for the sections that
// say most of some words.
//
// It knows Markdown's headings and fences. It does not know who asks, nor the pages that the site makes of kinds and commands.
package docs

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"unicode"
)

//go:embed *.md howto/*.md first-hour/*.md
var pages embed.FS

// ErrNoPage is what Page returns for a name that is none of Pages.
var ErrNoPage = errors.New("there is no such page")

// Section is what stands under one heading of a page.
type Section struct {
	// Page is the name of the page, such as howto/stages.md.
	Page string
	// Heading is that of the section, below the page's title where it is not the title itself: "Stores: PostgreSQL".
	Heading string
	// Text is the Markdown under the heading, up to the next one.
	Text string
}

// Pages are the names of all pages, sorted.
func Pages() []string {
	var names []string
	_ = fs.WalkDir(pages, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	}) // what is embedded can be read
	return names
}

// Page is the Markdown of a page, or [ErrNoPage].
func Page(name string) (string, error) {
	if !slices.Contains(Pages(), name) {
		return "", ErrNoPage
	}
	text, err := pages.ReadFile(name)
	return string(text), err
}

// Search finds the sections that say most of the words of a query, the best first, at most so many. A word that few sections
// have counts more than one that many have, and in a heading more than in the text. Sections with none of the words are
// not found.
func Search(query string, most int) []Section {
	type scored struct {
		Section
		counts map[string]float64
		named  map[string]bool // in the heading, or in the name of the page
		length float64
		score  float64
	}
	var all []scored
	having, total := map[string]float64{}, 0.0
	for _, name := range Pages() {
		text, err := pages.ReadFile(name)
		if err != nil {
			continue
		}
		for _, s := range sections(name, string(text)) {
			one := scored{Section: s, counts: map[string]float64{}, named: map[string]bool{}}
			for _, w := range words(s.Text) {
				one.counts[w]++
				one.length++
			}
			for _, w := range words(s.Heading + " " + strings.TrimSuffix(name, ".md")) {
				one.counts[w]++
				one.named[w] = true
			}
			for w := range one.counts {
				having[w]++
			}
			total += one.length
			all = append(all, one)
		}
	}
	asked := words(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	mean := total / float64(len(all))
	for i := range all {
		for _, w := range asked {
			n := all[i].counts[w]
			rare := math.Log(1 + (float64(len(all))-having[w]+0.5)/(having[w]+0.5))
			all[i].score += rare * n * (saturation + 1) / (n + saturation*(1-lengthShare+lengthShare*all[i].length/mean))
			if all[i].named[w] {
				all[i].score += rare * headingWeight
			}
		}
	}
	all = slices.DeleteFunc(all, func(s scored) bool { return s.score == 0 })
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var found []Section
	for _, s := range all[:min(most, len(all))] {
		found = append(found, s.Section)
	}
	return found
}

// The constants of Okapi BM25 with their usual values, and what a word counts beside when a heading or the name of a page has it.
const (
	saturation    = 1.2
	lengthShare   = 0.75
	headingWeight = 1.5
)

// sections are the parts of a page, each with its heading. A heading in a fence is none.
func sections(page, text string) []Section {
	var all []Section
	title, fenced := "", false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		level := len(line) - len(strings.TrimLeft(line, "#"))
		if !fenced && level > 0 && strings.HasPrefix(line[level:], " ") {
			heading := strings.TrimSpace(line[level:])
			if level == 1 {
				title = heading
			} else {
				heading = title + ": " + heading
			}
			all = append(all, Section{Page: page, Heading: heading})
			continue
		}
		if len(all) > 0 {
			all[len(all)-1].Text += line
		}
	}
	return all
}

// words are the words of a text in lower case and without the ending of a plural, so that "stages" finds a stage.
func words(text string) []string {
	found := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range found {
		if len(w) > 3 {
			found[i] = strings.TrimSuffix(w, "s")
		}
	}
	return found
}
