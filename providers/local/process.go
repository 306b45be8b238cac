package local

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
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
	Env map[string]string `prop:"masklive"`
	// Port is the TCP port that it listens on, which it is told as $PORT. 0 is a free one, kept as long as nobody else
	// takes it. It does not start while somebody else listens there. Default: none.
	Port *int `prop:"min=0,max=65535"`
	// Ready says when what needs it may go on. Default: when its port takes connections; without a port, at once.
	Ready *Ready
	// Restart says what is done when it ends by itself, after it was ready once: it is started again, later each time,
	// with a pause between 0.2s and 10s. A process that ends before it is ready has failed.
	Restart *string `prop:"enum=always|on-failure|never,default=always"`
	// Triggers is any value; the process is started again whenever it changes. Default: null.
	Triggers any
	// Inputs are files and folders, relative to the stack's directory; the process is started again whenever something
	// in them changes. Folders named .git, .athanor and node_modules are passed over. Default: none.
	Inputs []string
	// Stop is the signal that its whole process group is ended with.
	Stop *string `prop:"enum=SIGTERM|SIGINT|SIGQUIT|SIGHUP|SIGKILL,default=SIGTERM"`
	// Grace is how long it may take to end before the group is killed.
	Grace *time.Duration `prop:"min=0s,max=10m,default=10s"`
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
	PID token.Int `attr:"mutable"`
	// StartTime is when the group was made, as the system counts; with PID it means this group and never another.
	StartTime string `attr:"mutable"`
	// Port is where it listens, 0 without a port.
	Port token.Int `attr:"mutable"`
	// URL is http://localhost:PORT, "" without a port.
	URL string `attr:"mutable"`
	// Log is the file that holds what it printed last.
	Log string `attr:"mutable"`
	// Inputs is the digest of the inputs that it was started with, "" without any.
	Inputs string `attr:"mutable"`
}

type (
	processSite = kind.Site[ProcessProps, Process]
	// keptProcess is a process as it runs. Read is set for one that belongs to a session that is not this one.
	keptProcess = kind.Kept[ProcessProps, Process]
)

var processTable = kind.TableOf[ProcessProps]()

var processKind = &kind.StateKind[ProcessProps, Process]{
	Type: "local.Process", Lifetime: kind.InDev,
	Doc: "A process that runs on this machine as long as `athanor dev` does, such as a dev server. It is started again when its command, folder, variables, " +
		"triggers or inputs change, and when it dies. With `athanor dev` its whole process group ends, however that ends; what it does to get out of its group is not seen. " +
		"A plain deploy neither starts nor misses it.",
	Read:    readProcess,
	Create:  createProcess,
	Compare: compareProcess,
	Delete:  deleteProcess,
	Logs:    processLogs,
	Props:   processTable,
	Check:   checkProcess,
	Prepare: prepareProcess,
	Files:   []tree.Path{"inputs"},
	API: kind.API{
		Source: source, Calls: []string{"local.FindProcess", "local.StartProcess", "local.StopProcess", "local.ReadLog"},
	},
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

// readProcess finds what the session runs, and what an earlier one has left running.
func readProcess(ctx context.Context, s processSite, live *keptProcess) error {
	if s.Dev == nil {
		return reconcile.ErrAbsent
	}
	keeper, err := reconcile.Owned(s.Dev, newSupervisor)
	if err != nil {
		return err
	}
	if c := keeper.find(s.Address, birthOf(*s.Last)); c != nil {
		live.Attributes = c.attrs()
		return nil
	}
	live.Read = true
	return through(ctx, s.Location, "FindProcess", false, func() error {
		if !anyAlive(*s.Last) {
			return reconcile.ErrAbsent
		}
		return nil
	})
}

func createProcess(ctx context.Context, s processSite) (Process, error) {
	return startProcess(ctx, s.Facts, s.Want, Process{})
}

// startProcess starts what is declared in the place of whatever runs at its address, last of all that of these attributes.
func startProcess(ctx context.Context, s kind.Facts, want ProcessProps, last Process) (out Process, err error) {
	if s.Dev == nil {
		return out, reconcile.ErrDevClosed
	}
	return out, through(ctx, s.Location, "StartProcess", true, func() error {
		keeper, err := reconcile.Owned(s.Dev, newSupervisor)
		if err != nil {
			return err
		}
		c, err := keeper.start(ctx, definition{
			dev: s.Dev, address: s.Address, mark: s.Owner, dir: s.Dir, want: want, inputs: s.Assets[inputs].Digest, last: last,
			mask: masker(s.Redact, secretValues(want.Env, s.Secret)),
		})
		if err == nil {
			out = c.attrs()
		}
		return err
	})
}

func compareProcess(d *kind.Diff[keptProcess], want ProcessProps, live keptProcess) {
	had, stray := live.Props, live.Read != nil
	start := kind.Set("StartProcess", func(ctx context.Context, u kind.Update[keptProcess]) error {
		if stray {
			if err := endStray(ctx, u.Location, live.Attributes, had); err != nil {
				return err
			}
		}
		out, err := startProcess(ctx, u.Facts, want, live.Attributes)
		if err == nil {
			u.Store(out)
		}
		return err
	})
	adjust := kind.Set("Adjust", func(_ context.Context, u kind.Update[keptProcess]) error {
		keeper, err := reconcile.Owned(u.Dev, newSupervisor)
		if err != nil {
			return err
		}
		if c := keeper.find(u.Address, birthOf(live.Attributes)); c != nil {
			c.adjust(want)
		}
		return nil
	})
	if stray {
		reconcile.Value(d, "session", "this one", "one that has ended", start)
	}
	compareExecution(d, execution{run: want.Run, dir: want.Dir, env: want.Env}, execution{run: had.Run, dir: had.Dir, env: had.Env}, start)
	reconcile.Value(d, "port", want.Port, had.Port, start)
	reconcile.Value(d, "triggers", want.Triggers, had.Triggers, start)
	compareInputs(d, want.Inputs, had.Inputs, live.Attributes.Inputs, start)
	reconcile.Value(d, "ready", want.Ready, had.Ready, adjust)
	reconcile.Value(d, "restart", want.Restart, had.Restart, adjust)
	reconcile.Value(d, "stop", want.Stop, had.Stop, adjust)
	reconcile.Value(d, "grace", want.Grace, had.Grace, adjust)
}

// deleteProcess ends what state describes, in this session or wherever it still runs, and its log.
func deleteProcess(ctx context.Context, s processSite) error {
	var had ProcessProps
	if s.Had != nil {
		had = *s.Had
	}
	if s.Dev != nil {
		keeper, err := reconcile.Owned(s.Dev, newSupervisor)
		if err != nil {
			return err
		}
		if c := keeper.find(s.Address, birthOf(*s.Last)); c != nil {
			err := through(ctx, s.Location, "StopProcess", true, func() error { return keeper.stop(ctx, c) })
			return errors.Join(err, removeLog(s.Last.Log))
		}
	}
	if err := endStray(ctx, s.Location, *s.Last, had); err != nil {
		return err
	}
	return removeLog(s.Last.Log)
}
