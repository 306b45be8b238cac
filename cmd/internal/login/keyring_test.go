//go:build unix

package login_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/login"
)

const origin = "https://athanor.example"

// home gives the test a home of its own, without a session bus and without tokens in variables.
func home(t *testing.T) (file string) {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "XDG_DATA_HOME": filepath.Join(dir, "data"),
		"XDG_CACHE_HOME": filepath.Join(dir, "cache"), "XDG_RUNTIME_DIR": dir,
		"DBUS_SESSION_BUS_ADDRESS": "", "DISPLAY": "", "WAYLAND_DISPLAY": "", login.TokenVariable: "", login.StoreVariable: "",
	} {
		t.Setenv(name, value)
	}
	file, err := login.Path()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// saved fails unless a token is kept where the test wants it and is given back, and the file holds it only if it is there.
func saved(t *testing.T, file, token, where string) {
	t.Helper()
	if got, err := login.Save(origin, token); err != nil || got != where {
		t.Fatalf("kept in %q, %v; want %q", got, err, where)
	}
	holds(t, file, token, where)
}

func holds(t *testing.T, file, token, where string) {
	t.Helper()
	if got, err := login.Token(origin); err != nil || got != token {
		t.Errorf("%q, %v; want %q", got, err, token)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), token) != (where == login.InFile) {
		t.Errorf("the file with a token in the %s, %v: %s", where, err, text)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
}

func forgotten(t *testing.T) {
	t.Helper()
	if err := login.Forget(origin); err != nil {
		t.Error(err)
	}
	if token, err := login.Token(origin); !errors.Is(err, login.ErrNone) {
		t.Errorf("a token that was forgotten: %q, %v", token, err)
	}
	if err := login.Forget(origin); !errors.Is(err, login.ErrNone) {
		t.Errorf("forgotten again: %v", err)
	}
}

// TestWithoutKeyring: a machine without a session, without the tool, or with a keyring that refuses, keeps the token in the file.
func TestWithoutKeyring(t *testing.T) {
	file := home(t)
	saved(t, file, "ath_one", login.InFile)
	forgotten(t)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	saved(t, file, "ath_two", login.InFile)
	for name, program := range map[string]string{
		"refuses":           "#!/bin/sh\necho locked >&2\nexit 1\n",
		"takes and forgets": "#!/bin/sh\n[ \"$1\" = store ] || exit 1\n",
		"gives another":     "#!/bin/sh\n[ \"$1\" = lookup ] && echo ath_other\nexit 0\n",
	} {
		tools := t.TempDir()
		if err := os.WriteFile(filepath.Join(tools, "secret-tool"), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", tools)
		if where, err := login.Save(origin, "ath_three"); err != nil || where != login.InFile {
			t.Errorf("a keyring that %s: %q, %v", name, where, err)
		}
		holds(t, file, "ath_three", login.InFile)
	}
	forgotten(t)
}

// TestKeyringIsAway: a token that is in a keyring which is not at hand is an error that says so, and is not forgotten in part.
func TestKeyringIsAway(t *testing.T) {
	file := home(t)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	before := `{"` + origin + `":{"keyring":true}}`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := login.Token(origin); err == nil || !strings.Contains(err.Error(), "keyring") {
		t.Errorf("%q, %v", token, err)
	}
	if err := login.Forget(origin); err == nil || errors.Is(err, login.ErrNone) {
		t.Errorf("forgotten: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != before {
		t.Errorf("%s, %v", text, err)
	}
	saved(t, file, "ath_anew", login.InFile)
	forgotten(t)
}
