package logs

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
)

// texts reads everything as "stream text".
func texts(t *testing.T, w *world, group string, query reconcile.LogQuery) []string {
	t.Helper()
	var out []string
	for line, err := range Tail(t.Context(), w.Cloud, group, query) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line.Source+" "+line.Text)
	}
	return out
}

func TestTail(t *testing.T) {
	w := newWorld(t)
	w.Settled(t, obj{}, nil)
	now := time.Now().Add(-time.Hour).UnixMilli()
	w.write(t, "shop-test-app", "one", now, "START a\n", "[x] said \"no\"")
	w.write(t, "shop-test-app", "two", now+60_000, "START b", "END b")
	w.write(t, "shop-test-app", "one", now+120_000, "END a")
	for name, c := range map[string]struct {
		query reconcile.LogQuery
		want  []string
	}{
		"all":    {reconcile.LogQuery{}, []string{"one START a", "one [x] said \"no\"", "two START b", "two END b", "one END a"}},
		"since":  {reconcile.LogQuery{Since: time.UnixMilli(now + 60_001)}, []string{"two END b", "one END a"}},
		"filter": {reconcile.LogQuery{Filter: "END"}, []string{"two END b", "one END a"}},
		"none":   {reconcile.LogQuery{Filter: "ENDE"}, nil},
	} {
		if have := texts(t, w, "shop-test-app", c.query); !slices.Equal(have, c.want) {
			t.Errorf("%s: %q, want %q", name, have, c.want)
		}
	}
	if have := texts(t, w, "nowhere", reconcile.LogQuery{}); have != nil {
		t.Errorf("a group that is not there says %q", have)
	}
	if len(w.Wrote()) != 1 {
		t.Errorf("reading wrote: %v", w.Wrote())
	}
}

func TestPattern(t *testing.T) {
	for text, want := range map[string]string{"": "", "END b": `"END b"`, `say "no" \o/`: `"say \"no\" \\o/"`} {
		if have := pattern(text); have != want {
			t.Errorf("%s: %s, want %s", text, have, want)
		}
	}
}

// TestPages reads more than one page, each event once.
func TestPages(t *testing.T) {
	w := newWorld(t)
	w.Settled(t, obj{}, nil)
	var lines []string
	for i := range 25 {
		lines = append(lines, fmt.Sprintf("line %02d", i))
	}
	w.write(t, "shop-test-app", "one", time.Now().UnixMilli(), lines...)
	r := &reading{group: "shop-test-app", cloud: w.Cloud, seen: map[string]time.Time{}}
	client := clientOf(w.Cloud)
	r.client = client
	var have []string
	if _, err := r.pages(t.Context(), &sdk.FilterLogEventsInput{LogGroupName: &r.group, Limit: new(int32(10))}, func(l reconcile.LogLine, _ error) bool {
		have = append(have, l.Text)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(have, lines) || w.Server.Count("Logs.FilterLogEvents") != 3 {
		t.Errorf("%q in %d pages", have, w.Server.Count("Logs.FilterLogEvents"))
	}
}

// TestFollow is about a group that comes while it is waited for, an event that arrives late in another stream, a call that
// is throttled, and the end.
func TestFollow(t *testing.T) {
	w := newWorld(t)
	client := clientOf(w.Cloud)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &reading{
		client: client, cloud: w.Cloud, group: "shop-test-app", query: reconcile.LogQuery{Follow: true},
		every: time.Millisecond, seen: map[string]time.Time{},
	}
	lines := make(chan string)
	ended := make(chan error, 1)
	go func() {
		ended <- r.run(ctx, func(l reconcile.LogLine, _ error) bool {
			lines <- l.Text
			return true
		})
	}()
	w.Settled(t, obj{}, nil)
	now := time.Now().UnixMilli()
	w.write(t, "shop-test-app", "one", now, "first")
	expect := func(want string) {
		t.Helper()
		select {
		case have := <-lines:
			if have != want {
				t.Errorf("read %q, want %q", have, want)
			}
		case err := <-ended:
			t.Fatalf("ended before %q: %v", want, err)
		case <-time.After(2 * time.Minute):
			t.Fatalf("no %q", want)
		}
	}
	expect("first")
	throttled := w.Server.Inject(awstest.Fault{Op: "Logs.FilterLogEvents", Kind: awstest.Throttle, Times: 2})
	w.write(t, "shop-test-app", "two", now-20_000, "late")
	expect("late")
	<-throttled.Reached()
	w.write(t, "shop-test-app", "one", now+1, "last")
	expect("last")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestTailFails is about what waiting does not mend.
func TestTailFails(t *testing.T) {
	w := newWorld(t)
	w.Server.Inject(awstest.Fault{Op: "Logs.FilterLogEvents", Kind: awstest.Deny, Times: -1})
	for _, err := range Tail(t.Context(), w.Cloud, "shop-test-app", reconcile.LogQuery{Follow: true}) {
		if w.Cloud.Classify(err) != reconcile.Denied {
			t.Errorf("%v", err)
		}
		return
	}
	t.Error("a denied reading ended without a word")
}

// TestLogs reads by the kind, as the command does.
func TestLogs(t *testing.T) {
	w, kind := newWorld(t), groupKind.Erase()
	out := w.Settled(t, obj{}, nil)
	w.write(t, "shop-test-app", "one", time.Now().UnixMilli(), "hello")
	for line, err := range kind.Logs(t.Context(), w.Job(t, kind, nil, &out), reconcile.LogQuery{}) {
		if err != nil || line.Text != "hello" || line.Source != "one" {
			t.Errorf("%+v, %v", line, err)
		}
		return
	}
	t.Error("no lines")
}
