package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// evaluateVariable asks a stack program for its graph alone: it names a file for the answer and says what to evaluate for.
const evaluateVariable = "ATHANOR_EVALUATE"

// evaluation is what a program is evaluated for.
type evaluation struct {
	Stack, Stage, Dir string
	Config            map[string]string
	// Answer is the file that the second evaluation writes its graph to.
	Answer string
}

// evaluate runs the program twice, with differently spelt tokens, the second time in a process of its own whose output is
// discarded, and compares.
func (a *app) evaluate(ctx context.Context, e evaluation) (*engine.Graph, error) {
	type answer struct {
		graph *engine.Graph
		err   error
	}
	second := make(chan answer, 1)
	go func() {
		g, err := a.program.second(ctx, e)
		second <- answer{g, err}
	}()
	restore := a.divert()
	first, err := a.program.evaluate(e, token.Plain)
	restore()
	other := <-second
	if err != nil {
		return nil, err
	}
	if other.err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSecondEvaluation, other.err)
	}
	if err := athanor.Check(first, other.graph); err != nil {
		return nil, err
	}
	return first, nil
}

// divert sends what the program prints to standard error, so that standard output stays the command's own.
func (a *app) divert() (restore func()) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return func() { os.Stdout = out }
}

func (p *program) evaluate(e evaluation, spelling token.Spelling) (*engine.Graph, error) {
	return athanor.Evaluate(p.stack, athanor.Input{Stack: e.Stack, Stage: e.Stage, Dir: e.Dir, Config: e.Config, Spelling: spelling})
}

// inChild evaluates this very program in another process.
func inChild(ctx context.Context, e evaluation) (*engine.Graph, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
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
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), evaluateVariable+"="+string(request))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	data, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, err
	}
	return engine.ReadGraph(data)
}

// answer is the second evaluation, in the child.
func (p *program) answer(request string) int {
	var e evaluation
	if err := json.Unmarshal([]byte(request), &e); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return ExitError
	}
	g, err := p.evaluate(e, token.Shifted)
	if err == nil {
		var data []byte
		if data, err = json.Marshal(g); err == nil {
			err = os.WriteFile(e.Answer, data, 0o600)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return ExitError
	}
	return ExitDone
}
