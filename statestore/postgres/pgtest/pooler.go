package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var errNoPooler = errors.New("PgBouncer is not installed: pgbouncer is neither in PATH nor in /usr/sbin")

// pooling is a configuration in which each transaction may get another connection, and there are few.
const pooling = `[databases]
* = host=%[1]s port=5432
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = %[1]s
auth_type = trust
auth_file = %[1]s/users
pool_mode = transaction
default_pool_size = %[2]d
logfile = %[1]s/pooler.log
`

// Pooler puts a PgBouncer in transaction mode before a server that the test has for itself, with so many connections for
// all clients, and gives the URL that leads through it to the database. Without PgBouncer the test is skipped, or fails when
// $ATHANOR_NO_SKIP is set.
func (s *Server) Pooler(t testing.TB, database string, connections int) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			need(t, fmt.Errorf("%w (%w)", errNoServer, errNoPooler))
		}
	}
	file := filepath.Join(s.dir, "pooler.ini")
	for name, text := range map[string]string{file: fmt.Sprintf(pooling, s.dir, connections), filepath.Join(s.dir, "users"): `"` + Superuser + `" ""` + "\n"} {
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), s.who.own(name)); err != nil {
			t.Fatal(err)
		}
	}
	input, ended, err := s.guarded("", "KILL", program, "-q", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		<-ended
	})
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("port", "6432")
	u.RawQuery = query.Encode()
	if err := ready(u.String()); err != nil {
		text, _ := os.ReadFile(filepath.Join(s.dir, "pooler.log"))
		t.Fatalf("PgBouncer does not answer: %v\n%s", err, text)
	}
	return u.String()
}
