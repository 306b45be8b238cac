// Package account has the commands by which people and machines have accounts at a service: login, logout, token, audit.
//
// It speaks to a service, or to the store behind one. It knows no stack.
package account

import (
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/login"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Login is the command login.
func Login(t *terminal.Terminal) *cli.Command {
	return &cli.Command{
		Name: "login", Usage: "remember the token for a service", ArgsUsage: "URL",
		Description: `The token is asked for without showing it, or read from standard input. It is tried, and kept for this service
alone: in the keyring of the session on a Linux desktop (Secret Service, by secret-tool), elsewhere in
~/.config/athanor/services.json, which only you can read. From then on --store URL works.

In CI set $ATHANOR_STORE to the URL and $ATHANOR_TOKEN to the token: nothing is kept then, and the token is sent to that
service and to no other. Or use --oidc in the job: with its ID token, from GitHub Actions (permission id-token: write) or in
$ATHANOR_ID_TOKEN, it gets a token that is good for an hour. People sign in with a browser.`,
		UsageText: `login https://athanor.example           asks for the token
login https://athanor.example --oidc    signs in at the team's identity provider
login https://athanor.example < token.txt
deploy --store https://athanor.example`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "oidc", Usage: "sign in at the identity provider of the service, or as the CI job that this is"}, cli.JSONFlag(),
		},
		Action: func(c *cli.Context) error { return logIn(t, c) },
	}
}

// Logout is the command logout.
func Logout(t *terminal.Terminal) *cli.Command {
	return &cli.Command{
		Name: "logout", Usage: "forget the token for a service", ArgsUsage: "URL",
		Description: "The token stays good until it expires or is revoked: `athanor token revoke`.",
		UsageText:   "logout https://athanor.example",
		Flags:       []cli.Flag{cli.JSONFlag()}, Action: func(c *cli.Context) error { return logOut(t, c) },
	}
}

// loginLine is what login and logout print with --json.
type loginLine struct {
	Type    string       `json:"type"` // "login", "logout"
	URL     string       `json:"url"`
	Account string       `json:"account,omitempty"`
	Grants  []wire.Grant `json:"grants,omitempty"`
	Expires string       `json:"expires,omitempty"`
	Kept    string       `json:"kept,omitempty"` // of login: "keyring", "file"
}

// originOf is the service that a command names.
func originOf(c *cli.Context) (string, error) {
	if c.NArg() > 1 {
		return "", fmt.Errorf("unexpected argument %q", c.Args().Get(1))
	}
	if c.NArg() == 0 {
		return "", cli.Hint(fmt.Errorf("%s: which service?", c.Command.Name), "athanor "+c.Command.Name+" https://HOST")
	}
	origin, err := remote.Origin(c.Args().First())
	if err != nil {
		return "", fmt.Errorf("%s: %w", project.Redacted(c.Args().First()), err)
	}
	return origin, nil
}

func logIn(t *terminal.Terminal, c *cli.Context) (err error) {
	origin, err := originOf(c)
	if err != nil {
		return err
	}
	token, err := tokenFor(t, c, origin)
	if err != nil {
		return err
	}
	store, err := remote.Open(origin, func(string) (string, error) { return strings.TrimSpace(token), nil })
	if err != nil {
		return err
	}
	defer (&project.Project{Store: store}).Close(&err)
	about, err := store.Service(c.Context)
	if err != nil {
		return err
	}
	kept, err := login.Save(origin, strings.TrimSpace(token))
	if err != nil {
		return err
	}
	if t.WroteJSON(loginLine{"login", origin, about.Account, about.Grants, about.Expires, kept}) {
		return nil
	}
	fmt.Fprintf(t.Out, "%s: you are %s: %s; the token expires %s\n", origin, about.Account, grantsText(about.Grants), about.Expires)
	if kept == login.InKeyring {
		fmt.Fprintln(t.Err, "the token is in the keyring of this session")
	}
	return nil
}

// tokenFor asks for a token, or signs in for one.
func tokenFor(t *terminal.Terminal, c *cli.Context, origin string) (string, error) {
	if !c.Bool("oidc") {
		return t.ReadSecret(c.Context, "token", "token for "+origin+": ")
	}
	return login.SignIn(c.Context, origin, func(address string) { fmt.Fprintln(t.Err, "sign in with a browser on this machine: "+address) })
}

func grantsText(grants []wire.Grant) string {
	texts := make([]string, 0, len(grants))
	for _, g := range grants {
		texts = append(texts, g.Role+" on "+g.On)
	}
	return strings.Join(texts, ", ")
}

func logOut(t *terminal.Terminal, c *cli.Context) error {
	origin, err := originOf(c)
	if err != nil {
		return err
	}
	if err := login.Forget(origin); err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	if t.WroteJSON(loginLine{Type: "logout", URL: origin}) {
		return nil
	}
	fmt.Fprintf(t.Out, "%s: the token was removed from this machine\n", origin)
	return nil
}
