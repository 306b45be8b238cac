package render_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// A narrow plan leaves out the words that its glyphs say, and no others.
func TestNarrowPlanSaysAll(t *testing.T) {
	actions := []engine.Planned{
		{Address: "dead", Kind: "aws.sqs.Queue", Action: engine.Create},
		{Address: "maybe", Kind: "local.File", Action: engine.Replace, May: true},
		{Address: "served", Kind: "world.Local", Action: engine.Create, Local: true},
		{Address: "sleeping", Kind: "local.Process", Action: engine.Unchanged, InDev: true, Notes: []string{"runs in dev"}},
		{Address: "moved", Kind: "local.File", Action: engine.Update, From: "before"},
	}
	for _, tt := range []struct {
		drift bool
		want  []string
	}{
		{false, []string{"may replace", ", local", "runs in dev", "moved from before"}},
		{true, []string{"deleted outside athanor", "may replace"}},
	} {
		var wide, narrow bytes.Buffer
		p := &engine.Plan{Stack: "s", Stage: "t", Drift: tt.drift, Actions: actions}
		render.Style{Width: 80}.Plan(&wide, p, "")
		render.Style{Width: 50}.Plan(&narrow, p, "")
		for _, want := range tt.want {
			if !strings.Contains(wide.String(), want) || !strings.Contains(narrow.String(), want) {
				t.Errorf("drift %t: %q is not said at both widths:\n%s\n%s", tt.drift, want, &wide, &narrow)
			}
		}
		for _, unwanted := range []string{"update", "create"} {
			if strings.Contains(narrow.String(), unwanted+"\n") {
				t.Errorf("drift %t: a narrow terminal shows %q, which the glyph says:\n%s", tt.drift, unwanted, &narrow)
			}
		}
	}
}

// An identity that has room on a line of its own stays in one piece, as people copy it.
func TestIdentitiesStayInOnePiece(t *testing.T) {
	identities := []string{
		"0f4c3f8e-4a58-4f0e-9a39-6b3d6c1f2b11", "shop-prod-uploads-7d10", "arn:aws:sqs:eu-north-1:123456789012:jobs",
		"/aws/lambda/shop-prod-worker-77a1-invoices",
	}
	for _, width := range []int{50, 63, 64, 80, 120} {
		for _, identity := range identities {
			for _, kind := range []string{"aws.s3.Bucket", "aws.lambda.EventSourceMapping"} {
				g := engine.GenerationView{Number: 1, State: statestore.Live, Kind: kind, Identity: identity}
				row := engine.RowView{Address: "worker/invoices", Generations: []engine.GenerationView{g}}
				s := render.Style{Width: width}
				var out bytes.Buffer
				s.Things(&out, []engine.Thing{{Standing: engine.StandingOurs, Kind: kind, Identity: identity, Address: "worker/invoices"}})
				s.Rows(&out, []engine.RowView{row}, newClock().Now(), func(string) bool { return true })
				s.Row(&out, row)
				p := &engine.Plan{Stack: "s", Stage: "t", Actions: []engine.Planned{{Address: "worker/invoices", Kind: kind, Action: engine.Delete, Identity: identity}}}
				s.Plan(&out, p, "")
				if n := strings.Count(out.String(), identity); n != 4 {
					t.Errorf("%d columns: %s of %s is whole %d times, want 4:\n%s", width, identity, kind, n, &out)
				}
				if lines := strings.Split(out.String(), "\n"); slices.ContainsFunc(lines, func(l string) bool { return len([]rune(l)) > width }) {
					t.Errorf("%d columns: a longer line:\n%s", width, &out)
				}
			}
		}
	}
}

// A long word that begins in the rest of a line is broken behind its punctuation there, else it begins on the next line.
func TestLongWordsBreakAtPunctuation(t *testing.T) {
	for _, width := range []int{50, 51, 52, 53, 54, 60} {
		g := engine.GenerationView{Number: 1, State: statestore.Live, Kind: "aws.lambda.Function", Identity: "arn:aws:lambda:eu-north-1:123456789012:function:shop-prod-worker-7d10-of-the-orders"}
		var out bytes.Buffer
		render.Style{Width: width}.Row(&out, engine.RowView{Address: "w", Generations: []engine.GenerationView{g}, Props: map[string]any{"arn": g.Identity}})
		for line := range strings.Lines(out.String()) {
			if text := strings.TrimSpace(line); strings.HasPrefix(text, ":") || strings.HasSuffix(text, " arn") && text != "arn" {
				t.Errorf("%d columns: a word is broken before its punctuation:\n%s", width, &out)
			}
		}
	}
}
