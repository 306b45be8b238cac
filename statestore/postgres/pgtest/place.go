package pgtest

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Schema gives the URL of a store in a schema that is not there yet, for the superuser. What the test makes there goes
// with it.
func (s *Server) Schema(t testing.TB) string {
	t.Helper()
	name := unique("case")
	t.Cleanup(func() { Exec(t, s.URL("postgres"), "drop schema if exists "+name+" cascade") })
	return s.URL("postgres") + "&schema=" + name
}

// Database makes a database for the test and gives its URL, for the superuser.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := unique("db")
	Exec(t, s.URL("postgres"), "create database "+name)
	t.Cleanup(func() {
		if s.input != nil {
			Exec(t, s.URL("postgres"), "drop database if exists "+name+" with (force)")
		}
	})
	return s.URL(name)
}

// Role makes a role that may log in with the password and gives the URL with both in it.
func (s *Server) Role(t testing.TB, database, password string) string {
	t.Helper()
	name := unique("role")
	Exec(t, database, "create role "+name+" login password '"+strings.ReplaceAll(password, "'", "''")+"'")
	t.Cleanup(func() {
		Exec(t, database, "drop owned by "+name+" cascade")
		Exec(t, database, "drop role "+name)
	})
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, password)
	return u.String()
}

// Exec runs statements beside the code under test, as a person with a terminal would.
func Exec(t testing.TB, database string, statements ...string) {
	t.Helper()
	conn := Connect(t, database)
	for _, statement := range statements {
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := conn.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// Connect opens a connection beside the code under test. The schema that a store's URL names is the first in its path.
func Connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	if schema := query.Get("schema"); schema != "" {
		query.Del("schema")
		query.Set("search_path", schema)
	}
	u.RawQuery = query.Encode()
	conn, err := pgx.Connect(context.WithoutCancel(t.Context()), u.String())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// unique is a name that no other test has.
func unique(prefix string) string {
	return prefix + "_" + strings.ToLower(rand.Text()[:12])
}
