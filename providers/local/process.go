package local

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ProcessProps declare a process that runs as long as `athanor dev` does.
type ProcessProps struct {
	// Run is the command: a list of the program and its arguments, run as it is, or one text that sh -c runs.
	// It gets no input and must stay in the foreground: when it ends, all that it started ends with it.
	Run any `prop:"required"`
	// Dir is the folder it runs in, relative to the stack's directory. Default: "", the stack's directory.
	Dir string
	// Env are variables added to those of `athanor dev`. Values of secrets in it are masked in what it prints.
	// Default: none.
	Env map[string]string
	// Port is the TCP port that it listens on, which it is told as $PORT. 0 is a free one, kept as long as nobody else
	// takes it. It does not start while somebody else listens there. Default: none.
	Port *int `prop:"min=0,max=65535"`
	// Ready says when what needs it may go on. Default: when its port takes connections; without a port, at once.
	Ready *Ready
	// Restart says what is done when it ends by itself, after it was ready once: it is started again, later each time,
	// with a pause between 0.2s and 10s. A process that ends before it is ready has failed. Default: always.
	Restart *string `prop:"enum=always|on-failure|never"`
	// Triggers is any value; the process is started again whenever it changes. Default: null.
	Triggers any
	// Inputs are files and folders, relative to the stack's directory; the process is started again whenever something
	// in them changes. Folders named .git, .athanor and node_modules are passed over. Default: none.
	Inputs []string
	// Stop is the signal that its whole process group is ended with. Default: SIGTERM.
	Stop *string `prop:"enum=SIGTERM|SIGINT|SIGQUIT|SIGHUP|SIGKILL"`
	// Grace is how long it may take to end before the group is killed. Default: 10s.
	Grace *time.Duration `prop:"min=0s,max=10m"`
}

// Ready says when a process is ready: when all that is set has come true.
type Ready struct {
	// Port takes connections on this machine. Default: the port of the process, where nothing else is set either.
	Port *int `prop:"min=1,max=65535"`
	// Output is a regular expression (RE2) that fits a line it prints. Default: none.
	Output string
	// HTTP is an address that answers with a status below 400: a URL, or a path such as /health on the port of the
	// process. Default: none.
	HTTP string
	// Timeout bounds the wait. Default: 30s.
	Timeout *time.Duration `prop:"min=1ms,max=1h"`
}

// Process is what others may refer to.
type Process struct {
	// PID is the id of its process group: kill -- -PID would end all of it.
	PID token.Int
	// StartTime is when the group was made, as the system counts; with PID it means this group and never another.
	StartTime string
	// Port is where it listens, 0 without a port.
	Port token.Int
	// URL is http://localhost:PORT, "" without a port.
	URL string
	// Log is the file that holds what it printed last.
	Log string
	// Inputs is the digest of the inputs that it was started with, "" without any.
	Inputs string
}

// liveProcess is a process as it runs.
type liveProcess struct {
	props ProcessProps
	attrs Process
	// stray: it runs, and belongs to a session that is not this one.
	stray bool
}

var processKind = &reconcile.Kind[ProcessProps, liveProcess, Process]{
	Type: "local.Process",
	Doc: "A process that runs on this machine as long as `athanor dev` does, such as a dev server. It is started again when its command, folder, variables, " +
		"triggers or inputs change, and when it dies. With `athanor dev` its whole process group ends, however that ends; what it does to get out of its group is not seen. " +
		"A plain deploy neither starts nor misses it.",
	Observe:  observeProcess,
	Create:   createProcess,
	Compare:  compareProcess,
	Attrs:    func(l liveProcess) Process { return l.attrs },
	Delete:   deleteProcess,
	Logs:     processLogs,
	Identity: func(Process) string { return "" },
	Defaults: defaultProcess,
	Check:    checkProcess,
	Prepare:  prepareProcess,
	Files:    []tree.Path{"inputs"},
	Moves:    []string{"pid", "startTime", "port", "url", "log", "inputs"},
	MaskLive: []tree.Path{"env"},
	Recorded: true,
	Rerun:    true,
	InDev:    true,
	Source:   source,
	Calls:    []string{"local.FindProcess", "local.StartProcess", "local.StopProcess", "local.ReadLog"},
}

func defaultProcess(p ProcessProps) ProcessProps {
	if p.Restart == nil {
		p.Restart = new("always")
	}
	if p.Stop == nil {
		p.Stop = new("SIGTERM")
	}
	if p.Grace == nil {
		p.Grace = new(10 * time.Second)
	}
	return p
}

func checkProcess(want ProcessProps) error {
	var problems props.Errors
	bad := func(at tree.Path, problem string) {
		problems.Wrong(at, problem)
	}
	if err, ok := errors.AsType[props.Errors](checkCommand(CommandProps{Run: want.Run, Env: want.Env})); ok {
		problems = append(problems, err...)
	}
	if _, both := want.Env["PORT"]; both && want.Port != nil {
		bad(tree.Path("env").Key("PORT"), "port says it already")
	}
	if r := want.Ready; r != nil && !token.Has(r.Output) {
		if _, err := regexp.Compile(r.Output); err != nil {
			bad("ready.output", err.Error())
		}
	}
	if r := want.Ready; r != nil && r.HTTP != "" && !token.Has(r.HTTP) {
		u, err := url.Parse(r.HTTP)
		switch {
		case strings.HasPrefix(r.HTTP, "/") && want.Port == nil:
			bad("ready.http", "a path needs port; else want a whole URL, such as http://localhost:8080/")
		case strings.HasPrefix(r.HTTP, "/"):
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			bad("ready.http", "want http://HOST:PORT/PATH, or a path such as /health")
		}
	}
	return problems.OrNil()
}

