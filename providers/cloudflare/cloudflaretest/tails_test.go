package cloudflaretest

import (
	"bufio"
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// traced is an event of a Worker as Cloudflare tells it to a tail.
func traced(said string) object {
	return object{
		"outcome": "ok", "scriptName": "shop", "exceptions": []any{}, "diagnosticsChannelEvents": []any{}, "eventTimestamp": 1700000000000,
		"event": object{"request": object{"url": "https://shop.example/", "method": "GET", "headers": object{}, "cf": object{}}},
		"logs":  []any{object{"message": []any{said}, "level": "log", "timestamp": 1700000000000}},
	}
}

// TestTail: who listens to a tail is told, and no longer when the tail is deleted. The first word is the protocol.
func TestTail(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.AddScript("shop")
	made := s.Do(t, "POST", "/accounts/ACCOUNT/workers/scripts/shop/tails", object{"filters": []any{}}).(object)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	deaf, _, err := websocket.Dial(ctx, made["url"].(string), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := deaf.Read(ctx); websocket.CloseStatus(err) != websocket.StatusProtocolError {
		t.Errorf("without the protocol: %v", err)
	}
	conn, _, err := websocket.Dial(ctx, made["url"].(string), &websocket.DialOptions{Subprotocols: []string{"trace-v1"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Trace(ctx, t, "shop", traced("hello"))
	if _, text, err := conn.Read(ctx); err != nil || !strings.Contains(string(text), "hello") {
		t.Errorf("told %s, %v", text, err)
	}
	s.Do(t, "DELETE", "/accounts/ACCOUNT/workers/scripts/shop/tails/"+made["id"].(string), nil)
	if _, _, err := conn.Read(ctx); err == nil || ctx.Err() != nil || s.Tails("shop") != 0 {
		t.Errorf("after the end: %v, %d tails", err, s.Tails("shop"))
	}
}

// TestWranglerTail: Cloudflare's own client shows what it is told. Interrupted, it goes without waiting for its tail to
// be taken away.
func TestWranglerTail(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.AddScript("shop")
	cmd := wranglerCommand(t, t.TempDir(), s, "tail", "shop", "--format", "json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.Trace(ctx, t, "shop", traced("hello"))
	lines := bufio.NewScanner(out)
	heard := false
	for !heard && lines.Scan() {
		heard = strings.Contains(lines.Text(), "hello")
	}
	if !heard {
		t.Errorf("wrangler shows nothing: %v", lines.Err())
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		continue
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
}
