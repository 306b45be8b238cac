package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// longestSecret bounds what is read as a secret: far above any real one.
const longestSecret = 1 << 20

// readSecret reads a secret: typed without showing it, or from standard input.
func (a *app) readSecret(ctx context.Context, prompt string) (string, error) {
	read := func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.in, longestSecret+1)) }
	if isTerminal(a.in) {
		read = func() ([]byte, error) { return a.typed(ctx, prompt) }
	}
	data, err := read()
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case value == "":
		return "", hint(errors.New("the secret is empty; nothing was changed"), "it is typed at the prompt, or read from standard input")
	case len(data) > longestSecret:
		return "", fmt.Errorf("the secret is longer than %d KiB", longestSecret>>10)
	case !utf8.ValidString(value):
		return "", hint(errors.New("the secret is no UTF-8 text"), "base64 makes text of bytes")
	}
	return value, nil
}

// typed asks on the terminal. An interrupt gives the terminal its echo back.
func (a *app) typed(ctx context.Context, prompt string) ([]byte, error) {
	f, ok := a.in.(*os.File)
	if !ok {
		return nil, errors.New("standard input is no terminal")
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	type answer struct {
		data []byte
		err  error
	}
	read := make(chan answer, 1)
	fmt.Fprint(a.err, prompt)
	defer fmt.Fprintln(a.err)
	go func() {
		data, err := term.ReadPassword(fd)
		read <- answer{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, errors.Join(errInterrupted, term.Restore(fd, before))
	case r := <-read:
		return r.data, r.err
	}
}
