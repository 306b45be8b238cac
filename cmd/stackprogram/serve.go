package stackprogram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// server runs the functions of this program for the process that holds the other ends of its pipes.
type server struct {
	calls chan call

	writing sync.Mutex // one frame at a time
	answers io.Writer

	mu      sync.Mutex // and what follows
	cancels map[uint64]context.CancelFunc
}

// serve takes the pipes, which nothing that this program starts has. The process that asks gets signals too, and says
// what they mean; when it has ended, so does this program, whatever it is doing.
func serve() *server {
	calls, answers := pipes()
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	s := &server{calls: make(chan call), answers: answers, cancels: map[uint64]context.CancelFunc{}}
	go func() {
		for {
			var c call
			switch err := readFrame(calls, &c); {
			case errors.Is(err, io.EOF):
				os.Exit(0)
			case err != nil:
				fmt.Fprintln(os.Stderr, "error: what athanor asks the program:", err)
				os.Exit(1)
			}
			s.calls <- c
		}
	}()
	return s
}

// run runs functions until the caller ends.
func (s *server) run(funcs engine.Funcs) error {
	if err := s.reply(reply{}); err != nil {
		return err
	}
	for c := range s.calls {
		if c.Cancel {
			s.cancel(c.ID)
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		s.mu.Lock()
		s.cancels[c.ID] = cancel
		s.mu.Unlock()
		go func() {
			r := answerCall(ctx, funcs, c)
			s.cancel(c.ID)
			if err := s.reply(r); err != nil {
				fmt.Fprintln(os.Stderr, "error: what the program answers athanor:", err)
				os.Exit(1)
			}
		}()
	}
	return nil
}

// cancel cancels a call that is under way.
func (s *server) cancel(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[id]; cancel != nil {
		cancel()
		delete(s.cancels, id)
	}
}

func (s *server) reply(r reply) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return writeFrame(s.answers, r)
}

// answerCall runs one function.
func answerCall(ctx context.Context, funcs engine.Funcs, c call) reply {
	r := reply{ID: c.ID}
	var err error
	switch then, hook := funcs.Then[c.Then], funcs.Hooks[c.Hook]; {
	case then != nil:
		r.Value, err = callThen(then, c.Input)
	case hook != nil && c.Info != nil:
		err = callHook(ctx, hook, *c.Info)
	case c.Policy > 0 && c.Policy <= len(funcs.Policies):
		var p *engine.Plan
		if p, err = engine.ReadPlan(c.Plan); err == nil {
			r.Violations = funcs.Policies[c.Policy-1](p)
		}
	default:
		err = errors.New("the program has no such function")
	}
	if err != nil {
		told := problem(err)
		r.Problem, r.Canceled = &told, ctx.Err() != nil && errors.Is(err, ctx.Err())
	}
	return r
}

func callThen(then func(any) (any, error), input any) (any, error) {
	value, err := tree.Of(input)
	if err != nil {
		return nil, err
	}
	if value, err = then(value); err != nil {
		return nil, err
	}
	return plain(value)
}

func callHook(ctx context.Context, hook func(context.Context, engine.HookInfo) error, info engine.HookInfo) error {
	if info.Attrs != nil {
		t, err := tree.Of(info.Attrs)
		if err != nil {
			return err
		}
		info.Attrs, _ = t.(map[string]any)
	}
	return hook(ctx, info)
}
