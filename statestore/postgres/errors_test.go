package postgres

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

const password = "s3cr3t/pass@word"

func TestURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://ann:pw@db.example/shop":                            "postgres://db.example:5432/shop",
		"postgresql://ann@db.example:6000/shop?sslmode=verify-full":    "postgres://db.example:6000/shop",
		"postgres://db.example/shop?schema=team&pool_max_conns=2":      "postgres://db.example:5432/shop?schema=team",
		"postgres://ann@/shop?host=/run/postgresql":                    "postgres:///shop?host=/run/postgresql",
		"postgres://[::1]/shop":                                        "postgres://[::1]:5432/shop",
		"postgres://a.example,b.example/shop?target_session_attrs=rw":  "",
		"postgres://a.example:1,b.example:2/shop":                      "postgres://a.example:1/shop",
		"postgres://db.example/shop?schema=pg_catalog":                 "",
		"postgres://db.example/shop?schema=" + strings.Repeat("s", 64): "",
		"postgres://db.example/shop?sslmode=maybe":                     "",
		"mysql://db.example/shop":                                      "",
		"postgres:shop":                                                "",
		"postgres://ann:12/34@db.example/shop":                         "", // what follows the slash of a password is no database
		"postgres://ann:12?34@db.example/shop":                         "",
		"postgres://ann:p%zz@db.example/shop":                          "",
	} {
		s, err := Open(url)
		if (err == nil) != (want != "") {
			t.Errorf("%s: %v", url, err)
		}
		if err == nil {
			if s.place != want {
				t.Errorf("%s is at %s, want %s", url, s.place, want)
			}
			s.Close()
		}
	}
}

// secretive fails when an error shows a password, as it is or as a URL has it.
func secretive(t *testing.T, what string, err error) {
	t.Helper()
	for _, form := range []string{password, "s3cr3t", "pass@word", "pass%40word"} {
		if err != nil && strings.Contains(err.Error(), form) {
			t.Errorf("%s shows the password: %v", what, err)
		}
	}
}

func TestErrorsShowNoPassword(t *testing.T) {
	t.Parallel()
	const escaped = "s3cr3t%2Fpass%40word"
	for name, url := range map[string]string{
		"not escaped":    "postgres://ann:" + password + "@db.example/shop",
		"bad port":       "postgres://ann:" + escaped + "@db.example:port/shop",
		"bad mode":       "postgres://ann:" + escaped + "@db.example/shop?sslmode=maybe",
		"as a parameter": "postgres://db.example/shop?password=" + escaped + "&connect_timeout=soon",
		"no such file":   "postgres://ann:" + escaped + "@db.example/shop?sslrootcert=/nowhere",
	} {
		_, err := Open(url)
		secretive(t, name, err)
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for _, url := range []string{"postgres://ann:" + escaped + "@db.example/shop?sslpassword=" + escaped + "&password=" + escaped, "postgres://ann:" + password + "@h/d"} {
		secretive(t, "the URL to show", errors.New(WithoutPassword(url)))
	}
	if got, want := WithoutPassword("postgres://ann:"+escaped+"@db.example/shop?schema=team"), "postgres://ann@db.example/shop?schema=team"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	server := pgtest.Start(t)
	database := server.Database(t)
	right := server.Role(t, database, password)
	for name, url := range map[string]string{
		"wrong password":    strings.Replace(right, "cr3t", "cr3tcr3t", 1),
		"no such database":  strings.Replace(server.Role(t, database, password), "/db_", "/nodb_", 1),
		"nobody listens":    "postgres://ann:" + escaped + "@127.0.0.1:1/shop",
		"no such host":      "postgres://ann:" + escaped + "@host.invalid/shop",
		"not even a server": "postgres://ann:" + escaped + "@" + mute(t) + "/shop",
	} {
		_, err := opened(t, url, WithPatience(300*time.Millisecond)).Load(t.Context(), stage)
		secretive(t, name, err)
		unavailable, ok := errors.AsType[*statestore.UnavailableError](err)
		if !ok || !strings.HasPrefix(unavailable.Path, "postgres://") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(err)
	}
}

// mute is the address of something that accepts connections and never says a word.
func mute(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return listener.Addr().String()
}

// TestEncryptionIsNotGivenUp: a server without TLS is refused where the URL asks for it.
func TestEncryptionIsNotGivenUp(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	asked := make(chan int, 8)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n, _ := conn.Read(make([]byte, 512))
			asked <- n
			_, _ = conn.Write([]byte("N")) // no TLS here
			conn.Close()
		}
	}()
	_, err = opened(t, "postgres://ann:pw@"+listener.Addr().String()+"/shop?sslmode=require").Load(t.Context(), stage)
	if !errors.Is(err, statestore.ErrUnavailable) || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("%v", err)
	}
	if n := <-asked; n != 8 || len(asked) != 0 {
		t.Errorf("%d bytes were sent, and %d more connections made: only the question for TLS may be", n, len(asked))
	}
}

// TestPermissions: who may not make the schema is told so; in one that was made for it a role needs no more than that; who
// may only read reads.
func TestPermissions(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin := server.Database(t)
	url := server.Role(t, admin, password)
	role, _, _ := strings.Cut(strings.TrimPrefix(url, "postgres://"), ":")
	_, err := opened(t, url).Acquire(t.Context(), stage, statestore.Claim{Run: "r"})
	if !errors.Is(err, statestore.ErrUnavailable) || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("without any right: %v", err)
	}
	pgtest.Exec(t, admin, "create schema athanor", "grant usage, create on schema athanor to "+role)
	s := opened(t, url)
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: []statestore.Row{plainRow(0, 0)}, Finish: statestore.Succeeded}); err != nil {
		t.Fatal(err)
	}
	reading := server.Role(t, admin, password)
	reader, _, _ := strings.Cut(strings.TrimPrefix(reading, "postgres://"), ":")
	pgtest.Exec(t, admin, "grant usage on schema athanor to "+reader, "grant select on all tables in schema athanor to "+reader)
	r := opened(t, reading)
	if snap, err := r.Load(t.Context(), stage); err != nil || len(snap.Rows) != 1 {
		t.Errorf("reading: %v", err)
	}
	if _, err := r.Acquire(t.Context(), stage, statestore.Claim{Run: "r2"}); !errors.Is(err, statestore.ErrUnavailable) {
		t.Errorf("writing by a reader: %v", err)
	}
}
