package aws

import (
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Below is [athanor.Stack.Below] for texts such as ARNs: one that is no reference counts by what it ends in.
func Below(s *athanor.Stack, texts ...string) (name string, renamed athanor.Option) {
	parts := make([]string, len(texts))
	for i, text := range texts {
		if parts[i] = text; !token.Has(text) {
			parts[i] = text[strings.LastIndexAny(text, ":/")+1:]
		}
	}
	return s.Below(parts...)
}
