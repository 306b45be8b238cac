package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
)

func allowCommand(o *session.Opener, args []string) *cli.Command {
	return &cli.Command{
		Name: "allow", Usage: "list what a stack asks for, and allow it", ArgsUsage: "[TARGET] [--once -- COMMAND …]",
		Description: `A stack in YAML, or a graph, reaches only what its user has allowed: servers other than a
cloud's own, state stores of others, files outside of the project, environment variables, accounts and profiles.
allow lists what the stack in TARGET asks for and asks to add each to ~/.config/athanor/config.yaml. A permission is
for one value at one place of the stack.

With --once nothing is written: what is allowed holds for COMMAND alone.

A variable named ATHANOR_SECRET_<NAME> needs no permission. A stack in Go is a program: it can do what its user can, and
asks for nothing.

` + loader.TargetHelp + `

Exit codes: 0 nothing is left to allow; 1 error; 5 not approved: without a terminal it takes --yes. With --once the exit
code is that of COMMAND.`,
		UsageText: `allow                           ask for each
allow ./shop --yes              allow all that it asks for today
allow --json                    list it, for scripts
allow --once -- athanor plan    for this command alone`,
		Flags: project.StageFlags(
			cli.YesFlag(),
			&cli.BoolFlag{Name: "once", Usage: "allow for the command after -- alone; write nothing"}),
		Before: untrusted.ReadsWith("json"),
		Action: func(c *cli.Context) error { return allow(o, c, args) },
	}
}

// asked is one line of allow --json.
type asked struct {
	grants.Ask
	Allowed bool `json:"allowed"`
}

func allow(o *session.Opener, c *cli.Context, args []string) error {
	command := behindDashes(args)
	if len(command) > c.NArg() {
		command = nil
	}
	targets := c.Args().Slice()[:c.NArg()-len(command)]
	switch once := c.Bool("once"); {
	case once && len(command) == 0:
		return cli.Hint(errors.New("--once: there is no command"), "athanor allow --once -- athanor plan")
	case !once && len(command) > 0:
		return cli.Hint(errors.New("a command is run with --once alone"),
			"athanor allow --once -- "+strings.Join(command, " "))
	case o.Program != nil:
		return runAllowed(nil, command)
	}
	s, src, err := o.BeginAt(c, targets)
	if err != nil {
		return err
	}
	if src.GoMain {
		fmt.Fprintln(o.Err, "This stack is a program: it can do what its user can, and asks for nothing.")
		return runAllowed(nil, command)
	}
	g := o.Granted
	g.Asks = false
	var yes []grants.Ask
	for {
		asks, err := asksOf(o, c, s, src)
		if err != nil {
			return err
		}
		missing := grants.Missing(asks, g.Allowed)
		if o.AsJSON {
			for _, ask := range asks {
				o.JSON(asked{ask, !slices.Contains(missing, ask)})
			}
			return nil
		}
		if len(missing) == 0 {
			if len(asks) == 0 {
				fmt.Fprintln(o.Err, "The stack asks for nothing that needs a permission.")
			}
			return runAllowed(yes, command)
		}
		chosen, err := chooseAsks(o, c, missing)
		if err != nil {
			return err
		}
		yes = append(yes, chosen...)
		if c.Bool("once") {
			g.Hold(chosen)
		} else if err := g.Remember(chosen); err != nil {
			return err
		}
		c.Context = g.Within(c.Context)
		if len(chosen) < len(missing) {
			return cli.Exit(cli.ExitNotApproved)
		}
	}
}

// chooseAsks asks for each; --yes is a yes to all.
func chooseAsks(o *session.Opener, c *cli.Context, missing []grants.Ask) ([]grants.Ask, error) {
	if c.Bool("yes") {
		for _, ask := range missing {
			fmt.Fprintln(o.Err, "allowed: "+ask.Sentence())
		}
		return missing, nil
	}
	var chosen []grants.Ask
	for _, ask := range missing {
		fmt.Fprintln(o.Err, ask.Sentence())
	}
	if !terminal.IsTerminal(o.In) {
		return nil, cli.Hint(fmt.Errorf("%w; nothing was allowed", engine.ErrNotApproved),
			"--yes allows all of it without asking")
	}
	for _, ask := range missing {
		fmt.Fprintf(o.Err, "Allow %s? [y/N] ", ask)
		yes, err := o.Answer(c.Context)
		if err != nil {
			return nil, err
		}
		if yes {
			chosen = append(chosen, ask)
		}
	}
	return chosen, nil
}

// asksOf lists what a stack asks for.
func asksOf(o *session.Opener, c *cli.Context, s *session.Session, src *loader.Source) ([]grants.Ask, error) {
	err := src.Read(c.Context)
	if ask, outside := loader.TargetAsk(err, src); outside {
		return []grants.Ask{ask}, nil
	}
	if err != nil {
		return nil, err
	}
	if src.Graph {
		g, err := o.ReadGraph(src, s.Stage.Name, nil)
		if err != nil {
			return nil, err
		}
		return grants.Asks(grants.Document{Graph: g, Outside: o.Granted.Leads}, o.Granted.User), nil
	}
	if err := s.FillConfig(c.Context, src); err != nil {
		return nil, err
	}
	// What asks for a program that nobody has allowed is not started, and what it would tell is not known: the stack may look wrong.
	held := false
	y, err := yamlstack.Load(c.Context, o.Catalog, yamlstack.Input{
		Path: src.File(), Data: src.Data, Dir: src.Dir, Stage: s.Stage.Name, Config: s.Config,
		Permit: func(section yamlstack.Section) error {
			d := grants.Document{Sections: []grants.Section{grants.Section(section)}}
			missing := grants.Missing(grants.Asks(d, o.Granted.User), o.Granted.Allowed)
			if len(missing) == 0 {
				return nil
			}
			held = true
			return loader.Refusal(missing)
		},
	})
	if err != nil && !y.Unread() && !held {
		return nil, err
	}
	d := loader.DocumentOf(y)
	d.Outside = append(d.Outside, o.Granted.Leads...)
	return grants.Asks(d, o.Granted.User), nil
}

// runAllowed runs the command that the permissions are for, if there is one.
func runAllowed(asks []grants.Ask, command []string) error {
	if len(command) == 0 {
		return nil
	}
	binary, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	list := grants.SplitList(os.Getenv(loader.AllowVariable))
	for _, ask := range asks {
		list = append(list, ask.String())
	}
	env := append(loader.Without(os.Environ(), loader.AllowVariable), loader.AllowVariable+"="+strings.Join(list, ","))
	return loader.ReplaceProcess(binary, command[1:], env)
}

// behindDashes are the arguments of the command line after --.
func behindDashes(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[i+1:]
	}
	return nil
}
