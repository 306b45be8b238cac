//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// devSession deploys the stack of the working directory in a dev session, says so in a file, and ends with its processes
// when it is told to.
func devSession() {
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt)
	defer end()
	if err := holdSession(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func holdSession(ctx context.Context) (err error) {
	e, g, err := stackHere()
	if err != nil {
		return err
	}
	e.Dev = &reconcile.Dev{Dir: filepath.Join(g.Dir, ".athanor", "dev"), Output: func(address string, line reconcile.LogLine) {
		fmt.Println(address, line.Source, line.Text)
	}}
	defer func() { err = errors.Join(err, e.Dev.Close(context.WithoutCancel(ctx))) }()
	res, err := deployHere(ctx, e, g)
	if err != nil {
		return err
	}
	if len(res.Failures) > 0 {
		return res.Failures[0]
	}
	if p, err := e.Plan(ctx, g, engine.PlanOptions{}); err != nil || p.Pending() || !p.Dev {
		return fmt.Errorf("a second plan is pending: %+v %w", p, err)
	}
	if err := os.WriteFile("started", nil, 0o600); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
