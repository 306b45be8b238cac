package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/reconcile"
)

// longestSecret bounds what is read as a secret: far above any real one.
const longestSecret = 1 << 20

// ReadSecret reads a secret, which errors call what: typed without showing it, once for each prompt and each time the same, or from
// standard input.
func (t *Terminal) ReadSecret(ctx context.Context, what string, prompts ...string) (string, error) {
	var data string
	var err error
	if IsTerminal(t.In) {
		data, err = t.typed(ctx, prompts)
	} else {
		var all []byte
		all, err = files.Interruptible(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(t.In, longestSecret+1)) })
		data = string(all)
	}
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(data, "\n"), "\r")
	switch {
	case value == "":
		return "", cli.Hint(fmt.Errorf("the %s is empty; nothing was changed", what), "it is typed at the prompt, or read from standard input")
	case len(data) > longestSecret:
		return "", fmt.Errorf("the %s is longer than %d KiB", what, longestSecret>>10)
	case !utf8.ValidString(value):
		return "", cli.Hint(fmt.Errorf("the %s is no UTF-8 text", what), "base64 makes text of bytes")
	}
	return value, nil
}

// Prompt asks for what a provider needs and no file holds, such as the code of a device, while something else may be drawn.
func (t *Terminal) Prompt(ctx context.Context) func(question string) (string, error) {
	return func(question string) (string, error) {
		if !IsTerminal(t.In) || !IsTerminal(t.Err) {
			return "", reconcile.ErrNobody
		}
		t.asking.Lock()
		defer t.asking.Unlock()
		io.WriteString(t.Err, "\r\x1b[K") //nolint:errcheck // a lost terminal answers nothing
		text, err := t.typed(ctx, []string{question})
		return strings.TrimSpace(text), err
	}
}

// unlessAsking is a stream on which nothing is drawn while the user answers a question.
type unlessAsking struct {
	io.Writer
	asking *sync.Mutex
}

// Write waits until nobody is asked.
func (w unlessAsking) Write(p []byte) (int, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	return w.Writer.Write(p)
}

// typed asks on the terminal, which shows nothing of the answers from before the first question on. It gets its
// manners back whatever happens.
func (t *Terminal) typed(ctx context.Context, prompts []string) (string, error) {
	f, ok := t.In.(*os.File)
	if !ok {
		return "", errors.New("standard input is no terminal")
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return "", err
	}
	restore := func() error { return term.Restore(int(f.Fd()), before) }
	type answer struct {
		text string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := ask(term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{t.In, t.Err}, ""), prompts)
		read <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", errors.Join(ErrInterrupted, restore())
	case r := <-read:
		return r.text, errors.Join(r.err, restore())
	}
}

// ask asks the same in several ways. The end of input and Ctrl-C are no answers.
func ask(t *term.Terminal, prompts []string) (string, error) {
	first := ""
	for i, prompt := range prompts {
		text, err := t.ReadPassword(prompt)
		switch {
		case errors.Is(err, io.EOF):
			return "", ErrInterrupted
		case err != nil:
			return "", err
		case i > 0 && text != first:
			return "", errors.New("the two differ; nothing was changed")
		}
		first = text
	}
	return first, nil
}
