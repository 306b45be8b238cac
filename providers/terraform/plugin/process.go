// Package plugin runs Terraform providers as they are: it starts their processes, speaks the plugin protocol's versions 5 and 6
// with them, and ends them. It knows processes and calls. It does not know what a provider's types and values mean: messages are
// those of the protocol.
package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/reconcile/scratch"
)

var (
	// ErrCrashed says that the process went away during a call: the answer is lost, and what the call did is not known.
	ErrCrashed = errors.New("the provider ended before it answered")
	// ErrUnsupported says that the provider does not know the call.
	ErrUnsupported = errors.New("the provider does not know this call")
)

const (
	// startTimeout bounds the handshake with a provider, which takes tens of milliseconds, and endTimeout its end.
	startTimeout, endTimeout = 20 * time.Second, 2 * time.Second
	// lastLines is how many lines of a provider's output are kept: a panic's text is there, and nowhere else.
	lastLines = 100
	// maxLine bounds the line of the handshake, in bytes.
	maxLine = 64 << 10
)

// Options say how a provider is started.
type Options struct {
	// Path is the provider's program. Required.
	Path string
	// Env are further variables of its environment, NAME=VALUE. It has of ours PATH, HOME and the proxies alone.
	Env []string
	// Output gets each line that the provider prints. Nil: nobody does. It is called from many goroutines.
	Output func(line string)
	// Before is called with the name of each call before it is made, and its error is that of the call. Nil: nothing is.
	Before func(call string) error
}

// Starter starts providers. A process that it started ends with ours, however ours ends. Make one with [NewStarter].
type Starter struct{ work chan func() }

// NewStarter returns a starter that works until ctx ends.
func NewStarter(ctx context.Context) *Starter {
	s := &Starter{make(chan func())}
	go s.run(ctx)
	return s
}

// run starts processes on one thread, which never ends before ctx does: on Linux a child is told of its parent's death when the
// thread that started it ends, and Go ends threads as it likes.
func (s *Starter) run(ctx context.Context) {
	runtime.LockOSThread()
	for {
		select {
		case f := <-s.work:
			f()
		case <-ctx.Done():
			return
		}
	}
}

func (s *Starter) do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case s.work <- func() { f(); close(done) }:
		<-done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Process is a provider that runs. It is safe for concurrent use.
type Process struct {
	// Protocol is the version of the protocol that it speaks, 5 or 6.
	Protocol int

	options Options
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process has ended; nil before it was started
	wire    *wire
	printed *printed
	folder  *scratch.Folder // of its sockets
}

// folderPrefix begins the names of the folders of providers.
const folderPrefix = "athanor-plugin-"

// Start starts a provider. The caller ends it with Close.
func (s *Starter) Start(ctx context.Context, o Options) (*Process, error) {
	folder, err := scratch.New("", folderPrefix)
	if err != nil {
		return nil, err
	}
	p := &Process{options: o, folder: folder, printed: &printed{tell: o.Output}}
	if err := p.start(ctx, s); err != nil {
		p.Close()
		return nil, fmt.Errorf("%s: %w", filepath.Base(o.Path), p.withPrinted(err))
	}
	return p, nil
}

func (p *Process) start(ctx context.Context, s *Starter) error {
	p.cmd = exec.Command(p.options.Path) //nolint:gosec,noctx // running it is what was asked for; it ends with Close
	p.cmd.Env = environment(p.folder.Path, p.options.Env)
	p.cmd.Stderr = p.printed
	bind(p.cmd)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if stopped := s.do(ctx, func() { err = p.cmd.Start() }); stopped != nil {
		return stopped
	}
	if err != nil {
		return err
	}
	p.ended = make(chan struct{})
	first := make(chan string, 1)
	go func() {
		lines := bufio.NewReaderSize(out, maxLine)
		line, _ := lines.ReadString('\n')
		first <- strings.TrimSpace(line)
		_, _ = io.Copy(p.printed, lines)
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case line := <-first:
		return p.greeted(line)
	case <-ctx.Done():
		return fmt.Errorf("it did not greet: %w", context.Cause(ctx))
	}
}

// greeted reads the line with which a provider says how it is reached: versions of the handshake and of the protocol, network,
// address, and how it is spoken to.
func (p *Process) greeted(line string) error {
	parts := strings.Split(line, "|")
	if len(parts) < 5 || parts[0] != "1" || parts[4] != "grpc" {
		if line == "" {
			return errors.New("this is no Terraform provider, or it ended before it greeted")
		}
		return fmt.Errorf("this is no Terraform provider: it says %q", line)
	}
	version, err := strconv.Atoi(parts[1])
	if err != nil || version != 5 && version != 6 {
		return fmt.Errorf("it speaks version %s of the protocol; 5 and 6 are known", parts[1])
	}
	if parts[2] != "unix" {
		return fmt.Errorf("it listens on a network (%s), where others could reach it", parts[2])
	}
	p.Protocol, p.wire = version, newWire(parts[3])
	go p.wire.printed(p.printed)
	return nil
}

