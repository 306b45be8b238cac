package from_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
)

// TestTextLikeNumbers writes text that athanor, or another parser, would take for a number: each is in quotes.
func TestTextLikeNumbers(t *testing.T) {
	for _, text := range []string{"580e8454", "1e400", "-.5E+999", "0x123456789012345678901234", "0b1", "0o17", "12", "1.5", "0644", "1_000", "99999999999999999999"} {
		s := from.Stack{
			Name: "s", Config: map[string]any{"c": text}, Outputs: map[string]any{"o": text},
			Resources: []from.Resource{{Address: "a", Kind: "local.Value", Props: map[string]any{"input": map[string]any{text: []any{text}}}}},
		}
		out, err := s.YAML("")
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(out), `"`+text+`"`); n != 4 {
			t.Errorf("%s is in quotes %d times of 4:\n%s", text, n, out)
		}
	}
}
