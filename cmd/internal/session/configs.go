package session

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// FillConfig completes the values of --config with those of the environment and of the stage's file.
func (s *Session) FillConfig(ctx context.Context, src *loader.Source) error {
	if s.savedFile != nil || src.Graph || src.Plan != nil {
		return nil // it has its values
	}
	s.configFrom = map[string]string{}
	for name := range s.Config {
		s.configFrom[name] = "--config"
	}
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, athanor.ConfigPrefix) {
			s.Config[name], s.configFrom[name] = value, "$"+name
		}
	}
	values, file, err := s.Opener.ConfigInFile(ctx, src, s.Stage.Name)
	if err != nil {
		return err
	}
	for name, value := range values {
		if s.configFrom[name] == "" && s.configFrom[athanor.ConfigVariable(name)] == "" {
			s.Config[name], s.configFrom[name] = value, filepath.Base(file)
		}
	}
	return nil
}

// Evaluate evaluates a program for the stage, on its config values.
func (s *Session) Evaluate(ctx context.Context, src *loader.Source) (*engine.Graph, error) {
	if err := s.FillConfig(ctx, src); err != nil {
		return nil, err
	}
	return s.Opener.Load(ctx, src, s.Stage.Name, s.Config)
}

// SourceOf says where the value of a config comes from.
func (s *Session) SourceOf(name string) string {
	for _, key := range []string{name, athanor.ConfigVariable(name)} {
		if from := s.configFrom[key]; from != "" {
			return from
		}
	}
	return "program"
}

// noteConfig says which config values come from the environment or from the stage's file.
func (s *Session) noteConfig(g *engine.Graph) {
	if s.Opener.AsJSON {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(g.Config)) {
		if from := s.SourceOf(name); from != "program" && from != "--config" {
			fmt.Fprintf(s.Opener.Err, "config %s: %s, from %s\n", name, render.Escaped(render.Plain(g.Config[name])), from)
		}
	}
}
