package cloudflaretest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

//go:embed sqlite.py
var sqliteProgram string

// sqlite is a process that does SQL.
type sqlite struct {
	in  io.Writer
	out *bufio.Reader
}

var errNoPython = errors.New("databases of the tests are SQLite of Python: install Python 3")

// python is the interpreter of the AWS emulator, or the one of the system.
func python() (string, error) {
	dir, err := folder()
	if err == nil {
		path := filepath.Join(dir, "..", "..", ".venv", "bin", "python3")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return "", errNoPython
	}
	return path, nil
}

// WithDatabases lets the server have databases. Without Python the test is skipped, or fails when $ATHANOR_NO_SKIP is set.
func (s *Server) WithDatabases(t testing.TB) {
	t.Helper()
	end, err := s.startDatabases()
	if errors.Is(err, errNoPython) {
		proctest.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
}

// startDatabases starts what does SQL, until end is called.
func (s *Server) startDatabases() (end func(), err error) {
	path, err := python()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "-c", sqliteProgram)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.sqlite = &sqlite{in, bufio.NewReader(out)}
	return func() {
		_ = in.Close() // which ends it
		_ = cmd.Wait()
	}, nil
}

// answered is what SQL came to.
type answered struct {
	Error string
	Done  []struct {
		Statement string
		Results   []map[string]any
		Changes   int
	}
	Tables int
	Dump   []string
}

// run does the statements of a text: all or none where it is whole, else one after the other until the first mistake.
func (s *sqlite) run(id, sql string, whole bool) (answered, error) {
	return s.ask(object{"id": id, "sql": sql, "whole": whole})
}

// dump are the statements that make a database as it is.
func (s *sqlite) dump(id string) ([]string, error) {
	a, err := s.ask(object{"id": id, "dump": true})
	return a.Dump, err
}

func (s *sqlite) ask(what object) (answered, error) {
	var a answered
	if _, err := s.in.Write(append(plain(what), '\n')); err != nil {
		return a, err
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(line, &a)
}
