package loader

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// MaxInput bounds what is read as a stack: far above any real one.
const MaxInput = 256 << 20

// TargetHelp says what a TARGET is, for the help of commands.
const TargetHelp = `TARGET is a directory with athanor.yaml or a Go main package, a YAML file, a graph as JSON, or - for
standard input. The default is the current directory.`

// Source is where a stack comes from.
type Source struct {
	Dir  string // the stack's directory
	Path string // the file, "" for the program itself, a Go package or standard input
	Data []byte // of a file or of standard input; of a file nil until it is read
	// Target is the file as the user named it, for messages.
	Target string
	// At most one of these says what it is; none means YAML.
	Self   bool            // this binary's own program
	GoMain bool            // a Go main package, to be built and run
	Graph  bool            // a graph document
	Plan   *savedplan.File // a saved plan

	Stdin    bool
	PlanFile string // for a Go program: the saved plan that it is to apply
}

// Name is what a saved plan calls the source.
func (s *Source) Name() string {
	switch {
	case s.Stdin:
		return "-"
	case s.Path != "":
		return s.Path
	default:
		return s.Dir
	}
}

// File is the path for messages and for what is relative to it.
func (s *Source) File() string {
	if s.Stdin {
		return filepath.Join(s.Dir, "stdin")
	}
	return s.Path
}

// Source finds out what a target is. Nothing is evaluated yet.
func (l *Loader) Source(ctx context.Context, target string) (*Source, error) {
	if l.Program != nil {
		return l.ownSource(target)
	}
	if target == "-" {
		return l.standardInput(ctx)
	}
	if target == "" {
		target = "."
	}
	path := files.Absolute(target)
	info, err := os.Stat(path)
	if err != nil {
		way := "a directory with athanor.yaml or a Go main package, a file, or -"
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(target, `/\.`) {
			way += "; a stage is named by --stage " + target
		}
		return nil, cli.Hint(fmt.Errorf("target %s: %w", target, files.WithoutPath(err)), way)
	}
	switch {
	case info.IsDir():
		return Directory(ctx, path, target)
	case info.Mode()&os.ModeNamedPipe != 0: // such as <(…) of a shell, and the user's own word
		return pipe(ctx, path, target)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("target %s: not a file", target)
	}
	return &Source{Dir: filepath.Dir(path), Path: path, Target: target}, nil
}

// Read reads the file of a source within the bounds of the context, and finds out what it is.
func (s *Source) Read(ctx context.Context) error {
	if s.Data != nil || s.Path == "" || s.Plan != nil {
		return nil
	}
	data, err := localfile.ReadAtMost(ctx, s.Path, MaxInput)
	switch {
	case errors.Is(err, localfile.ErrTooLarge):
		return fmt.Errorf("target %s: larger than %d MiB", s.Target, MaxInput>>20)
	case err != nil:
		return fmt.Errorf("target %s: %w", s.Target, files.WithoutPath(err))
	}
	s.Data = data
	return tellApart(s)
}

// pipe reads a pipe that the user names as the target.
func pipe(ctx context.Context, path, target string) (*Source, error) {
	data, err := files.Interruptible(ctx, func() ([]byte, error) { return os.ReadFile(path) })
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", target, files.WithoutPath(err))
	}
	s := &Source{Dir: filepath.Dir(path), Path: path, Data: data}
	return s, tellApart(s)
}

func (l *Loader) standardInput(ctx context.Context) (*Source, error) {
	if terminal.IsTerminal(l.In) {
		return nil, cli.Hint(errors.New("target -: standard input is a terminal"), "athanor graph --json | athanor deploy - --yes")
	}
	data, err := files.Interruptible(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(l.In, MaxInput+1)) })
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if len(data) > MaxInput {
		return nil, fmt.Errorf("standard input: more than %d MiB", MaxInput>>20)
	}
	s := &Source{Dir: files.Absolute("."), Stdin: true, Data: data}
	return s, tellApart(s)
}

// ownSource is that of a stack program: itself, or a plan that it saved.
func (l *Loader) ownSource(target string) (*Source, error) {
	own := &Source{Dir: l.Program.Dir, Self: true}
	if target == "" || files.Absolute(target) == l.Program.Dir {
		return own, nil
	}
	if info, err := os.Stat(target); err == nil && info.Mode().IsRegular() {
		data, err := os.ReadFile(target)
		if err != nil {
			return nil, err
		}
		if plan, err := savedplan.Parse(data); plan != nil || err != nil {
			return &Source{Dir: l.Program.Dir, Path: files.Absolute(target), Plan: plan}, err
		}
	}
	return nil, cli.Hint(fmt.Errorf("target %s: this is a stack program, which is its own target", target), "leave TARGET out, or name a plan that it saved")
}

// ErrNoProgram is the error about a folder without a stack.
var ErrNoProgram = errors.New("there is neither an athanor.yaml nor a Go main package")

// Directory finds what a folder holds.
func Directory(ctx context.Context, path, target string) (*Source, error) {
	for _, name := range []string{"athanor.yaml", "athanor.yml"} {
		file := filepath.Join(path, name)
		_, err := os.Lstat(file)
		if err == nil {
			return &Source{Dir: path, Path: file, Target: target}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("target %s: %w", target, err)
		}
	}
	if isGoMain(ctx, path) {
		return &Source{Dir: path, GoMain: true}, nil
	}
	return nil, cli.Hint(fmt.Errorf("target %s: %w", target, ErrNoProgram), strings.ReplaceAll("athanor init "+target+" writes a first stack", " . ", " "))
}

