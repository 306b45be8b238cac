package awstest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// run is a run of go test, which starts a process for each package. Its packages share one emulator.
type run struct {
	pid  int
	door *net.UnixAddr
}

// runOf returns the run that a process is, if it is one. Between the run and a test binary may be testsum, which
// measures it. The name of the door has no file: it ends with the last process that holds it, however that ends, and
// only one process can take it.
func runOf(pid int) (run, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	name, rest, ok := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) < 20 {
		return run{}, false
	}
	if strings.HasSuffix(name, "(testsum") {
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			return runOf(parent)
		}
	}
	if !strings.HasSuffix(name, "(go") {
		return run{}, false
	}
	door := fmt.Sprintf("@athanor-emulator-%d-%d-%s", os.Getuid(), pid, fields[19]) // when it began
	return run{pid, &net.UnixAddr{Net: "unix", Name: door}}, true
}

// join returns the URL of the run's emulator, and starts it when nobody has. This process holds it until it ends.
func (r run) join(ctx context.Context, cmd *exec.Cmd) (string, error) {
	for {
		origin, err := r.hold(ctx)
		if err == nil || ctx.Err() != nil {
			return origin, err
		}
		if err := r.open(ctx, cmd); err != nil {
			return "", err
		}
	}
}

// errNobody says that the run has no emulator, or one that is ending.
var errNobody = errors.New("the test run has no emulator")

// hold connects to the emulator, which says its URL as soon as it serves. It stays as long as the connection does.
func (r run) hold(ctx context.Context) (string, error) {
	conn, err := net.DialUnix("unix", nil, r.door)
	if err != nil {
		return "", errNobody
	}
	limit, _ := ctx.Deadline()
	if err := conn.SetReadDeadline(limit); err != nil {
		return "", err
	}
	origin, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		conn.Close()
		return "", errors.Join(errNobody, err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return "", err
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }() // keeps it open
	return strings.TrimSpace(origin), nil
}

// open starts the emulator behind the door, unless another package does: callers that come meanwhile wait at the door.
func (r run) open(ctx context.Context, cmd *exec.Cmd) error {
	door, err := net.ListenUnix("unix", r.door)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil
	}
	if err != nil {
		return err
	}
	defer door.Close()
	file, err := door.File()
	if err != nil {
		return err
	}
	defer file.Close()
	cmd.ExtraFiles = []*os.File{file}
	cmd.Env = append(cmd.Env, fmt.Sprintf("EMULATOR_RUN=%d", r.pid))
	_, err = start(ctx, cmd, proctest.StartFree)
	return err
}
