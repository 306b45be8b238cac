package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

const (
	// protocol is what the events of a tail are told in: https://developers.cloudflare.com/workers/observability/logs/real-time-logs/
	protocol = "trace-v1"
	// mostEvent bounds one event in bytes: Cloudflare cuts logs at 256 KB for each call, and adds what was asked.
	mostEvent = 4 << 20
	// mostLost is how often in a row a tail may end before it has lasted for a while. Each ends by itself after some hours.
	mostLost = 3
	lasting  = time.Minute
	// farewell is how long giving a tail back may take once nobody listens.
	farewell = 10 * time.Second
)

// workerLogs are the lines that the Worker writes from now on, and what becomes of each call. What it wrote before is not
// kept for others to read. A tail is given back when nobody listens.
func workerLogs(ctx context.Context, site workerSite, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
	return func(yield func(reconcile.LogLine, error) bool) {
		if !query.Follow {
			yield(reconcile.LogLine{Time: time.Now(), Source: reconcile.SourceAthanor, Text: "lines are sent as they are written, and not kept: follow them"}, nil)
			return
		}
		t := &tailing{target: target{site.Location.Account, string(site.Last.Name)}, cloud: site.Cloud, query: query, yield: yield}
		for lost := 0; ; {
			since := time.Now()
			err := t.listen(cloudflare.Reading(ctx))
			if ctx.Err() != nil || t.enough {
				return
			}
			if lost++; time.Since(since) > lasting {
				lost = 0
			}
			class := site.Cloud.Classify(err)
			if lost == mostLost || class == reconcile.Denied || class == reconcile.Invalid || class == reconcile.Absent {
				yield(reconcile.LogLine{}, err)
				return
			}
		}
	}
}

// tailing is one reading of a Worker's lines.
type tailing struct {
	target
	cloud  reconcile.Cloud
	query  reconcile.LogQuery
	yield  func(reconcile.LogLine, error) bool
	enough bool // the reader wants no more
}

// listen makes a tail, and tells what it hears until that ends. A tail changes nothing of the Worker.
func (t *tailing) listen(ctx context.Context) error {
	var tail struct{ ID, URL string }
	if err := cloudflare.Call(ctx, t.cloud, t.request(http.MethodPost, "/tails", map[string]any{"filters": t.filters()}), &tail); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		_ = cloudflare.Call(ctx, t.cloud, t.request(http.MethodDelete, "/tails/"+url.PathEscape(tail.ID), nil), nil) // it ends by itself too
	}()
	conn, _, err := websocket.Dial(ctx, tail.URL, &websocket.DialOptions{Subprotocols: []string{protocol}}) //nolint:bodyclose // the connection has it
	if err != nil {
		return fmt.Errorf("tail of %s: %w", t.name, err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(mostEvent)
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"debug":false}`)); err != nil {
		return fmt.Errorf("tail of %s: %w", t.name, err)
	}
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("tail of %s: %w", t.name, err)
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("tail of %s: %w", t.name, err)
		}
		for _, line := range e.lines() {
			if strings.Contains(line.Text, t.query.Filter) && !t.yield(line, nil) {
				t.enough = true
				return nil
			}
		}
	}
}

// filters let Cloudflare leave out calls that hold nothing of what is looked for.
func (t *tailing) filters() []map[string]any {
	if t.query.Filter == "" {
		return []map[string]any{}
	}
	return []map[string]any{{"query": t.query.Filter}}
}

// event is what a tail tells of one call of a Worker.
type event struct {
	Outcome   string `json:"outcome"`
	Timestamp int64  `json:"eventTimestamp"` // in milliseconds
	Event     struct {
		Request *struct{ Method, URL string } `json:"request"`
		Cron    string                        `json:"cron"`
		Queue   string                        `json:"queue"`
		RPC     string                        `json:"rpcMethod"`
		Mail    string                        `json:"mailFrom"`
		Message string                        `json:"message"` // of the tail itself, when there is too much to tell
	} `json:"event"`
	Logs []struct {
		Level     string            `json:"level"`
		Message   []json.RawMessage `json:"message"`
		Timestamp int64             `json:"timestamp"`
	} `json:"logs"`
	Exceptions []struct {
		Name, Message, Stack string
		Timestamp            int64 `json:"timestamp"`
	} `json:"exceptions"`
}

// lines are what the call wrote, what it failed of, and what became of it.
func (e event) lines() []reconcile.LogLine {
	var all []reconcile.LogLine
	add := func(at int64, source, text string) {
		all = append(all, reconcile.LogLine{Time: time.UnixMilli(cmp.Or(at, e.Timestamp)), Source: source, Text: text})
	}
	for _, l := range e.Logs {
		words := make([]string, len(l.Message))
		for i, m := range l.Message {
			if json.Unmarshal(m, &words[i]) != nil { // no text: as it is
				words[i] = string(m)
			}
		}
		source := reconcile.SourceStdout
		if l.Level == "error" || l.Level == "warn" {
			source = reconcile.SourceStderr
		}
		for line := range strings.SplitSeq(strings.Join(words, " "), "\n") {
			add(l.Timestamp, source, line)
		}
	}
	for _, x := range e.Exceptions {
		for line := range strings.SplitSeq(cmp.Or(x.Stack, x.Name+": "+x.Message), "\n") {
			add(x.Timestamp, reconcile.SourceStderr, line)
		}
	}
	add(0, reconcile.SourceAthanor, e.what()+" "+e.Outcome)
	return all
}

// what is what the Worker was called by.
func (e event) what() string {
	switch {
	case e.Event.Request != nil:
		return e.Event.Request.Method + " " + e.Event.Request.URL
	case e.Event.Cron != "":
		return "cron " + e.Event.Cron
	case e.Event.Queue != "":
		return "queue " + e.Event.Queue
	case e.Event.RPC != "":
		return "call of " + e.Event.RPC
	case e.Event.Mail != "":
		return "mail from " + e.Event.Mail
	case e.Event.Message != "":
		return e.Event.Message
	}
	return "event"
}