// tellApart tells a graph, a saved plan and YAML apart by what they hold.
func tellApart(s *Source) error {
	if ext := filepath.Ext(s.Path); ext == ".yaml" || ext == ".yml" {
		return nil
	}
	if start := bytes.TrimLeft(s.Data, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return nil
	}
	plan, err := savedplan.Parse(s.Data)
	s.Plan, s.Graph = plan, plan == nil
	return err
}

var packageMain = regexp.MustCompile(`(?m)^package main\b`)

// longestGoFile bounds what is searched for the name of a package.
const longestGoFile = 16 << 20

// isGoMain reports whether a directory holds a Go main package. What a link outside of the project holds does not count.
func isGoMain(ctx context.Context, dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return false
	}
	if real, err := localfile.Real(dir); err == nil {
		ctx = localfile.With(ctx, localfile.Bounds{Root: project.BoundsRoot(real)})
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		if data, err := localfile.ReadAtMost(ctx, f, longestGoFile); err == nil && packageMain.Match(data) {
			return true
		}
	}
	return false
}

// longestProgram bounds a file of a program of which a line is shown.
const longestProgram = 4 << 20

// sourceLine returns a line of a file of the stack as people may see it: without secrets, and none of a file that the stack may
// not read. A document names places in files that it did not come from, of which nothing is shown.
func (l *Loader) sourceLine(file string, line int) (string, bool) {
	if l.Dir == "" || !l.showsLines {
		return "", false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(l.Dir, file)
	}
	switch filepath.Ext(file) {
	case ".go", ".yaml", ".yml":
	default:
		return "", false
	}
	data, err := localfile.ReadAtMost(l.Granted.Within(context.Background()), file, longestProgram)
	lines := strings.Split(string(data), "\n")
	if err != nil || line < 1 || line > len(lines) {
		return "", false
	}
	return l.Masked(errors.New(strings.TrimRight(lines[line-1], "\r"))), true
}

// ConfigFile is the name of a stage's file of config values.
func ConfigFile(stack, stage string) string { return stack + "." + stage + ".config.yaml" }

// maxConfig bounds a file of config values: far above any real one.
const maxConfig = 1 << 20

// ConfigInFile reads the file of config values of a stage, which need not exist. Of a Go program the stack's name is found
// only where there is a file of any stack.
func (l *Loader) ConfigInFile(ctx context.Context, src *Source, stage string) (values map[string]string, file string, err error) {
	var stack string
	switch {
	case src.Self:
		stack = l.Program.Name
	case src.GoMain:
		found, err := filepath.Glob(filepath.Join(src.Dir, "*."+stage+".config.yaml"))
		if err != nil || len(found) == 0 {
			return nil, "", err
		}
		stack, err = l.StackName(ctx, src)
		if _, must := errors.AsType[*CommandError](err); must {
			return nil, "", nil // the program does the command, and reads the file
		}
		if err != nil {
			return nil, "", err
		}
	default:
		if stack, err = yamlstack.Name(src.Data); err != nil {
			return nil, "", nil //nolint:nilerr // evaluating the stack says what is wrong with it
		}
	}
	if athanor.CheckStack(stack) != nil {
		return nil, "", nil
	}
	file = filepath.Join(src.Dir, ConfigFile(stack, stage))
	data, err := localfile.ReadAtMost(l.Granted.Within(ctx), file, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, file, nil
	}
	if err == nil {
		values, err = yamlstack.ReadValues(data)
	}
	if err != nil {
		return nil, file, fmt.Errorf("%s: %w", l.Place(file), files.WithoutPath(err))
	}
	return values, file, nil
}

// ReadSource reads the file of a target. One that is a link out of the project needs a permission like any other.
func (l *Loader) ReadSource(c *cli.Context, src *Source) error {
	err := src.Read(c.Context)
	ask, outside := TargetAsk(err, src)
	if err == nil && l.Granted != nil && src.Target != "" {
		if real, bad := localfile.Real(src.Path); bad == nil && !localfile.Within(l.Granted.User.Bounds.Root, real) {
			ask, outside = grants.Ask{Kind: grants.Path, Value: real, Place: "target"}, true // allowed at another place, maybe
		}
	}
	if !outside {
		return err
	}
	if err := l.Permit(c.Context, grants.Document{Outside: []grants.Ask{ask}}); err != nil {
		return err
	}
	c.Context = l.Granted.Within(c.Context)
	return src.Read(c.Context) // nothing, when it was read
}

// TargetAsk is what the error about reading a target asks for, when it lies outside.
func TargetAsk(err error, src *Source) (grants.Ask, bool) {
	outside, ok := errors.AsType[*localfile.OutsideError](err)
	if !ok {
		return grants.Ask{}, false
	}
	return grants.Ask{Kind: grants.Path, Value: cmp.Or(outside.Real, src.Path), Place: "target"}, true
}

// TrustedOnly refuses a program where stacks are a stranger's.
func TrustedOnly(c *cli.Context, src *Source) error {
	if !untrusted.Is(c) {
		return nil
	}
	if src.Self || src.GoMain {
		return cli.Hint(errors.New("the stack is a program in Go, and --untrusted builds and runs none"),
			"plan it where it may do what you can; a stack in YAML is data")
	}
	return os.Setenv(untrusted.Variable, "1")
}
