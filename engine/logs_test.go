package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/tail"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/statestore"
)

// said is what an object of a world wrote: the first lines are there, the others come while it is followed.
type said struct {
	past, news []reconcile.LogLine
	err        error
}

// chatty makes a kind write logs: those of world.said, by the object's text.
func chatty(w *world, k *reconciletest.Kind[noteProps, runLive, noteAttrs]) *reconciletest.Kind[noteProps, runLive, noteAttrs] {
	k.Logs = func(ctx context.Context, s reconciletest.Site[noteProps, noteAttrs], q reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
		return func(yield func(reconcile.LogLine, error) bool) {
			log := w.said[s.Last.Text]
			lines := log.past
			if q.Follow {
				lines = slices.Concat(log.past, log.news)
			}
			for _, l := range lines {
				if !l.Time.Before(q.Since) && strings.Contains(l.Text, q.Filter) && !yield(l, nil) {
					return
				}
			}
			if log.err != nil {
				yield(reconcile.LogLine{}, log.err)
			} else if q.Follow {
				<-ctx.Done()
			}
		}
	}
	return k
}

func at(second int, text string) reconcile.LogLine {
	return reconcile.LogLine{Time: time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC), Text: text}
}

func (b *bench) logs(query reconcile.LogQuery, globs ...string) (lines []string, err error) {
	b.t.Helper()
	sources, err := b.e.LogSources(b.t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, "", globs)
	if err != nil {
		return nil, err
	}
	for line, err := range tail.Merge(b.t.Context(), sources, query) {
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s failed: %v", line.Address, err))
			continue
		}
		lines = append(lines, line.Address+": "+line.Text)
	}
	return lines, nil
}

func (b *bench) chat() *engine.Graph {
	b.t.Helper()
	b.e.Dev = &reconcile.Dev{Dir: "one"}
	g := graph(dev("web", "w"), dev("net/worker", "k"), res("a", m{"color": "red", "tokens": "hunter22"}))
	b.deploy(g)
	b.e.Dev = nil
	b.world.said = map[string]said{
		"w": {past: []reconcile.LogLine{at(1, "w1"), at(3, "w3"), at(3, "w3 again, with hunter22"), at(9, "w9")}},
		"k": {past: []reconcile.LogLine{at(2, "k2"), at(4, "k4")}},
	}
	return g
}

func TestLogsAreMerged(t *testing.T) {
	b := newBench(t)
	b.chat()
	for _, c := range []struct {
		query reconcile.LogQuery
		globs string
		want  string
	}{
		{reconcile.LogQuery{}, "", "web: w1, net/worker: k2, web: w3, web: w3 again, with " + reconcile.Mask + ", net/worker: k4, web: w9"},
		{reconcile.LogQuery{Since: at(4, "").Time}, "", "net/worker: k4, web: w9"},
		{reconcile.LogQuery{Filter: "k"}, "", "net/worker: k2, net/worker: k4"},
		{reconcile.LogQuery{}, "net/**", "net/worker: k2, net/worker: k4"},
	} {
		var globs []string
		if c.globs != "" {
			globs = []string{c.globs}
		}
		lines, err := b.logs(c.query, globs...)
		if have := strings.Join(lines, ", "); err != nil || have != c.want {
			t.Errorf("%+v %s: %s (%v), want %s", c.query, c.globs, have, err, c.want)
		}
	}
	// One that fails is told of, and stops none of the others.
	b.world.said["k"] = said{past: []reconcile.LogLine{at(2, "k2")}, err: errDenied}
	lines, err := b.logs(reconcile.LogQuery{})
	if have := strings.Join(lines, ", "); err != nil || !strings.Contains(have, "net/worker failed: denied, web: w3") || !strings.HasSuffix(have, "web: w9") {
		t.Errorf("%s (%v)", have, err)
	}
}

// What comes after what was there is told once, and so are lines of the very same time.
func TestLogsAreFollowed(t *testing.T) {
	b := newBench(t)
	b.chat()
	w := b.world.said["w"]
	w.news = []reconcile.LogLine{at(9, "w9"), at(9, "w9 again"), at(10, "w10")}
	b.world.said["w"] = w
	b.world.said["k"] = said{news: []reconcile.LogLine{at(20, "k20")}}
	sources, err := b.e.LogSources(t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var past, news []string
	for line, err := range tail.Merge(ctx, sources, reconcile.LogQuery{Follow: true, Since: at(3, "").Time}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(past) < 3 {
			past = append(past, line.Text)
			continue
		}
		if news = append(news, line.Text); len(news) == 4 {
			cancel()
		}
	}
	slices.Sort(news) // of several logs they come as they come
	if len(past) != 3 || past[2] != "w9" || strings.Join(news, " ") != "k20 w10 w9 w9 again" {
		t.Errorf("past %q, news %q", past, news)
	}
	// A reader that has enough ends it.
	for range tail.Merge(t.Context(), sources, reconcile.LogQuery{Follow: true}) {
		break
	}
}

func TestLogsThatAreNot(t *testing.T) {
	b := newBench(t)
	if _, err := b.logs(reconcile.LogQuery{}); !errors.Is(err, engine.ErrNoLogs) {
		t.Errorf("of nothing: %v", err)
	}
	b.chat()
	for name, want := range map[string]string{
		"a": "a: no logs: world.Thing has none", "wep": `state has no entry "wep"`, "x/**": `state has no entry "x/**"`,
	} {
		_, err := b.logs(reconcile.LogQuery{}, name)
		if err == nil || err.Error() != want || len(reconcile.Hints(err)) == 0 {
			t.Errorf("%s: %v %q", name, err, reconcile.Hints(err))
		}
	}
	// Other credentials than those it was made with read nothing.
	b.world.account = "2"
	b.world.said["w"] = said{err: errors.New("it was read")}
	if _, err := b.logs(reconcile.LogQuery{}, "web"); err == nil || !strings.Contains(err.Error(), "but these credentials lead to") {
		t.Errorf("elsewhere: %v", err)
	}
}
