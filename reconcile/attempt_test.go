package reconcile_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// treated is a transport whose connections end in a server that treats each as told. In a bubble of synctest, time passes when
// both ends wait.
func treated(treat func(net.Conn)) http.RoundTripper {
	return reconcile.LimitAttempts(&http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = theirs.Read(make([]byte, 1)) // an answer before the question would be another fault
				treat(theirs)
				_ = theirs.Close()
			}()
			return ours, nil
		},
	})
}

// discard reads what a client sends until it closes the connection.
func discard(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

const header = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"

// ask makes one request and reads its answer.
func ask(ctx context.Context, transport http.RoundTripper, body io.Reader) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://service.test/", body)
	if err != nil {
		return "", err
	}
	res, err := transport.RoundTrip(req)
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
	const limit = 7 * time.Second
	for name, text := range map[string]string{"never answers": "", "stops in the header": header[:20], "stops in the answer": header + "half"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := ask(reconcile.WithAttemptTimeout(t.Context(), limit), treated(func(c net.Conn) {
					go discard(c)
					_, _ = io.WriteString(c, text)
					<-t.Context().Done()
				}), nil)
				if silent, ok := errors.AsType[*reconcile.SilentError](err); !ok || silent.After != limit {
					t.Fatalf("error %v", err)
				}
				if class := reconcile.ClassOfConnection(err); class != reconcile.Transient {
					t.Errorf("class %q", class)
				}
				if took := time.Since(begin); took != limit {
					t.Errorf("it ended after %s", took)
				}
			})
		})
	}
}

// An answer that trickles and an upload that takes long move: they are not ended, however long they take in all.
func TestWhatMovesIsNoSilence(t *testing.T) {
	t.Parallel()
	const gap = reconcile.DefaultAttemptTimeout - time.Second
	const pieces = 10
	t.Run("answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			text, err := ask(t.Context(), treated(func(c net.Conn) {
				go discard(c)
				_, _ = io.WriteString(c, header)
				for range pieces {
					time.Sleep(gap)
					_, _ = io.WriteString(c, "x")
				}
			}), nil)
			if err != nil || text != "xxxxxxxxxx" {
				t.Errorf("%q %v", text, err)
			}
		})
	})
	t.Run("upload", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const size = pieces << 17
			begin := time.Now()
			text, err := ask(t.Context(), treated(func(c net.Conn) {
				// The whole request is read before the answer is written: what is left unread fails the client's write.
				req, err := http.ReadRequest(bufio.NewReaderSize(io.MultiReader(strings.NewReader("P"), c), 4<<10))
				if err != nil {
					return
				}
				for range pieces { // the body, at the speed of a thin line
					time.Sleep(gap)
					if _, err := io.CopyN(io.Discard, req.Body, size/pieces); err != nil {
						return
					}
				}
				go discard(c)
				_, _ = io.WriteString(c, header+"0123456789")
			}), bytes.NewReader(make([]byte, size)))
			if err != nil || text != "0123456789" {
				t.Errorf("%q %v", text, err)
			}
			if took := time.Since(begin); took < pieces*gap {
				t.Errorf("it was no slow upload: %s", took)
			}
		})
	})
}

// A limit can be taken away for a call that answers late.
func TestNoAttemptLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := reconcile.WithAttemptTimeout(reconcile.WithAttemptTimeout(t.Context(), time.Millisecond), 0)
		text, err := ask(ctx, treated(func(c net.Conn) {
			go discard(c)
			time.Sleep(24 * time.Hour)
			_, _ = io.WriteString(c, header+"0123456789")
		}), nil)
		if err != nil || text != "0123456789" {
			t.Errorf("%q %v", text, err)
		}
	})
}
