package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A keyring is the user's keyring on a desktop: the Secret Service of the session, which keeps secrets encrypted with the user's
// password. It is reached by secret-tool of libsecret, whose arguments are no secrets. The zero value is none.
type keyring struct{ tool string }

// keyringPatience is how long the keyring may take: people may have to type their password for it.
const keyringPatience = time.Minute

var errKeyring = errors.New("the keyring of this session is not at hand")

// sessionKeyring finds the keyring of the session. A session without one has no bus, or not the tool.
func sessionKeyring() keyring {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		return keyring{}
	}
	tool, err := exec.LookPath("secret-tool")
	if err != nil {
		return keyring{}
	}
	return keyring{tool}
}

// run asks the tool about the token for an origin.
func (k keyring) run(verb, origin, input string, flags ...string) (string, error) {
	if k.tool == "" {
		return "", errKeyring
	}
	ctx, stop := context.WithTimeout(context.Background(), keyringPatience)
	defer stop()
	cmd := exec.CommandContext(ctx, k.tool, append(append([]string{verb}, flags...), "application", "athanor", "service", origin)...)
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%w: it did not answer within %s", errKeyring, keyringPatience)
	case err != nil:
		said := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = strings.TrimSpace(string(exit.Stderr))
		}
		return "", fmt.Errorf("%w: secret-tool %s: %w: %s", errKeyring, verb, err, said)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// get returns the token for an origin.
func (k keyring) get(origin string) (string, error) { return k.run("lookup", origin, "") }

// put keeps a token, and reads it again: only a keyring that gives back what it got is trusted with it.
func (k keyring) put(origin, token string) error {
	if _, err := k.run("store", origin, token, "--label", "athanor: "+origin); err != nil {
		return err
	}
	if got, err := k.get(origin); err != nil || got != token {
		return fmt.Errorf("%w: it does not give back what it got", errKeyring)
	}
	return nil
}

// remove forgets the token for an origin.
func (k keyring) remove(origin string) error {
	_, err := k.run("clear", origin, "")
	return err
}
