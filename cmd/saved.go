package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/engine"
)

// savedPlan is the file that `plan --out` writes. It names the program, so that deploying it runs the same one.
type savedPlan struct {
	Format  int                `json:"athanorPlan"`
	Target  string             `json:"target"`
	Stage   string             `json:"stage"`
	Store   string             `json:"store,omitempty"`
	Config  map[string]string  `json:"config,omitempty"`
	Options engine.PlanOptions `json:"options"`
	Plan    json.RawMessage    `json:"plan"`

	plan *engine.Plan
}

const savedPlanFormat = 1

// savePlan writes a plan to a file that only its owner can read, in one step.
func (s *session) savePlan(file string, p *engine.Plan) error {
	plan, err := json.Marshal(p)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(savedPlan{
		Format: savedPlanFormat, Target: s.target, Stage: s.stage.Name, Store: redactURL(s.store), Config: s.config, Options: s.options, Plan: plan,
	}, "", " ")
	if err != nil {
		return err
	}
	return writePrivate(file, append(data, '\n'))
}

// writePrivate writes what --out names, in one step. A file made aside is 0600 from its first byte on, whatever was there
// before.
func writePrivate(file string, data []byte) error {
	aside, err := os.CreateTemp(filepath.Dir(file), ".athanor-out-*")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer os.Remove(aside.Name())
	_, err = aside.Write(data)
	if err = errors.Join(err, aside.Close()); err == nil {
		err = os.Rename(aside.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// parsePlan recognises a saved plan. It gives nil for anything else.
func parsePlan(data []byte) (*savedPlan, error) {
	var probe struct {
		Format *int `json:"athanorPlan"`
	}
	if err := json.Unmarshal(data, &probe); err != nil || probe.Format == nil {
		return nil, nil //nolint:nilnil // it is not a saved plan, which is no error
	}
	if *probe.Format != savedPlanFormat {
		return nil, fmt.Errorf("saved plan: format %d; this athanor reads format %d", *probe.Format, savedPlanFormat)
	}
	var p savedPlan
	err := json.Unmarshal(data, &p)
	if err == nil {
		p.plan, err = engine.ReadPlan(p.Plan)
	}
	if err != nil {
		return nil, fmt.Errorf("saved plan: %w", err)
	}
	return &p, nil
}

// adoptPlan takes over what a saved plan says of its program. Flags that say something else are refused.
func (s *session) adoptPlan(c *cli.Context, src *source) (*source, error) {
	p := src.plan
	for _, name := range []string{"config", "target", "exclude", "replace", "allow-delete", "adopt", "take-over", "no-observe", "force", "out"} {
		if c.IsSet(name) {
			return nil, hint(fmt.Errorf("--%s: a saved plan is applied as it was made", name), "plan again with --"+name)
		}
	}
	if given := c.String("stage"); given != "" && given != p.Stage {
		return nil, fmt.Errorf("the saved plan is for stage %q, not %q", p.Stage, given)
	}
	s.saved, s.options, s.stage.Name, s.config = p.plan, p.Options, p.Stage, p.Config
	next, err := s.app.source(c.Context, p.Target)
	if err == nil {
		err = s.confine(c, next)
	}
	if err == nil {
		err = s.app.readSource(c, next)
	}
	if err != nil {
		return nil, fmt.Errorf("the program of the saved plan: %w", err)
	}
	if err := s.adoptStore(c, next, p.Store); err != nil {
		return nil, err
	}
	if next.plan != nil {
		return nil, errors.New("the saved plan names a saved plan as its program")
	}
	if next.goMain {
		next.planFile = src.path
	}
	s.target = next.name()
	return next, nil
}

// adoptStore works on the store that a saved plan was made with. One that is neither the project's own nor named by the
// user needs a permission: a plan is a file like any other, and its store is sent the user's password.
func (s *session) adoptStore(c *cli.Context, src *source, store string) error {
	if s.store != "" || store == "" {
		return nil
	}
	s.store = store
	g := s.app.granted
	if name := storeName(src.dir, store); g != nil && name != g.user.Store {
		return s.app.permit(c.Context, grants.Document{Outside: []grants.Ask{{Kind: grants.Store, Value: name, Place: "plan.store"}}})
	}
	return nil
}
