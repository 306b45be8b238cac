package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Token is the command token.
func Token(t *terminal.Terminal) *cli.Command {
	store := func() cli.Flag {
		return &cli.StringFlag{
			Name: "store", EnvVars: []string{cli.StoreVariable}, Usage: "the tokens of `STORE`, https://… as an admin, or the store behind the service",
		}
	}
	return &cli.Command{
		Name: "token", Usage: "create, list and revoke the API tokens of a service",
		Description: `The first token is created where the service runs, with --store naming the store behind it; later ones by an admin
over https. A token is shown once: the store keeps a digest of it.`,
		Subcommands: []*cli.Command{
			{
				Name: "create", Usage: "create a token and print it",
				Description: `Each role may do what those before it may:

  reader    reads stages, runs and events
  planner   submits plans
  deployer  runs, cancels and unlocks
  admin     creates and revokes tokens`,
				UsageText: `token create --name ann --role admin --store postgres://…     the first one
token create --name ci --role deployer --on 'shop/*'`,
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "name", Usage: "who or what uses it; shown in the history as `NAME`"},
					&cli.StringFlag{Name: "role", Usage: "`ROLE`: " + strings.Join(service.Roles(), ", ")},
					&cli.StringSliceFlag{Name: "on", Usage: "only on stages that match `STACK/STAGE`, where * is any text; default */* (may be repeated)"},
					&cli.GenericFlag{Name: "expires", Value: &cli.Duration{Least: time.Minute, Most: service.MaxLife}, Usage: "good for `DURATION` (30d), 365d at most; default 90d"},
					store(), cli.JSONFlag(),
				},
				Action: func(c *cli.Context) error { return tokenCreate(t, c) },
			},
			{
				Name: "list", Usage: "list the tokens, without their secrets",
				UsageText: "token list\ntoken list --json", Flags: []cli.Flag{store(), cli.JSONFlag()}, Action: func(c *cli.Context) error { return tokenList(t, c) },
			},
			{
				Name: "revoke", Usage: "end a token, its runs and its streams", ArgsUsage: "ID",
				Description: "Replicas of the service refuse it within five seconds.",
				UsageText:   "token revoke 3f9a0c12d4e5",
				Flags:       []cli.Flag{store(), cli.JSONFlag()}, Action: func(c *cli.Context) error { return tokenRevoke(t, c) },
			},
		},
	}
}

// tokenRoom is where tokens are: behind a service, or in its store.
type tokenRoom interface {
	Create(ctx context.Context, by wire.Author, name string, grants []wire.Grant, life time.Duration) (wire.Token, error)
	List(ctx context.Context) ([]wire.Token, error)
	Revoke(ctx context.Context, by wire.Author, id string) error
}

// tokensOf opens where the tokens are.
func tokensOf(c *cli.Context) (tokenRoom, *project.Project, error) {
	p, err := project.Open(".", c.String("store"))
	if err != nil {
		return nil, nil, err
	}
	switch store := p.Store.(type) {
	case *remote.Store:
		return remote.Tokens{Store: store}, p, nil
	case statestore.Folders:
		return service.NewTokens(store, time.Now), p, nil
	}
	return nil, nil, errors.Join(project.ErrNoService, p.Store.Close())
}

func tokenCreate(t *terminal.Terminal, c *cli.Context) (err error) {
	for _, name := range []string{"name", "role"} {
		if c.String(name) == "" {
			return cli.Hint(fmt.Errorf("token create: --%s is missing", name), "athanor token create --name ci --role deployer")
		}
	}
	patterns := c.StringSlice("on")
	if len(patterns) == 0 {
		patterns = []string{"*/*"}
	}
	var grants []wire.Grant
	for _, on := range patterns {
		grants = append(grants, wire.Grant{Role: c.String("role"), On: on})
	}
	tokens, p, err := tokensOf(c)
	if err != nil {
		return err
	}
	defer p.Close(&err)
	token, err := tokens.Create(c.Context, wire.Author{Account: project.UserName()}, c.String("name"), grants, c.Duration("expires"))
	if err != nil {
		return err
	}
	if t.WroteJSON(token) {
		return nil
	}
	fmt.Fprintln(t.Out, token.Secret)
	fmt.Fprintf(t.Err, "token %s for %s: %s, until %s; it is not shown again\n",
		token.ID, token.Name, grantsText(token.Grants), token.Expires.Format(time.DateOnly))
	return nil
}

func tokenList(t *terminal.Terminal, c *cli.Context) (err error) {
	tokens, p, err := tokensOf(c)
	if err != nil {
		return err
	}
	defer p.Close(&err)
	all, err := tokens.List(c.Context)
	if err != nil {
		return err
	}
	if len(all) == 0 && !t.AsJSON {
		fmt.Fprintf(t.Err, "no tokens yet\nnext:  athanor token create --name NAME --role ROLE\n")
	}
	for _, token := range all {
		if t.WroteJSON(token) {
			continue
		}
		state := "until " + token.Expires.Format(time.DateOnly)
		if !token.Revoked.IsZero() {
			state = "revoked " + token.Revoked.Format(time.DateOnly)
		} else if !time.Now().Before(token.Expires) {
			state = "expired " + token.Expires.Format(time.DateOnly)
		}
		used := "never used"
		if !token.LastUsed.IsZero() {
			used = "last used " + token.LastUsed.Format(time.DateOnly)
		}
		fmt.Fprintf(t.Out, "%s  %s  %s  %s, %s\n", token.ID, token.Name, grantsText(token.Grants), state, used)
	}
	return nil
}

func tokenRevoke(t *terminal.Terminal, c *cli.Context) (err error) {
	id := c.Args().First()
	if id == "" {
		return cli.Hint(errors.New("token revoke: which one?"), "`athanor token list` lists them")
	}
	tokens, p, err := tokensOf(c)
	if err != nil {
		return err
	}
	defer p.Close(&err)
	if err := tokens.Revoke(c.Context, wire.Author{Account: project.UserName()}, id); err != nil {
		if errors.Is(err, service.ErrNoToken) {
			return cli.Hint(fmt.Errorf("%s: %w", id, err), "`athanor token list` lists them")
		}
		return err
	}
	if t.WroteJSON(map[string]any{"type": "revoke", "id": id}) {
		return nil
	}
	fmt.Fprintf(t.Out, "%s: revoked\n", id)
	return nil
}
