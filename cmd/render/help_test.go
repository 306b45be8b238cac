package render_test

import (
	"os"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/render"
)

// The help of every command fits into terminals of each width, with all of its words and each flag at the beginning of a line.
func TestHelpFits(t *testing.T) {
	text, err := os.ReadFile("../athanor/testdata/surface/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{50, 64, 80, 100, 120, 250} {
		var out strings.Builder
		render.Style{Width: width}.Help(&out, string(text))
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := len([]rune(line)); n > min(width, 120) {
				t.Errorf("%d columns: a line of %d: %s", width, n, line)
			}
		}
		have, want := strings.Join(strings.Fields(out.String()), ""), strings.Join(strings.Fields(string(text)), "")
		if have != want {
			t.Errorf("%d columns: words are lost or broken", width)
		}
		flags := 0
		for line := range strings.Lines(string(text)) {
			if name := strings.Fields(line); strings.HasPrefix(line, "      --") {
				flags++
				if !strings.Contains(out.String(), "\n      "+name[0]) {
					t.Errorf("%d columns: %s does not begin a line", width, name[0])
				}
			}
		}
		if flags < 100 {
			t.Errorf("there are %d flags", flags)
		}
	}
	var plain strings.Builder
	render.Style{}.Help(&plain, string(text))
	if plain.String() != string(text) {
		t.Error("a pipe gets another text")
	}
}
