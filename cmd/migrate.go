package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/service/pulumiapi"
	"github.com/athanor-dev/athanor/service/tfhttp"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/migrate"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

func stateMigrateCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "migrate", Usage: "move all stages of a store to another one", ArgsUsage: "FROM TO",
		Description: `Moves the stages of the store FROM, one after the other, to the store TO, and compares each with what TO gives back. State arrives whole
or not at all, and stays sealed; the keys of the stages prove it at both ends. At FROM each moved stage is held for good by a run that names TO: those who still use FROM
are refused and told where the stage went. Runs and their events, and what a service keeps besides (tokens, approvals, states of Pulumi and
OpenTofu), stay at FROM.

A command that was cut is run again and goes on. A stage that a run holds, that is damaged, or that has other state at TO is refused and
stays as it was. The objects stay those of the stage, with the owner tags that they have. athanor unlock at FROM takes a move back, as long as nothing was deployed at TO.

From a service it takes the role admin on all stages. A stage that demands approved plans is moved when that rule is off
(athanor approve --require off); set it again at TO.

Exit codes: 0 moved; 1 refused; 3 a run holds a stage; 5 not approved.`,
		UsageText: `state migrate bolt:.athanor/state.db postgres://db/state
state migrate bolt:.athanor/state.db https://athanor.example
state migrate https://athanor.example postgres://db/state
state migrate postgres://db/state 's3://acme-state/athanor?region=eu-north-1' --yes`,
		Flags:  []cli.Flag{cli.YesFlag(), cli.JSONFlag()},
		Action: func(c *cli.Context) error { return stateMigrate(o, c) },
	}
}

// rulesAll returns an error unless the token for a service is that of an admin of all stages: others would move a part of them,
// and could not hold what they moved.
func rulesAll(ctx context.Context, service *remote.Store) error {
	about, err := service.Service(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(about.Grants, wire.Grant{Role: "admin", On: "*/*"}) {
		return nil
	}
	return cli.Hint(fmt.Errorf("state migrate: %s is not admin of all stages of the service", about.Account),
		"athanor token create --name NAME --role admin, where the service runs, makes a token that is")
}

// migratedLine is a moved stage with --json.
type migratedLine struct {
	Type    string `json:"type"` // "migrated"
	Stack   string `json:"stack"`
	Stage   string `json:"stage"`
	Rows    int    `json:"rows"`
	Already bool   `json:"already"`
}

func stateMigrate(o *session.Opener, c *cli.Context) error {
	if c.NArg() > 2 {
		return cli.Hint(fmt.Errorf("unexpected argument %q", c.Args().Get(2)), "athanor state migrate FROM TO; quote a store whose name has blanks")
	}
	if c.NArg() != 2 {
		return cli.Hint(errors.New("state migrate: from which store to which?"), "athanor state migrate FROM TO; "+project.StoreForms)
	}
	if err := o.Permit(c.Context, grants.Document{}); err != nil {
		return err
	}
	from, err := project.Open(".", project.AbsoluteStore(c.Args().Get(0)))
	if err != nil {
		return err
	}
	defer from.Store.Close() //nolint:errcheck // nothing of it is written any more
	if service, ok := from.Store.(*remote.Store); ok {
		if err := rulesAll(c.Context, service); err != nil {
			return err
		}
	}
	to, err := project.Open(".", project.AbsoluteStore(c.Args().Get(1)))
	if err != nil {
		return err
	}
	defer to.Store.Close() //nolint:errcheck // what was written is committed
	stages, err := migrating(c.Context, o, from, to)
	if err != nil {
		return err
	}
	if !c.Bool("yes") {
		for _, stage := range stages {
			fmt.Fprintln(o.Err, "  "+stage.String())
		}
		if err := o.Ask(c.Context, fmt.Sprintf("Move these %d stages to %s?", len(stages), project.Redacted(to.Name))); err != nil {
			return err
		}
	}
	for _, stage := range stages {
		moved, err := migrateStage(c.Context, o, from, to, stage)
		if err != nil {
			return err
		}
		if o.WroteJSON(migratedLine{"migrated", stage.Stack, stage.Name, moved.Rows, moved.Already}) {
			continue
		}
		how := "moved"
		if moved.Already {
			how = "moved before"
		}
		fmt.Fprintf(o.Out, "%s: %s, %d resources\n", stage, how, moved.Rows)
	}
	return nil
}

// migrateStage moves one stage. Both ends are proven under its key: what somebody else changed at the old store is not moved.
func migrateStage(ctx context.Context, o *session.Opener, from, to *project.Project, stage statestore.Stage) (migrate.Moved, error) {
	e, err := from.Engine(ctx, stage, ".", o.Catalog, false)
	if err != nil {
		return migrate.Moved{}, err
	}
	move := &migrate.Move{
		From: keeper.NewWhole(from.Store, stage, e.Key), To: keeper.NewWhole(to.Store, stage, e.Key), Where: project.Redacted(to.Name), User: from.WhoFrom(), NewRun: project.NewRun,
	}
	return move.Stage(ctx, stage)
}

// migrating lists the stages to move. Two names of one store are an error.
func migrating(ctx context.Context, o *session.Opener, from, to *project.Project) ([]statestore.Stage, error) {
	stages, err := from.Store.Stages(ctx)
	if err != nil {
		return nil, err
	}
	if len(stages) == 0 {
		return nil, cli.Hint(fmt.Errorf("state migrate: %s has no stage", project.Redacted(from.Name)), "athanor stage list --store "+project.Redacted(from.Name)+" lists those that there are")
	}
	one, err := from.Store.ID(ctx)
	if err != nil {
		return nil, err
	}
	if have, err := to.Store.Stages(ctx); err != nil {
		return nil, err
	} else if len(have) > 0 { // asking an empty store for its id would make it
		if other, err := to.Store.ID(ctx); err != nil {
			return nil, err
		} else if one == other {
			return nil, errors.New("state migrate: FROM and TO are one store")
		}
	}
	stages = slices.DeleteFunc(stages, func(s statestore.Stage) bool {
		foreign := strings.HasPrefix(s.Stack, pulumiapi.Prefix) || strings.HasPrefix(s.Stack, tfhttp.Prefix)
		if foreign {
			o.Warn("%s stays: it is another tool's, sealed by keys of the service; move it with that tool", s)
		}
		return foreign
	})
	slices.SortFunc(stages, func(a, b statestore.Stage) int {
		return cmp.Or(strings.Compare(a.Stack, b.Stack), strings.Compare(a.Name, b.Name))
	})
	return stages, nil
}
