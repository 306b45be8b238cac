package generic

import (
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
)

// tagged is a text with the owner tag behind it. Where both are too long the tag leaves out the store.
func tagged(text string, owner contract.OwnerTag, most int) string {
	whole := strings.TrimSpace(text + " " + adopt.Line(owner))
	if most > 0 && len(whole) > most {
		whole = strings.TrimSpace(text + " " + adopt.Line(withoutStore(owner)))
	}
	return whole
}

func withoutStore(owner contract.OwnerTag) contract.OwnerTag {
	owner.Store = ""
	return owner
}

// untagged takes a text apart: the author's own, and the line with the owner tag.
func untagged(text string) (own, line string) {
	if at := strings.Index(text, adopt.TagPrefix); at >= 0 {
		text, line = text[:at], text[at:]
	}
	return strings.TrimSpace(text), line
}
