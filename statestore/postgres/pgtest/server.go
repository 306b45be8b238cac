package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// startLimit is generous because machines that test are loaded; an idle one takes a tenth of a second.
const startLimit = 60 * time.Second

// Superuser is the role that may do everything on a server, without a password. Others need one.
const Superuser = "postgres"

// watch runs a program until its own standard input ends, which it does when the process with the other end has ended
// for any reason. The signal $2 ends the program then, and $1 is removed, unless it is empty.
const watch = `rest=$1 signal=$2; shift 2; "$@" <&- & child=$!; cat >/dev/null; kill -$signal $child; wait $child; [ -z "$rest" ] || rm -rf "$rest"`

// access lets the superuser in freely, so that tests need not know a password, and asks everybody else for one.
const access = "local all " + Superuser + " trust\nlocal all all scram-sha-256\n"

// hasty are settings that keep the server from waiting for the disk. What a server that is killed had written, the system keeps: they
// cost what is durable where the machine loses power, which no test lets a server do.
var hasty = []string{"fsync=off", "full_page_writes=off"}

// running is the server of this test binary. It outlives every test, so nothing but the process can own it.
var running = sync.OnceValues(func() (*Server, error) {
	s, err := prepare()
	if err != nil {
		return nil, err
	}
	return s, s.start(s.dir)
})

// Server is a PostgreSQL server on this machine.
type Server struct {
	bin      string
	dir      string // holds data, socket and log
	who      account
	settings []string

	input io.Closer // ends the server when it is closed
	ended <-chan struct{}
}

// Start gives the server of this test binary, which begins with the first test that asks for it.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := running()
	need(t, err)
	return s
}

// Launch makes and starts a server for this test alone. Settings are "name=value" as in postgresql.conf.
func Launch(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := prepare()
	need(t, err)
	s.settings = settings
	t.Cleanup(func() {
		s.stop()
		os.RemoveAll(s.dir)
	})
	s.Resume(t)
	return s
}

// Stop ends the server at once: connections break, nothing is said goodbye to.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.stop()
}

// Resume starts a server that was stopped, with what it had made durable.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	if err := s.start(""); err != nil {
		t.Fatal(err)
	}
}

// Log is what the server wrote so far.
func (s *Server) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(s.log())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Tables writes all that the server holds in memory to its files, and returns the folder of the files of tables and indexes.
func (s *Server) Tables(t testing.TB) string {
	t.Helper()
	Exec(t, s.URL("postgres"), "checkpoint")
	return filepath.Join(s.data(), "base")
}

// URL names a database of the server for the superuser.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(Superuser), Path: "/" + database, RawQuery: url.Values{"host": {s.dir}}.Encode()}
	return u.String()
}

// prepare makes the files of a server that was never started.
func prepare() (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	who, err := mayRun()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(proctest.Outside(), "athanor-pg-") // not the test's own: a socket's path must be short
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, who: who}
	if err := s.initialize(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "log") }

func (s *Server) initialize() error {
	if err := s.who.own(s.dir); err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(s.bin, "initdb"), "--pgdata", s.data(), "--username", Superuser, "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = s.dir, s.who.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(access), 0o600)
}

// start runs the server and waits until it answers. Its folder is removed with it when rest names it.
func (s *Server) start(rest string) error {
	args := []string{"-D", s.data()}
	for _, setting := range slices.Concat([]string{"listen_addresses=", "unix_socket_directories=" + s.dir, "max_connections=300"}, hasty, s.settings) {
		args = append(args, "-c", setting)
	}
	var err error
	if s.input, s.ended, err = s.guarded(rest, "QUIT", filepath.Join(s.bin, "postgres"), args...); err != nil {
		return err
	}
	if err := ready(s.URL("postgres")); err != nil {
		s.stop()
		text, _ := os.ReadFile(s.log())
		return fmt.Errorf("the server does not answer: %w\n%s", err, text)
	}
	return nil
}

// guarded runs a program of the server's account until input is closed, for any reason. Ended closes when it has ended.
// For PostgreSQL SIGQUIT is an end like a power cut: of its processes none is left.
func (s *Server) guarded(rest, signal, program string, args ...string) (input io.Closer, ended <-chan struct{}, err error) {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-c", watch, "sh", rest, signal, program}, args...)...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.who.attributes()
	cmd.Stdout, cmd.Stderr = log, log
	if input, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	return input, done, nil
}

func (s *Server) stop() {
	if s.input == nil {
		return
	}
	_ = s.input.Close()
	<-s.ended
	s.input = nil
}

// ready polls until a server answers.
func ready(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}
