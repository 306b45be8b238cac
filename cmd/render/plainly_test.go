package render_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// systemWords finds words that only a programmer of Go or of an operating system knows.
var systemWords = regexp.MustCompile(`openat|lstat|unlinkat|mkdirat|fork/exec|\bdial\b|\blookup\b|\bbind\b|->|\bEOF\b|context deadline|i/o timeout|strconv|json: |(Get|Post) "|\bopen /|\bstat /|exec: `)

// TestPlainly makes real errors of files, connections, programs and documents, and reads what users are shown of them: what failed and
// where is kept, and the words of the system are not.
func TestPlainly(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a file")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	port, err := proctest.Port() // nobody gets it meanwhile
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + port
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	get := func(ctx context.Context, url string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	over, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	opened := func(name string) error {
		f, err := os.Open(name)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	inRoot := func(name string) error {
		r, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		f, err := r.Open(name)
		if err == nil {
			err = f.Close()
		}
		return errors.Join(err, r.Close())
	}
	listen := func(on string) error {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", on)
		if err == nil {
			err = l.Close()
		}
		return err
	}
	speaksSSH, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer speaksSSH.Close()
	go func() {
		for {
			c, err := speaksSSH.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))           // a server that speaks first is another case
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9\r\n\r\n") // a client that went away reads nothing
			_ = c.Close()
		}
	}()
	silent := func() error { // nobody accepts, so nothing comes
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", taken.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		_, err = c.Read(make([]byte, 1))
		return err
	}
	strict := func(text string, to any) error {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		return d.Decode(to)
	}
	var number struct{ A int }
	var alone int
	_, noNumber := strconv.Atoi("many")
	_, noStat := os.Lstat(dir + "/none")
	seen := map[int]bool{}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a file":             {fmt.Errorf("prepare: %w", opened(dir+"/none")), "prepare: " + dir + "/none: no such file or directory"},
		"a file below":       {fmt.Errorf("prepare: %w", inRoot("none")), "prepare: none: no such file or directory"},
		"a file named twice": {fmt.Errorf("%s/none: %w", dir, noStat), dir + "/none: no such file or directory"},
		"a folder":           {os.Mkdir(file, 0o700), file + ": file exists"},
		"a move":             {os.Rename(dir+"/none", file), dir + "/none to " + file + ": no such file or directory"},
		"no server":          {get(t.Context(), "http://"+address), "http://" + address + ": cannot connect to " + address + ": connection refused"},
		"no name":            {&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x.invalid", Server: "10.0.0.2:53", IsNotFound: true}}, "the name x.invalid is not known (no such host)"},
		"no answer":          {get(over, cut.URL), cut.URL + ": no answer in time"},
		"a cut answer":       {get(t.Context(), cut.URL), cut.URL + ": the connection was closed without an answer"},
		"a taken port":       {listen(taken.Addr().String()), "cannot listen on " + taken.Addr().String() + ": address already in use"},
		"no port":            {listen("nonsense"), "cannot listen on nonsense: want HOST:PORT"},
		"no such port":       {listen("127.0.0.1:99999"), "cannot listen on 99999: invalid port"},
		"a silent server":    {silent(), "no answer from " + taken.Addr().String() + " in time"},
		"HTTP for HTTPS":     {get(t.Context(), "https://"+strings.TrimPrefix(cut.URL, "http://")), "https://" + strings.TrimPrefix(cut.URL, "http://") + ": it speaks HTTP there and not HTTPS"},
		"another protocol":   {get(t.Context(), "http://"+speaksSSH.Addr().String()), "http://" + speaksSSH.Addr().String() + `: it speaks no HTTP there: "SSH-2.0-OpenSSH_9"`},
		"who speaks first":   {errors.New(`Get "http://10.0.0.1:22": readLoopPeekFailLocked: %!w(<nil>)`), "http://10.0.0.1:22: it speaks no HTTP there"},
		"an unknown field":   {strict(`{"B":1}`, &number), `unknown field "B"`},
		"another value":      {strict(`"x"`, &alone), "it cannot be a string"},
		"no program":         {exec.CommandContext(t.Context(), "no-such-program").Run(), "there is no program no-such-program in the PATH"},
		"no number":          {noNumber, `"many" is no number that fits`},
		"a cut document":     {fmt.Errorf("plan: %w", json.NewDecoder(strings.NewReader("{")).Decode(&number)), "plan: it ends too early"},
		"an empty document":  {fmt.Errorf("plan: %w", json.NewDecoder(strings.NewReader("")).Decode(&number)), "plan: it is empty or ends too early"},
		"another document":   {json.Unmarshal([]byte(`{"A":"x"}`), &number), "A: it cannot be a string"},
		"a cut connection":   {&net.OpError{Op: "read", Net: "tcp", Source: taken.Addr(), Addr: taken.Addr(), Err: errors.New("connection reset by peer")}, "the connection to " + taken.Addr().String() + " was cut (connection reset by peer)"},
		"no document":        {json.Unmarshal([]byte("stack: x"), &number), "it is no JSON"},
		"no raw word":        {errors.New("orders: visibilityTimeout: open for 30s: at most 12h: at most 12h"), "orders: visibilityTimeout: open for 30s: at most 12h: at most 12h"},
		"a word of a user":   {errors.New("Description: EOF is no EOFX"), "Description: EOF is no EOFX"},
		"the end":            {io.EOF, "it is empty or ends too early"},
	} {
		got := render.Plainly(c.err.Error())
		for word := range render.PlainWords() {
			seen[word] = seen[word] || render.PlainlyWithout(word, c.err.Error()) != got
		}
		if got != c.want {
			t.Errorf("%s: %q\nbecomes %q\nwant    %q", name, c.err, got, c.want)
		}
		if word := systemWords.FindString(got); word != "" && !strings.Contains(name, "word") {
			t.Errorf("%s: %q has the word %q", name, got, word)
		}
	}
	for word := range render.PlainWords() {
		if !seen[word] {
			t.Errorf("word %d of the table has no case that fails without it", word)
		}
	}
}
