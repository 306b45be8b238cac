//go:build keyring && linux

package login_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/login"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestDesktop keeps a token in a real Secret Service, gnome-keyring on a session bus of its own, unlocked as by the login of a
// desktop. It has the newest token, and once.
func TestDesktop(t *testing.T) {
	file := home(t)
	session(t)
	unlock(t)
	saved(t, file, "ath_two", login.InKeyring)
	saved(t, file, "ath_three", login.InKeyring)
	if token, err := login.Token("https://other.example"); err == nil {
		t.Errorf("for another service: %q", token)
	}
	secret, err := exec.CommandContext(t.Context(), "secret-tool", "search", "application", "athanor").CombinedOutput()
	if err != nil || strings.Count(string(secret), "secret = ath_three") != 1 || strings.Contains(string(secret), "ath_two") {
		t.Errorf("the keyring has %s, %v", secret, err)
	}
	forgotten(t)
	if secret, _ := exec.CommandContext(t.Context(), "secret-tool", "search", "application", "athanor").CombinedOutput(); len(secret) > 0 {
		t.Errorf("the keyring still has %s", secret)
	}
}

// TestLockedDesktop: where nobody is there to unlock the keyring, the token goes to the file.
func TestLockedDesktop(t *testing.T) {
	file := home(t)
	session(t)
	saved(t, file, "ath_one", login.InFile)
	forgotten(t)
}

// session starts a bus, which ends with the test.
func session(t *testing.T) {
	t.Helper()
	bus := exec.CommandContext(t.Context(), "dbus-daemon", "--session", "--nofork", "--print-address")
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ended, err := proctest.StartBound(bus)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Process.Kill(); <-ended })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
}

// unlock starts the keyring of the session, with a password. It waits until the bus knows the keyring, without asking it for
// anything: that would start another one.
func unlock(t *testing.T) {
	t.Helper()
	daemon := exec.CommandContext(t.Context(), "gnome-keyring-daemon", "--unlock", "--foreground", "--components=secrets")
	daemon.Stdin = strings.NewReader("password")
	ended, err := proctest.StartBound(daemon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Process.Kill(); <-ended })
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		out, err := exec.CommandContext(t.Context(), "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
			"org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if strings.Contains(string(out), "boolean true") {
			return
		}
		select {
		case <-ended:
			t.Fatal("gnome-keyring-daemon ended")
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("there is no keyring on the bus after a minute")
}