// observeProcess finds what the session runs, and what an earlier one has left running.
func observeProcess(ctx context.Context, site reconcile.Site[ProcessProps, Process]) (live liveProcess, err error) {
	if site.Last == nil || site.Dev == nil {
		return live, reconcile.ErrAbsent
	}
	if site.Had != nil {
		live.props = defaultProcess(*site.Had)
	}
	s, err := reconcile.Owned(site.Dev, newSupervisor)
	if err != nil {
		return live, err
	}
	if c := s.find(site.Address, birthOf(*site.Last)); c != nil {
		live.attrs = c.attrs()
		return live, nil
	}
	live.attrs, live.stray = *site.Last, true
	return live, through(ctx, site.Place, "FindProcess", false, func() error {
		if !anyAlive(*site.Last) {
			return reconcile.ErrAbsent
		}
		return nil
	})
}

func createProcess(ctx context.Context, site reconcile.Site[ProcessProps, Process]) (Process, error) {
	if site.Dev == nil {
		return Process{}, reconcile.ErrDevClosed
	}
	return startProcess(ctx, site.Place, site.Dev, definition{
		address: site.Address, mark: site.Mark, dir: site.Dir, want: site.Want, inputs: site.Assets[inputs].Digest,
		mask: masker(site.Redact, secretValues(site.Want.Env, site.Secret)),
	})
}

// startProcess starts what is defined in the place of whatever runs at its address.
func startProcess(ctx context.Context, place reconcile.Place, dev *reconcile.Dev, d definition) (Process, error) {
	var out Process
	err := through(ctx, place, "StartProcess", true, func() error {
		s, err := reconcile.Owned(dev, newSupervisor)
		if err != nil {
			return err
		}
		d.dev = dev
		c, err := s.start(ctx, d)
		if err == nil {
			out = c.attrs()
		}
		return err
	})
	return out, err
}

func compareProcess(d *reconcile.Diff[liveProcess], want ProcessProps, live liveProcess) {
	start := &reconcile.Operation[liveProcess]{Name: "StartProcess", Do: func(ctx context.Context, on reconcile.On[liveProcess]) error {
		if live.stray {
			if err := endStray(ctx, on.Place, live.attrs, live.props); err != nil {
				return err
			}
		}
		out, err := startProcess(ctx, on.Place, on.Dev, definition{
			address: on.Address, mark: on.Mark, dir: on.Dir, want: want, inputs: on.Assets[inputs].Digest, last: live.attrs,
			mask: masker(on.Redact, secretValues(want.Env, on.Secret)),
		})
		if err == nil {
			on.Remember(out)
		}
		return err
	}}
	adjust := &reconcile.Operation[liveProcess]{Name: "Adjust", Do: func(ctx context.Context, on reconcile.On[liveProcess]) error {
		s, err := reconcile.Owned(on.Dev, newSupervisor)
		if err != nil {
			return err
		}
		if c := s.find(on.Address, birthOf(live.attrs)); c != nil {
			c.adjust(want)
		}
		return nil
	}}
	had := live.props
	if d.Force() {
		had.Run = nil // shown as a process that was not started yet
	}
	if live.stray {
		reconcile.Value(d, "session", "this one", "one that has ended", start)
	}
	reconcile.Value(d, "run", want.Run, had.Run, start)
	reconcile.Value(d, "dir", want.Dir, had.Dir, start)
	for _, name := range names(want.Env, had.Env) {
		reconcile.Value(d, tree.Path("env").Key(name), optional(want.Env, name), optional(had.Env, name), start)
	}
	reconcile.Value(d, "port", want.Port, had.Port, start)
	reconcile.Value(d, "triggers", want.Triggers, had.Triggers, start)
	if asset, hashed := d.Asset(inputs); hashed && slices.Equal(want.Inputs, had.Inputs) {
		reconcile.Value(d, "inputs", asset.Digest, live.attrs.Inputs, start)
	} else {
		reconcile.Value(d, "inputs", want.Inputs, had.Inputs, start)
	}
	reconcile.Value(d, "ready", want.Ready, had.Ready, adjust)
	reconcile.Value(d, "restart", want.Restart, had.Restart, adjust)
	reconcile.Value(d, "stop", want.Stop, had.Stop, adjust)
	reconcile.Value(d, "grace", want.Grace, had.Grace, adjust)
}

// deleteProcess ends what the record describes, in this session or wherever it still runs, and its log.
func deleteProcess(ctx context.Context, site reconcile.Site[ProcessProps, Process]) error {
	if site.Last == nil {
		return nil
	}
	var had ProcessProps
	if site.Had != nil {
		had = *site.Had
	}
	if site.Dev != nil {
		s, err := reconcile.Owned(site.Dev, newSupervisor)
		if err != nil {
			return err
		}
		if c := s.find(site.Address, birthOf(*site.Last)); c != nil {
			err := through(ctx, site.Place, "StopProcess", true, func() error { return s.stop(ctx, c) })
			return errors.Join(err, removeLog(site.Last.Log))
		}
	}
	if err := endStray(ctx, site.Place, *site.Last, had); err != nil {
		return err
	}
	return removeLog(site.Last.Log)
}
