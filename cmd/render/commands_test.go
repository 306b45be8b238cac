package render_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/render"
)

// TestCommandsStayWhole writes advice at all widths: a command is never split, whatever it stands beside. What people copy would
// else be two commands.
func TestCommandsStayWhole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, command string }{
		{"athanor secret set stripeKey --stage prod", "athanor secret set stripeKey --stage prod"},
		{"athanor deploy --stage pr-9 --new-stage creates it", "athanor deploy --stage pr-9 --new-stage"},
		{"did you mean visibilityTimeout? All props: athanor kinds aws.sqs.Queue", "athanor kinds aws.sqs.Queue"},
		{"wait until it ends, or end it: athanor cancel --stage prod, then athanor unlock --stage prod", "athanor unlock --stage prod"},
		{"`athanor state rm worker/jobs` forgets it; the next deploy finds what is there by reading", "`athanor state rm worker/jobs`"},
		{"export CLOUDFLARE_API_TOKEN=…", "export CLOUDFLARE_API_TOKEN=…"},
	} {
		for width := 44; width <= 130; width++ {
			for _, color := range []bool{false, true} {
				s := render.Style{Width: width, Color: color}
				var b bytes.Buffer
				s.Hints(&b, []string{tt.text})
				s.Check(&b, render.Check{Check: "stage", Status: render.CheckMissing, Text: "not there", Fix: []string{tt.text}})
				if n := strings.Count(b.String(), tt.command); n != 2 {
					t.Errorf("%d columns, colours %t: the command is whole %d times of 2:\n%s", width, color, n, b.String())
				}
				words := strings.Join(strings.Fields(b.String()), " ")
				if n := strings.Count(words, tt.text); n != 2 {
					t.Errorf("%d columns: %d of 2 texts are complete: %s", width, n, words)
				}
			}
		}
	}
	// A command that is longer than the terminal is one line, which the terminal wraps and copies whole.
	long := "athanor deploy --stage prod --allow-delete " + strings.Repeat("worker/", 9) + "jobs"
	var b bytes.Buffer
	render.Style{Width: 50}.Hints(&b, []string{long})
	if want := fmt.Sprintf("hint:\n%s\n", long); b.String() != want {
		t.Errorf("have %q, want %q", b.String(), want)
	}
}
