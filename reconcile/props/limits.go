package props

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/reconcile/token"
)

func (d *decoding) enum(f *field, text string) {
	if !d.strict || f == nil || len(f.enum) == 0 || text == "" || token.Has(text) || slices.Contains(f.enum, text) {
		return
	}
	hint := ""
	if near, ok := Nearest(text, f.enum); ok {
		hint = "did you mean " + near + "?"
	}
	d.fail("want one of "+strings.Join(f.enum, ", "), hint)
}

// items checks how many entries the list or map of a field has. One with an element that may stand for several is not
// checked.
func (d *decoding) items(f *field, x any) {
	m, _ := x.(map[string]any)
	list, _ := x.([]any)
	n := max(len(m), len(list))
	if d.strict && f.maxItems > 0 && n > f.maxItems && !slices.ContainsFunc(list, isSpread) {
		d.fail(fmt.Sprintf("want at most %d, have %d", f.maxItems, n), "")
	}
}

func (d *decoding) length(f *field, text string) {
	if d.strict && f != nil && f.maxLen > 0 && !token.Has(text) && utf8.RuneCountInString(text) > f.maxLen {
		d.fail(fmt.Sprintf("want at most %d characters", f.maxLen), "")
	}
}

// isSpread reports an element that may stand for any number of elements.
func isSpread(e any) bool {
	text, ok := e.(string)
	if !ok {
		return false
	}
	only := onlyToken(text)
	return only != nil && (only.Op != token.OpRef || only.Ref.Spread)
}

func (d *decoding) bounds(f *field, n float64) {
	if !d.strict || f == nil {
		return
	}
	if f.min != nil && n < f.min.value {
		d.fail("want at least "+f.min.text, "")
	}
	if f.max != nil && n > f.max.value {
		d.fail("want at most "+f.max.text, "")
	}
}
