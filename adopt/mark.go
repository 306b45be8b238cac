// Package adopt decides who owns an object of a cloud.
//
// It knows owner tags and how they are written, the generated names by which objects are found again without state, and the
// verdict on an object that was found. It does not know order, plans, or what a store keeps.
package adopt

import (
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// The tags that an owner tag consists of, where a service has tags.
const (
	TagPrefix     = "athanor:"
	TagStack      = TagPrefix + "stack"
	TagStage      = TagPrefix + "stage"
	TagAddress    = TagPrefix + "id"
	TagGeneration = TagPrefix + "generation"
	TagStore      = TagPrefix + "store"
	TagRetained   = TagPrefix + "retained"
)

// Tags returns an owner tag as the tags of a service.
func Tags(m reconcile.Mark) map[string]string {
	if m.IsZero() {
		return map[string]string{}
	}
	tags := map[string]string{
		TagStack: m.Stack, TagStage: m.Stage, TagAddress: escape(m.Address),
		TagGeneration: strconv.FormatUint(m.Generation, 10), TagStore: m.Store,
	}
	if m.Retained {
		tags[TagRetained] = "true"
	}
	return tags
}

// MarkOf reads an owner tag from the tags of a service. It is zero when there is none.
func MarkOf(tags map[string]string) reconcile.Mark {
	generation, _ := strconv.ParseUint(tags[TagGeneration], 10, 64)
	return reconcile.Mark{
		Stack: tags[TagStack], Stage: tags[TagStage], Address: unescape(tags[TagAddress]),
		Generation: generation, Store: tags[TagStore], Retained: tags[TagRetained] == "true",
	}
}

// IsMark reports whether a tag of a service is part of an owner tag and not the author's.
func IsMark(key string) bool { return strings.HasPrefix(key, TagPrefix) }

// The brackets of a keyed address are not allowed in tag values; "=" and "@" are, and no address holds them.
var (
	brackets  = strings.NewReplacer("[", "=", "]", "@")
	bracketed = strings.NewReplacer("=", "[", "@", "]")
)

func escape(address string) string   { return brackets.Replace(address) }
func unescape(address string) string { return bracketed.Replace(address) }

// Line returns an owner tag as one line, for services that have only a comment or a description.
func Line(m reconcile.Mark) string {
	return TagPrefix + strings.Join([]string{m.Stack, m.Stage, m.Address, strconv.FormatUint(m.Generation, 10), m.Store, strconv.FormatBool(m.Retained)}, "|")
}

// LineMark reads an owner tag from the end of a comment or description.
func LineMark(text string) reconcile.Mark {
	_, line, ok := strings.Cut(text, TagPrefix)
	if !ok {
		return reconcile.Mark{}
	}
	parts := strings.Split(line, "|")
	if len(parts) != 6 {
		return reconcile.Mark{}
	}
	generation, err := strconv.ParseUint(parts[3], 10, 64)
	if err != nil {
		return reconcile.Mark{}
	}
	return reconcile.Mark{
		Stack: parts[0], Stage: parts[1], Address: parts[2], Generation: generation, Store: parts[4], Retained: parts[5] == "true",
	}
}
