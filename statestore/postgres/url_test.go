package postgres

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestVerified: a server elsewhere is asked for TLS and verified, in every way of the URL, unless the URL says otherwise.
func TestVerified(t *testing.T) {
	t.Setenv("PGHOST", "")
	t.Setenv("PGSSLMODE", "")
	for url, want := range map[string]string{
		"postgres://u@db.example/d": "verified", "postgres://u@192.0.2.1:5433/d": "verified", "postgres://u@[2001:db8::1]/d": "verified",
		"postgres://u@127.0.0.1,db.example/d": "verified", "postgres://u@/d?host=db.example": "verified", "postgres://u@127.0.0.1.example/d": "verified",
		"postgres://u@127.0.0.1/d": "maybe", "postgres://u@[::1]/d": "maybe", "postgres://u@localhost/d": "maybe", "postgres://u@/d?host=/run/postgresql": "none",
		"postgres://u@db.example/d?sslmode=disable": "none", "postgres://u@db.example/d?sslmode=require": "unverified",
	} {
		a, err := parse(url, false)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		c := a.config.ConnConfig
		have := "none"
		switch plain := slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil }); {
		case c.TLSConfig != nil && plain:
			have = "maybe"
		case c.TLSConfig != nil && c.TLSConfig.InsecureSkipVerify:
			have = "unverified"
		case c.TLSConfig != nil:
			have = "verified"
		}
		if have != want {
			t.Errorf("%s: %s, want %s", url, have, want)
		}
	}
}

// TestUserSays: $PGSSLMODE is the user's word for the stage's own store, and nobody's for another.
func TestUserSays(t *testing.T) {
	t.Setenv("PGSSLMODE", "disable")
	for foreign, verified := range map[bool]bool{false: false, true: true} {
		a, err := parse("postgres://u@db.example/d", foreign)
		if err != nil {
			t.Fatal(err)
		}
		if tls := a.config.ConnConfig.TLSConfig; (tls != nil && !tls.InsecureSkipVerify) != verified {
			t.Errorf("foreign %t: %v", foreign, tls)
		}
	}
}

// TestForeignPassword: the user's own password is for the stage's own store; one that stands in a URL is for that server.
func TestForeignPassword(t *testing.T) {
	t.Setenv("PGPASSWORD", "own")
	for url, want := range map[string]string{
		"postgres://u@127.0.0.1/d": "", "postgres://u:theirs@127.0.0.1/d": "theirs", "postgres://u@127.0.0.1/d?password=theirs": "theirs",
	} {
		a, err := parse(url, true)
		if err != nil {
			t.Fatal(err)
		}
		if have := a.config.ConnConfig.Password; have != want {
			t.Errorf("%s: %q, want %q", url, have, want)
		}
	}
	own, err := parse("postgres://u@127.0.0.1/d", false)
	if err != nil || own.config.ConnConfig.Password != "own" {
		t.Errorf("the stage's own: %v", err)
	}
}

// TestForeignFile: nor is a password from a file, whoever names the file.
func TestForeignFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("*:*:*:*:own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", file)
	for _, url := range []string{"postgres://u@127.0.0.1/d", "postgres://u@127.0.0.1/d?passfile=" + file} {
		for foreign, want := range map[bool]string{false: "own", true: ""} {
			a, err := parse(url, foreign)
			if err != nil || a.config.ConnConfig.Password != want {
				t.Errorf("%s, foreign %t: %q, %v", url, foreign, a.config.ConnConfig.Password, err)
			}
		}
	}
}
