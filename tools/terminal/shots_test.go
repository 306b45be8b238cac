//go:build shots

package terminal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/athanor-dev/athanor/tools/browsertest"
)

var (
	screens  = flag.String("screens", "", "the folder of the screens")
	pictures = flag.String("pictures", "", "the folder that pictures are written to")
)

// screen is what stands on a terminal.
type screen struct {
	Columns int `json:"columns"`
	Lines   [][]struct {
		Text  string `json:"text"`
		Color string `json:"color"`
		Bold  bool   `json:"bold"`
		Dim   bool   `json:"dim"`
	} `json:"lines"`
}

// A theme is what a user's terminal makes of the base colours.
type theme struct{ back, text, dim, red, green, yellow, blue, magenta, cyan string }

var themes = map[string]theme{
	"light": {"#ffffff", "#1f2328", "#6a737d", "#b3211c", "#136c3a", "#865300", "#0550ae", "#7a3bb3", "#0b6a78"},
	"dark":  {"#0f0f12", "#e6e6ea", "#8f8f9b", "#ff877f", "#63cc90", "#e2b454", "#79b8ff", "#caa0f5", "#62c7d6"},
}

func (t theme) style() string {
	return fmt.Sprintf(`body{margin:0;background:%s}
pre{margin:0;padding:14px 16px;width:max-content;color:%s;font:14px/19px "DejaVu Sans Mono",monospace;font-variant-ligatures:none}
.b{font-weight:700}.d{color:%s}.red{color:%s}.green{color:%s}.yellow{color:%s}.blue{color:%s}.magenta{color:%s}.cyan{color:%s}`,
		t.back, t.text, t.dim, t.red, t.green, t.yellow, t.blue, t.magenta, t.cyan)
}

// all are the colours of the theme.
func (t theme) all() (all color.Palette) {
	for _, text := range []string{t.back, t.text, t.dim, t.red, t.green, t.yellow, t.blue, t.magenta, t.cyan} {
		var c color.RGBA
		if _, err := fmt.Sscanf(text, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
			panic(err)
		}
		c.A = 255
		all = append(all, c)
	}
	return all
}

// page is the screen as a page. It is as wide as the terminal, also where no line is.
func (s screen) page(t theme) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><meta charset=utf-8><style>%s</style><pre style=\"min-width:%dch\">", t.style(), s.Columns)
	for _, line := range s.Lines {
		for _, part := range line {
			var classes []string
			if part.Bold {
				classes = append(classes, "b")
			}
			if part.Dim {
				classes = append(classes, "d")
			}
			if part.Color != "" {
				classes = append(classes, part.Color)
			}
			fmt.Fprintf(&b, `<span class="%s">%s</span>`, strings.Join(classes, " "), html.EscapeString(part.Text))
		}
		b.WriteString("\n")
	}
	return b.String() + "</pre>"
}

// TestShots takes the pictures of docs/cli.md.
func TestShots(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*screens, "*.json"))
	if err != nil || len(files) == 0 || *pictures == "" {
		t.Fatalf("%v: -screens names %d screens, -pictures the folder %q (task terminal:shots)", err, len(files), *pictures)
	}
	ctx := browsertest.Start(t, t.Fatal, 5*time.Minute, chromedp.WindowSize(1900, 1400), chromedp.Flag("disable-lcd-text", true))
	var sums strings.Builder // of what was drawn, to which a test of cmd/render holds its screens
	for _, file := range files {
		data, err := os.ReadFile(file)
		var s screen
		if err == nil {
			err = json.Unmarshal(data, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), filepath.Base(file))
		for name, colors := range themes {
			source := filepath.Join(t.TempDir(), "page.html")
			var picture []byte
			if err = os.WriteFile(source, []byte(s.page(colors)), 0o600); err == nil {
				err = chromedp.Run(ctx, chromedp.Navigate("file://"+source), chromedp.Screenshot("pre", &picture, chromedp.ByQuery))
			}
			if err == nil {
				picture, err = reduced(picture, colors.all())
			}
			if err == nil {
				base := strings.TrimSuffix(filepath.Base(file), ".json")
				err = os.WriteFile(filepath.Join(*pictures, base+"-"+name+".png"), picture, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(*pictures, "SHA256SUMS"), []byte(sums.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reduced returns a picture in at most 128 colours, which makes it half as large: those of the theme, and what is used most between them.
func reduced(picture []byte, palette color.Palette) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	uses, bounds := map[color.RGBA]int{}, from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			uses[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	for len(palette) < 128 && len(uses) > 0 {
		var most color.RGBA
		count := 0
		for c, n := range uses {
			if n > count || n == count && fmt.Sprint(c) < fmt.Sprint(most) { // the same picture in each run
				most, count = c, n
			}
		}
		palette = append(palette, most)
		delete(uses, most)
	}
	to := image.NewPaletted(bounds, palette)
	draw.Draw(to, bounds, from, bounds.Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}
