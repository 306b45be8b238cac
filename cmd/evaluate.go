package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/engine"
)

// evaluateVariable asks a stack program for its graph alone: it names a file for the answer and says what to evaluate for.
const evaluateVariable = "ATHANOR_EVALUATE"

// evaluation is what a program is evaluated for.
type evaluation struct {
	Stack, Stage, Dir string
	Config            map[string]string
	// Answer is the file that the evaluation is written to.
	Answer string
	// Spelling is that of an evaluation for a dev session, whose answer is an [answerDocument].
	Dev      bool
	Spelling athanor.Spelling
}

var errNoSecondEvaluation = errors.New("the program cannot be evaluated a second time")

// evaluate runs the program twice, with differently spelt tokens, the second time in a process of its own whose output is
// discarded, and compares.
func (a *app) evaluate(ctx context.Context, e evaluation) (*engine.Graph, error) {
	type answer struct {
		graph *engine.Graph
		err   error
	}
	second := make(chan answer, 1)
	go func() {
		g, err := inChild(ctx, e)
		second <- answer{g, err}
	}()
	first, err := a.program.evaluate(e, athanor.Plain, a.asJSON)
	other := <-second
	if err != nil {
		return nil, err
	}
	if other.err != nil {
		return nil, hint(fmt.Errorf("%w: %w", errNoSecondEvaluation, other.err), "it must do the same whenever it runs, whatever the letters of a reference are")
	}
	if err := athanor.Check(first, other.graph); err != nil {
		return nil, err
	}
	return first, nil
}

// evaluate runs the program once. With divert, what it prints goes to standard error, so that standard output
// stays the command's own.
func (p *program) evaluate(e evaluation, spelling athanor.Spelling, divert bool) (*engine.Graph, error) {
	if divert {
		out := os.Stdout
		os.Stdout = os.Stderr
		defer func() { os.Stdout = out }()
	}
	return athanor.Evaluate(p.stack, athanor.Input{Stack: e.Stack, Stage: e.Stage, Dir: e.Dir, Config: e.Config, Spelling: spelling})
}

// inChild evaluates this very program in another process.
func inChild(ctx context.Context, e evaluation) (*engine.Graph, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	data, err := answerOf(exec.CommandContext(ctx, self), e)
	if err != nil {
		return nil, err
	}
	return engine.ReadGraph(data)
}

// answerOf has a program that was not started yet evaluated.
func answerOf(cmd *exec.Cmd, e evaluation) ([]byte, error) {
	file, err := os.CreateTemp("", "athanor-graph-*.json")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	e.Answer = file.Name()
	request, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(append(os.Environ(), cmd.Env...), evaluateVariable+"="+string(request))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, strings.Join(lines[:min(len(lines), 10)], "\n"))
	}
	return os.ReadFile(file.Name())
}

// answer is the second evaluation, in the child.
func (p *program) answer(request string) int {
	var e evaluation
	err := json.Unmarshal([]byte(request), &e)
	if err == nil {
		err = p.write(e)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return cli.ExitError
	}
	return cli.ExitDone
}

func (p *program) write(e evaluation) error {
	if e.Dev {
		return p.writeForDev(e)
	}
	g, err := p.evaluate(e, athanor.Shifted, false)
	if err != nil {
		return err
	}
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return os.WriteFile(e.Answer, data, 0o600)
}
