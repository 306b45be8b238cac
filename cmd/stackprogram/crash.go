package stackprogram

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/engine"
)

// crash stands before the standard error of a program, and holds back what Go says of a panic that nobody recovered from: of a
// goroutine or a hook of the program, since one of the program itself is a mistake like others.
type crash struct {
	dir string // the program's folder

	mu   sync.Mutex
	to   io.Writer
	line []byte // the beginning of a line that may become a panic
	mid  bool   // the last line has no end yet
	held *bytes.Buffer
}

// crashWords begin what Go says of its end.
var crashWords = []string{"panic: ", "fatal error: "}

// mostHeld bounds what is held back of a panic.
const mostHeld = 1 << 20

// Write passes on what is no panic.
func (c *crash) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rest := p; len(rest) > 0; {
		if c.held != nil {
			c.held.Write(rest)
			if c.held.Len() > mostHeld {
				return len(p), c.release()
			}
			break
		}
		part := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			part = rest[:i+1]
		}
		rest = rest[len(part):]
		if !c.mid {
			part = append(c.line, part...)
			c.line = nil
			if begins, may := isCrash(part); begins {
				c.held = bytes.NewBuffer(part)
				continue
			} else if may {
				c.line = part
				continue
			}
		}
		c.mid = part[len(part)-1] != '\n'
		if _, err := c.to.Write(part); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// isCrash reports whether a line begins with what Go says of its end, or may when more of it has come.
func isCrash(line []byte) (begins, may bool) {
	for _, word := range crashWords {
		begins = begins || bytes.HasPrefix(line, []byte(word))
		may = may || len(line) < len(word) && bytes.HasPrefix([]byte(word), line)
	}
	return begins, may
}

// release passes on what was held back.
func (c *crash) release() error {
	text := c.line
	if c.held != nil {
		text = c.held.Bytes()
	}
	c.line, c.held = nil, nil
	if len(text) == 0 {
		return nil
	}
	_, err := c.to.Write(text)
	return err
}

// end is the panic that ended the program, as a mistake in it; nil where it ended otherwise.
func (c *crash) end(ended error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	const endOfPanic = 2 // https://pkg.go.dev/runtime: a program that panics exits with code 2
	if exit, ok := errors.AsType[*exec.ExitError](ended); ok && exit.ExitCode() == endOfPanic && c.held != nil {
		if p, ok := c.parse(c.held.String()); ok {
			c.held = nil
			return p
		}
	}
	if err := c.release(); err != nil {
		return fmt.Errorf("what the program said: %w", err)
	}
	return nil
}

// traceCall finds a call in a trace: the function, and on the next line its place.
var traceCall = regexp.MustCompile(`(?m)^(?:created by )?(\S.*?)(?:\(.*\)| in goroutine \d+)?\n\t(.+):(\d+)(?: \+0x[0-9a-f]+)?$`)

// parse reads what Go says of a panic: the value, then the calls of the goroutine, the innermost first. Those of the program are kept.
func (c *crash) parse(text string) (error, bool) { //nolint:revive // the error is what is read
	head, trace, ok := strings.Cut(text, "\n\ngoroutine ")
	if !ok {
		return nil, false
	}
	trace, _, _ = strings.Cut(trace, "\n\n") // other goroutines follow
	for _, word := range crashWords {
		head = strings.TrimPrefix(head, word)
	}
	head, _, _ = strings.Cut(head, "\n[signal ")
	head = strings.TrimSuffix(strings.TrimSpace(head), " [recovered]")
	_, trace, _ = strings.Cut(trace, "\n")
	at, calls := "", []string(nil)
	for _, call := range traceCall.FindAllStringSubmatch(trace, -1) {
		function, file := call[1], call[2]
		if !c.owns(function, file) {
			continue
		}
		if rel, err := filepath.Rel(c.dir, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
		place := file + ":" + call[3]
		if at == "" {
			at = place
		}
		calls = append(calls, function[strings.LastIndexByte(function, '/')+1:]+"  "+place)
	}
	err := errors.New("your program panicked: " + head)
	if len(calls) > 1 {
		err = fmt.Errorf("%w\n%s", err, strings.Join(calls, "\n"))
	}
	return &engine.GraphError{Problems: []engine.Problem{{Source: at, Err: err}}}, true
}

// owns reports whether a function is the program's, and none of Go, of athanor or of a module that it uses.
func (c *crash) owns(function, file string) bool {
	if rel, err := filepath.Rel(c.dir, file); err == nil && filepath.IsLocal(rel) {
		return true
	}
	path := function
	if slash := strings.LastIndexByte(path, '/'); slash >= 0 {
		path = path[:slash] + "/" + strings.SplitN(path[slash+1:], ".", 2)[0]
	} else {
		path, _, _ = strings.Cut(path, ".")
	}
	first, _, _ := strings.Cut(path, "/")
	standard := !strings.Contains(first, ".") && path != "main" && strings.Contains(filepath.ToSlash(file), "/src/"+path+"/")
	return function != "panic" && !standard && !strings.Contains(filepath.ToSlash(file), "/pkg/mod/") &&
		!strings.HasPrefix(function, "github.com/athanor-dev/athanor/") && !strings.HasPrefix(function, "github.com/athanor-dev/athanor.")
}