// environment is what a provider sees of ours, with what it greets: the cookie is no secret. The logs of the SDKs are off: they write
// everything at trace level unless told otherwise, and make calls up to three times slower.
func environment(folder string, more []string) []string {
	env := []string{
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2", "PLUGIN_PROTOCOL_VERSIONS=5,6",
		"TMPDIR=" + folder, "PLUGIN_UNIX_SOCKET_DIR=" + folder, "TF_LOG=OFF", "TF_LOG_SDK=OFF", "TF_LOG_SDK_PROTO=OFF",
	}
	for _, name := range []string{
		"PATH", "HOME", "USER", "LANG", "SystemRoot", "USERPROFILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, more...)
}

// method is the full name of a call. The two versions of the protocol differ in six of them.
func (p *Process) method(call string) string {
	if p.Protocol == 6 {
		return "/tfplugin6.Provider/" + call
	}
	switch call {
	case "GetProviderSchema":
		call = "GetSchema"
	case "ValidateProviderConfig":
		call = "PrepareProviderConfig"
	case "ValidateResourceConfig":
		call = "ValidateResourceTypeConfig"
	case "ValidateDataResourceConfig":
		call = "ValidateDataSourceConfig"
	case "ConfigureProvider":
		call = "Configure"
	case "StopProvider":
		call = "Stop"
	}
	return "/tfplugin5.Provider/" + call
}

// Call makes a call by its name in version 6 and waits for the answer. It fails with ErrCrashed when the process went away, and
// with ErrUnsupported when the provider does not know the call. What the provider says of a failure is in the answer's
// diagnostics, not here. When ctx ends the answer is lost, whatever the call did: never end that of an apply.
func (p *Process) Call(ctx context.Context, call string, request, answer proto.Message) error {
	if p.options.Before != nil {
		if err := p.options.Before(call); err != nil {
			return err
		}
	}
	return p.explain(ctx, call, p.wire.call(ctx, p.method(call), request, answer))
}

func (p *Process) explain(ctx context.Context, call string, err error) error {
	var refused *statusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.code == unimplemented:
		return fmt.Errorf("%s: %w", call, ErrUnsupported)
	case errors.As(err, &refused):
		return fmt.Errorf("%s: %w", call, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", call, context.Cause(ctx))
	}
	p.awaitEnd(ctx)
	return p.withPrinted(fmt.Errorf("%s: %w (%w)", call, ErrCrashed, err))
}

// awaitEnd waits until a process that has lost its connection has ended: what it printed last is read by then.
func (p *Process) awaitEnd(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
	}
}

// withPrinted adds what the provider printed last, where a panic's text is.
func (p *Process) withPrinted(err error) error {
	if text := p.printed.last(); text != "" {
		return &PrintedError{Err: err, Text: text}
	}
	return err
}

// PrintedError is an error of a provider that printed something before it ended. Text holds its last lines, of which nobody knows
// whether they hold secrets.
type PrintedError struct {
	Err  error
	Text string
}

// Error says of what was printed the line that tells of a panic, else the last one.
func (e *PrintedError) Error() string {
	lines := strings.Split(e.Text, "\n")
	line := lines[len(lines)-1]
	if at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "panic:") }); at >= 0 {
		line = lines[at]
	}
	return fmt.Sprintf("%v; it printed: %s", e.Err, line)
}

func (e *PrintedError) Unwrap() error { return e.Err }

// Stop asks the provider to end all calls under way soon. They still answer: the caller waits for them.
func (p *Process) Stop(ctx context.Context) error {
	var answer tfplugin.StopProvider_Response
	if err := p.Call(ctx, "StopProvider", &tfplugin.StopProvider_Request{}, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// Exited reports whether the process is known to have ended.
func (p *Process) Exited() bool {
	if p.ended == nil {
		return true
	}
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Pid is the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill ends the process at once, with whatever it does.
func (p *Process) Kill() {
	if !p.Exited() {
		kill(p.cmd)
	}
}

// Close ends the process: in good order, and by force after two seconds.
func (p *Process) Close() {
	if p.ended != nil && !p.Exited() {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout) //nolint:forbidigo // the caller of close waits for it
		defer cancel()
		if p.wire != nil {
			_ = p.wire.call(ctx, "/plugin.GRPCController/Shutdown", nil, nil) // its connection may go before it answers
		} else {
			cancel()
		}
		select {
		case <-p.ended:
		case <-ctx.Done():
			kill(p.cmd)
			<-p.ended
		}
	}
	if p.wire != nil {
		p.wire.close()
	}
	p.folder.Remove()
}

// printed keeps the last lines of what a provider prints, and hands each on.
type printed struct {
	tell func(string)

	mu    sync.Mutex
	rest  string
	lines []string
}

var _ io.Writer = (*printed)(nil)

// Write takes a piece of output.
func (p *printed) Write(data []byte) (int, error) {
	p.mu.Lock()
	text := p.rest + string(data)
	lines := strings.Split(text, "\n")
	p.rest = lines[len(lines)-1]
	lines = lines[:len(lines)-1]
	p.lines = append(p.lines, lines...)
	if n := len(p.lines) - lastLines; n > 0 {
		p.lines = slices.Delete(p.lines, 0, n)
	}
	p.mu.Unlock()
	if p.tell != nil {
		for _, line := range lines {
			p.tell(line)
		}
	}
	return len(data), nil
}

func (p *printed) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.TrimSpace(strings.Join(p.lines, "\n") + "\n" + p.rest)
}
