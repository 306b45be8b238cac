package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/render"
)

// interrupts turns signals into what the moment calls for. Before anything is changed the first one cancels. While
// a plan is applied the first one starts nothing new and lets running calls finish and reach state; the second one
// cancels them. A hang-up is a first signal and never a second one: who closes a terminal is told nothing, and the end of
// a terminal may be noticed in more ways than one.
type interrupts struct {
	signals chan os.Signal
	unread  chan os.Signal // nobody listens to it: writing says that nobody reads
	done    <-chan struct{}
	cancel  context.CancelFunc
	errs    io.Writer
	ended   chan struct{}

	// stopped is closed by the first signal while a plan is applied.
	stopped chan struct{}

	mu     sync.Mutex
	stop   chan struct{} // stopped, while a plan is applied and no signal came
	notice func()
	first  os.Signal // the first signal that came, nil before
	lasts  bool      // the command changes something
}

// By names the first signal that came, "" when none did.
func (i *interrupts) By() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.first {
	case nil:
		return ""
	case os.Interrupt:
		return "ctrl-c"
	case syscall.SIGHUP:
		return "hangup"
	default:
		return "sigterm"
	}
}

// Done is closed when a signal has cancelled the command, or it has ended.
func (i *interrupts) Done() <-chan struct{} { return i.done }

// Catch begins to catch signals, and says on a stream when one ended the command. What it returns ends that.
func Catch(ctx context.Context, errs io.Writer) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancel(ctx)
	i := &interrupts{signals: make(chan os.Signal, 2), unread: make(chan os.Signal, 1), done: ctx.Done(), cancel: cancel, errs: errs, ended: make(chan struct{}), stopped: make(chan struct{})}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go i.listen()
	return ctx, i
}

func (i *interrupts) listen() {
	for {
		var sig os.Signal
		select {
		case <-i.ended:
			return
		case sig = <-i.signals:
		}
		i.mu.Lock()
		stop, notice := i.stop, i.notice
		i.stop = nil
		if i.first == nil {
			i.first = sig
		}
		i.mu.Unlock()
		if stop == nil {
			if sig == syscall.SIGHUP && i.stopping() {
				continue
			}
			// One more signal still ends code that does not obey a cancelled context.
			signal.Stop(i.signals)
			i.cancel()
			i.insist()
			return
		}
		notice()
		close(stop)
	}
}

// patience is how long a command that changes nothing may take to end after a signal.
const patience = 2 * time.Second

// insist ends a command that changes nothing and that something keeps from ending: a file of fifty gigabytes, or one on
// a server that does not answer.
func (i *interrupts) insist() {
	if i.changes() || i.stopping() {
		return
	}
	select {
	case <-i.ended:
	case <-time.After(patience):
		fmt.Fprintln(i.errs, "error:", ErrInterrupted)
		os.Exit(cli.ExitInterrupted)
	}
}

// Lasting says that the command changes something from now on, and ends by itself when its context does.
func (i *interrupts) Lasting() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lasts = true
}

// changes reports that the command has changed something, or may have.
func (i *interrupts) changes() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.lasts
}

// stopping reports that a first signal came while a plan was applied.
func (i *interrupts) stopping() bool {
	select {
	case <-i.stopped:
		return true
	default:
		return false
	}
}

// HangUpUnread is a hang-up as soon as nobody can read any more what is told on w. What it returns ends that.
func (i *interrupts) HangUpUnread(w io.Writer) (end func(), err error) {
	file := fileOf(w)
	if file == nil {
		return func() {}, nil
	}
	return whenUnread(file, func() {
		select {
		case i.signals <- syscall.SIGHUP:
		default: // signals wait to be heard
		}
	})
}

// Applying says that a plan is applied from now on. The channel closes at the first signal, after notice was called.
func (i *interrupts) Applying(notice func()) <-chan struct{} {
	// A reader of our output that goes away must not end a run half way. The signal is caught and not ignored: commands that a
	// run starts would inherit that.
	signal.Notify(i.unread, syscall.SIGPIPE)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stop, i.notice, i.lasts = i.stopped, notice, true
	return i.stopped
}

// End lets signals be what they are without us.
func (i *interrupts) End() {
	signal.Stop(i.signals)
	signal.Stop(i.unread)
	close(i.ended)
	i.cancel()
}

// StoppingText is what a first signal says while a plan is applied.
const StoppingText = "Stopping. Nothing new starts; running calls finish and are written to state. A second signal cancels them."

// Stopping says that a plan is applied no further, beside what is drawn of it.
func (t *Terminal) Stopping(progress *render.Progress) {
	if progress == nil {
		fmt.Fprintln(t.Err, StoppingText)
		return
	}
	progress.Stopping(StoppingText)
}
