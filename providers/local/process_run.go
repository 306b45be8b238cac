package local

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

const (
	// longestLine is how much of one line of a process is kept, in bytes; of one that is cut somewhat less, since its end
	// may be the beginning of a secret.
	longestLine, unsure = 64 << 10, 4 << 10
	// drained is how long output is still read after a process and its group have ended: what left the group may hold it.
	drained = time.Second
)

// birth tells a process from every other that has the same id before or after it.
type birth struct {
	PID int `json:"pid,omitempty"`
	// Start is when it began, as the system counts; "" where the system does not tell.
	Start string `json:"start,omitempty"`
}

func bornAs(pid int) birth { return birth{PID: pid, Start: startOf(pid)} }

// alive reports that the very process still runs.
func (b birth) alive() bool { return b.PID > 0 && b.Start != "" && startOf(b.PID) == b.Start }

// running is one run of a process.
type running struct {
	group  *group
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // once exited is closed

	pipes   []*os.File
	readers sync.WaitGroup
}

// start starts a command in the group; each line that it writes goes to tell, with its source.
func (g *group) start(cmd *exec.Cmd, tell func(source, text string, cut int)) (*running, error) {
	r := &running{group: g, cmd: cmd, exited: make(chan struct{})}
	g.join(cmd)
	stdout, err := r.pipe(reconcile.SourceStdout, tell)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := r.pipe(reconcile.SourceStderr, tell)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g.tell(cmd.Process)
	go func() {
		r.err = cmd.Wait()
		close(r.exited)
	}()
	return r, nil
}

// pipe is where a run writes to; what it writes is read line by line.
func (r *running) pipe(source string, tell func(source, text string, cut int)) (*os.File, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.pipes = append(r.pipes, from)
	r.readers.Go(func() {
		defer from.Close()
		eachLine(from, func(text string, cut int) { tell(source, text, cut) })
	})
	return to, nil
}

// close ends what is left of the run and its group, and returns when all that it wrote was read.
func (r *running) close() {
	r.group.close()
	r.cmd.Process.Kill() //nolint:errcheck // it has ended, unless it left its group
	<-r.exited
	for _, p := range r.pipes {
		p.SetReadDeadline(time.Now().Add(drained)) //nolint:errcheck // it was read to its end
	}
	r.readers.Wait()
}

// failed reports an end that is no success.
func (r *running) failed() bool { return r.err != nil }

// how says in words how it ended.
func (r *running) how() string {
	exit, ok := errors.AsType[*exec.ExitError](r.err)
	switch {
	case r.err == nil:
		return "it ended (exit code 0)"
	case ok && exit.Exited():
		return fmt.Sprintf("it ended with exit code %d", exit.ExitCode())
	case ok:
		return "it ended: " + exit.String()
	}
	return "it ended: " + r.err.Error()
}

// eachLine reads lines to the end. Of one that is too long the beginning is kept; cut is how many bytes were not.
func eachLine(from io.Reader, do func(text string, cut int)) {
	r := bufio.NewReaderSize(from, 4<<10)
	var line []byte
	cut := 0
	for {
		part, err := r.ReadSlice('\n')
		room := max(0, longestLine-len(line))
		line = append(line, part[:min(len(part), room)]...)
		cut += max(0, len(part)-room)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil || len(line) > 0 {
			do(strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD"), cut)
		}
		if err != nil {
			return
		}
		line, cut = line[:0], 0
	}
}
