package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

func (a *app) stageSetCommand() *cli.Command {
	return &cli.Command{
		Name: "set", Usage: "set what a service demands of a stage, and what its page shows", ArgsUsage: "KEY=VALUE... [TARGET]",
		Description: `It needs a service as the store, and the role admin on the stage. All of it is in the audit log.

approval=on|off  the stage takes only runs of plans that somebody else has approved (athanor approve). Where another admin has a token,
                 off is done when two admins have asked for it within a day; the first one is answered with exit code 5.
private=on|off   the page shows addresses, kinds and statuses only: no identities, locations, paths, errors or texts of events.`,
		UsageText: `stage set approval=on --stage prod
stage set private=on approval=on ./shop --stage prod`,
		Flags: stageFlags(), Action: a.stageSet,
	}
}

func (a *app) stageSet(c *cli.Context) error {
	var change wire.StageRuleChange
	settings := map[string]**bool{"approval": &change.Approval, "private": &change.Private}
	n := 0
	for ; n < c.NArg(); n++ {
		name, value, ok := strings.Cut(c.Args().Get(n), "=")
		if !ok {
			break
		}
		into := settings[name]
		if into == nil {
			err := fmt.Errorf("%s=%s: a stage has no such setting", name, value)
			if near, ok := props.Nearest(name, []string{"approval", "private"}); ok {
				err = hint(err, "did you mean "+near+"?")
			}
			return hint(err, "approval=on|off, private=on|off")
		}
		if value != "on" && value != "off" {
			return hint(fmt.Errorf("%s=%s: it is on or off", name, value), "athanor stage set "+name+"=on")
		}
		*into = new(value == "on")
	}
	if n == 0 {
		return hint(errors.New("there is nothing to set"), "athanor stage set private=on")
	}
	s, err := a.openProgram(c, n)
	if err != nil || s == nil {
		return err
	}
	return s.setRule(c.Context, change)
}

// setRule changes the rule of the stage at its service, and shows it.
func (s *session) setRule(ctx context.Context, change wire.StageRuleChange) error {
	store, ok := s.project.store.(*remote.Store)
	if !ok {
		return notAService(s.store, "has rules of stages")
	}
	rule, err := store.SetRule(ctx, s.stage, change)
	if err != nil {
		return err
	}
	a := s.app
	if a.asJSON {
		a.json(map[string]any{"type": "rule", "stack": s.stage.Stack, "stage": s.stage.Name, "approval": rule.Approval, "private": rule.Private})
		return nil
	}
	word := map[bool]string{true: "on", false: "off"}
	if change.Approval != nil {
		fmt.Fprintf(a.out, "%s: approval is %s\n", s.stage, word[rule.Approval])
	}
	if change.Private != nil {
		fmt.Fprintf(a.out, "%s: private is %s\n", s.stage, word[rule.Private])
	}
	return nil
}
