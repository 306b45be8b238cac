package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/engine"
)

// MayAsk reports whether somebody can answer a question.
func (t *Terminal) MayAsk() bool { return !t.AsJSON && IsTerminal(t.In) }

// Ask asks a question; anything but a yes is an error. Without a terminal nobody can answer, and nothing changes.
func (t *Terminal) Ask(ctx context.Context, question string) error {
	return t.Confirm(ctx, question+" [y/N] ", IsYes, nil)
}

// Confirm is the same with a whole prompt and its own yes, and shows details to who asks for them before it asks again; nil has none.
func (t *Terminal) Confirm(ctx context.Context, prompt string, yes func(text string) bool, details func()) error {
	if !t.MayAsk() {
		return cli.Hint(fmt.Errorf("%w; nothing was changed", engine.ErrNotApproved), "--yes goes ahead without asking")
	}
	for {
		t.Style(t.Err).Question(t.Err, prompt)
		text, err := t.reply(ctx)
		if err == nil && details != nil && (text == "d" || text == "details") && !yes(text) {
			details()
			continue
		}
		return t.decided(yes(text), err)
	}
}

// decided turns an answer into an error: nil is a yes.
func (t *Terminal) decided(yes bool, err error) error {
	switch {
	case err != nil:
		fmt.Fprintln(t.Err)
		return err
	case !yes:
		fmt.Fprintln(t.Err, "Nothing was changed.")
		return cli.Exit(cli.ExitNotApproved)
	}
	return nil
}

// IsYes reports whether an answer is a yes.
func IsYes(text string) bool { return text == "y" || text == "yes" }

// Answer reads a yes or a no. The end of input is a no.
func (t *Terminal) Answer(ctx context.Context) (bool, error) {
	text, err := t.reply(ctx)
	return IsYes(text), err
}

// reply reads a line in small letters, "" at the end of input.
func (t *Terminal) reply(ctx context.Context) (string, error) {
	type reply struct {
		text string
		err  error
	}
	read := make(chan reply, 1)
	go func() {
		line, err := readLine(t.In)
		read <- reply{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ErrInterrupted
	case <-t.Interrupts.stopped:
		return "", ErrInterrupted
	case r := <-read:
		if errors.Is(r.err, io.EOF) {
			fmt.Fprintln(t.Err)
			return "", nil
		}
		return r.text, r.err
	}
}

// readLine reads one line without taking more from the stream than it needs.
func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReaderSize(r, 16).ReadString('\n')
	return strings.ToLower(strings.TrimSpace(line)), err
}

// Expect takes the answer to a question for a word, and anything else is a no.
func (t *Terminal) Expect(ctx context.Context, word string) error {
	text, err := t.reply(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(t.Err)
		return err
	case strings.EqualFold(text, word):
		return nil
	}
	fmt.Fprintln(t.Err, "Nothing was changed.")
	return cli.Exit(cli.ExitNotApproved)
}
