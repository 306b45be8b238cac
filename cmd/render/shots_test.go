//go:build unix

package render_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"

	"github.com/athanor-dev/athanor/cmd/render"
)

var shots = flag.String("shots", "", "the folder that the screens are written to, for tools/terminal")

// pictured are the views of which there are pictures, each with the moment that is shown of it.
var pictured = map[string]string{
	"plan": "", "plan-folded": "", "plan-cases": "", "live": "after 14.2s", "live-partly": "", "errors": "", "drift": "", "destroy": "", "stage-list": "",
}

// italic is how the emulator keeps what the quiet writer writes in italics.
const italic = 1 << 4

// quiet sends what is dim as italic, since the emulator forgets what is dim. Nothing is italic otherwise.
type quiet struct{ io.Writer }

// Write implements [io.Writer]. Code that draws writes each of its sequences in one piece.
func (q quiet) Write(text []byte) (int, error) {
	if _, err := io.WriteString(q.Writer, strings.ReplaceAll(string(text), "\x1b[2m", "\x1b[3m")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// span is a part of a line in one look. The tool of the pictures reads it.
type span struct {
	Text  string `json:"text"`
	Color string `json:"color,omitempty"`
	Bold  bool   `json:"bold,omitempty"`
	Dim   bool   `json:"dim,omitempty"`
}

// spans are the lines that stand on the screen once all that was sent has arrived.
func (x *terminal) spans() [][]span {
	lines := strings.Split(strings.TrimSuffix(x.screen(false), "\n"), "\n")
	x.emu.Lock()
	defer x.emu.Unlock()
	all := make([][]span, len(lines))
	for y, line := range lines {
		for col := range []rune(line) {
			g := x.emu.Cell(col, y)
			look := span{Bold: g.Mode&bold != 0, Dim: g.Mode&italic != 0}
			if g.FG != vt10x.DefaultFG {
				look.Color = colorNames[g.FG&7]
			}
			if last := len(all[y]) - 1; last >= 0 && all[y][last] == (span{all[y][last].Text, look.Color, look.Bold, look.Dim}) {
				all[y][last].Text += string(g.Char)
				continue
			}
			look.Text = string(g.Char)
			all[y] = append(all[y], look)
		}
	}
	return all
}

// pictures are the screens of which there are pictures, as the tool of the pictures reads them, by view and columns.
func pictures(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for name, moment := range pictured {
		for _, columns := range []int{60, 100, 200} {
			x, clock := newTerminal(t, columns, 90), newClock()
			var lines [][]span
			views[name](render.Screen{Out: quiet{x}, Style: render.Style{Color: true}.At(columns), Size: x.size, Clock: clock}, func(what string) {
				if what == moment {
					lines = x.spans()
				}
			}, clock)
			if len(lines) == 0 {
				t.Fatalf("%s shows nothing at the moment %q", name, moment)
			}
			data, err := json.Marshal(struct {
				Columns int      `json:"columns"`
				Lines   [][]span `json:"lines"`
			}{columns, lines})
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%s-%d", name, columns)] = data
		}
	}
	return all
}

// TestShots writes the screens of which task terminal:shots takes the pictures. Without a folder it holds the pictures that were taken to
// what is drawn today: the tool writes beside them the digests of the screens that it drew.
func TestShots(t *testing.T) {
	screens := pictures(t)
	if *shots != "" {
		for name, data := range screens {
			if err := os.WriteFile(filepath.Join(*shots, name+".json"), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	const folder = "../../docs/terminal/"
	taken, err := os.ReadFile(folder + "SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(taken)) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, ok := screens[strings.TrimSuffix(name, ".json")]
		if sum := sha256.Sum256(data); !ok || hex.EncodeToString(sum[:]) != digest {
			t.Errorf("%s is not what the pictures show (task terminal:shots)", name)
		}
		delete(screens, strings.TrimSuffix(name, ".json"))
	}
	for name := range screens {
		t.Errorf("there is no picture of %s (task terminal:shots)", name)
	}
}
