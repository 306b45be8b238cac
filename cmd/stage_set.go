package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

func stageSetCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "set", Usage: "set what a service demands of a stage, and what its page shows", ArgsUsage: "KEY=VALUE... [TARGET]",
		Description: `It needs a service as the store, and the role admin on the stage. All of it is in the audit log.

approval=on|off  the stage takes only runs of plans that somebody else has approved (athanor approve). Where another admin has a token,
                 off is done when two admins have asked for it within a day; the first one is answered with exit code 5.
private=on|off   the page shows addresses, kinds and statuses only: no identities, locations, paths, errors or texts of events.
retention=DURATION|off
                 the service keeps entries of the audit log of the stack for so long at least, 30d or more, where serve --audit-keep says less.
                 Off demands nothing.`,
		UsageText: `stage set approval=on --stage prod
stage set private=on approval=on ./shop --stage prod
stage set retention=730d --stage prod`,
		Flags: project.StageFlags(), Action: func(c *cli.Context) error { return stageSet(o, c) },
	}
}

func stageSet(o *session.Opener, c *cli.Context) error {
	var change wire.StageRuleChange
	settings := map[string]**bool{"approval": &change.Approval, "private": &change.Private}
	n := 0
	var err error
	for ; n < c.NArg(); n++ {
		name, value, ok := strings.Cut(c.Args().Get(n), "=")
		if !ok {
			break
		}
		if name == "retention" {
			if change.Retention, err = retention(value); err != nil {
				return err
			}
			continue
		}
		into := settings[name]
		if into == nil {
			err := fmt.Errorf("%s=%s: a stage has no such setting", name, value)
			if near, ok := props.Nearest(name, []string{"approval", "private", "retention"}); ok {
				err = cli.Hint(err, "did you mean "+near+"?")
			}
			return cli.Hint(err, "approval=on|off, private=on|off, retention=DURATION|off")
		}
		if value != "on" && value != "off" {
			return cli.Hint(fmt.Errorf("%s=%s: it is on or off", name, value), "athanor stage set "+name+"=on")
		}
		*into = new(value == "on")
	}
	if n == 0 {
		return cli.Hint(errors.New("there is nothing to set"), "athanor stage set private=on")
	}
	var s *session.Session
	s, err = o.OpenProgram(c, n)
	if err != nil || s == nil {
		return err
	}
	return setRule(c.Context, s, change)
}

// retention is a duration as the service takes it. Off is none.
func retention(value string) (string, error) {
	if value == "off" {
		return "0s", nil
	}
	kept, err := token.ParseDuration(value)
	if err == nil && kept < service.LeastAuditKept {
		err = fmt.Errorf("it is less than %s", token.FormatDuration(service.LeastAuditKept))
	}
	if err != nil {
		return "", cli.Hint(fmt.Errorf("retention=%s: %w", value, err), "athanor stage set retention=365d")
	}
	return kept.String(), nil
}

// setRule changes the rule of the stage at its service, and shows it.
func setRule(ctx context.Context, s *session.Session, change wire.StageRuleChange) error {
	store, err := project.Service(s.Project.Store, s.Store, "has rules of stages")
	if err != nil {
		return err
	}
	rule, err := store.SetRule(ctx, s.Stage, change)
	if err != nil {
		return err
	}
	a := s.Opener
	if a.WroteJSON(map[string]any{"type": "rule", "stack": s.Stage.Stack, "stage": s.Stage.Name, "approval": rule.Approval, "private": rule.Private, "retention": rule.Retention}) {
		return nil
	}
	word := map[bool]string{true: "on", false: "off"}
	if change.Approval != nil {
		fmt.Fprintf(a.Out, "%s: approval is %s\n", s.Stage, word[rule.Approval])
	}
	if change.Private != nil {
		fmt.Fprintf(a.Out, "%s: private is %s\n", s.Stage, word[rule.Private])
	}
	if change.Retention != "" {
		said := "off"
		if kept, err := time.ParseDuration(rule.Retention); err == nil {
			said = token.FormatDuration(kept)
		}
		fmt.Fprintf(a.Out, "%s: retention is %s\n", s.Stage, said)
	}
	return nil
}
