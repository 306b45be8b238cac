package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// serve is a server on the loopback that treats each connection as told.
func serve(t *testing.T, treat func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = c.Read(make([]byte, 1)) // an answer before the question would be another fault
				treat(c)
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

const header = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"

// ask makes one request and reads its answer.
func ask(ctx context.Context, url string, body io.Reader) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, body)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := reconcile.LimitAttempts(transport).RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// A service that accepts and never answers, or stops in the middle of an answer, is a lost answer: to be looked for.
func TestSilenceIsALostAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	hold := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = io.WriteString(c, text)
			<-release
			_ = c.Close()
		}
	}
	for name, text := range map[string]string{"never answers": "", "stops in the header": header[:20], "stops in the answer": header + "half"} {
		t.Run(name, func(t *testing.T) {
			ctx := reconcile.WithAttemptTimeout(t.Context(), 50*time.Millisecond)
			_, err := ask(ctx, serve(t, hold(text)), nil)
			if silent, ok := errors.AsType[*reconcile.SilentError](err); !ok || silent.After != 50*time.Millisecond {
				t.Fatalf("error %v", err)
			}
			if class := reconcile.ClassOfConnection(err); class != reconcile.Transient {
				t.Errorf("class %q", class)
			}
		})
	}
}

// An answer that trickles and an upload that takes long move: they are not ended, however long they take in all.
func TestWhatMovesIsNoSilence(t *testing.T) {
	t.Parallel()
	const limit = 400 * time.Millisecond
	gap := limit / 4
	trickle := serve(t, func(c net.Conn) {
		_, _ = io.WriteString(c, header)
		for range 10 {
			<-time.After(gap)
			_, _ = io.WriteString(c, "x")
		}
		_ = c.Close()
	})
	slow := serve(t, func(c net.Conn) {
		buf := make([]byte, 1<<20)
		for read := 0; read < 16<<20; { // the body, at the speed of a thin line
			<-time.After(gap / 4)
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			read += n
		}
		_, _ = io.WriteString(c, header+"0123456789")
		_ = c.Close()
	})
	ctx := reconcile.WithAttemptTimeout(t.Context(), limit)
	begin := time.Now()
	if text, err := ask(ctx, trickle, nil); err != nil || text != "xxxxxxxxxx" {
		t.Errorf("trickle: %q %v", text, err)
	}
	if time.Since(begin) < 2*limit {
		t.Error("the trickle was no test: it ended before the limit")
	}
	if text, err := ask(ctx, slow, bytes.NewReader(make([]byte, 16<<20))); err != nil || text != "0123456789" {
		t.Errorf("upload: %q %v", text, err)
	}
}

// A limit can be taken away for a call that answers late.
func TestNoAttemptLimit(t *testing.T) {
	t.Parallel()
	url := serve(t, func(c net.Conn) {
		<-time.After(100 * time.Millisecond)
		_, _ = io.WriteString(c, header+"0123456789")
		_ = c.Close()
	})
	ctx := reconcile.WithAttemptTimeout(reconcile.WithAttemptTimeout(t.Context(), time.Millisecond), 0)
	if text, err := ask(ctx, url, nil); err != nil || text != "0123456789" {
		t.Errorf("%q %v", text, err)
	}
}
