package adoption

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// baselineFile is the stack as a source first declared it, next to the file that people edit: what the source changed since is found by it.
const baselineFile = "athanor.adopted.yaml"

// sourceChange is one change of a source since its stack was written, that the stack does not have.
type sourceChange struct {
	// Change is "new", "missing", "prop", "identity" or "secret".
	Change  string `json:"change"`
	Address string `json:"address"`
	Kind    string `json:"kind,omitempty"`
	Path    string `json:"path,omitempty"`
	// Was and Now are values of a prop, or identities. A secret has none.
	Was any `json:"was,omitempty"`
	Now any `json:"now,omitempty"`
}

// isAdopted reports whether a folder has a stack that was written from a source, and what the source declared then.
func isAdopted(folder, name string) (bool, error) {
	for _, file := range []string{name, baselineFile} {
		if _, err := os.Stat(filepath.Join(folder, file)); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, nil
}

// writeBaseline keeps the stack as the source declares it.
func writeBaseline(folder string, stack from.Stack, base string) error {
	text, err := stack.YAML(base)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, baselineFile), text, 0o644)
}

// changedSince compares what a source declares with what it declared when its stack was written. What the stack has by now is left out.
func changedSince(ctx context.Context, s *session.Session, folder string, l language, stack from.Stack, base string) ([]sourceChange, error) {
	text, err := stack.YAML(base)
	if err != nil {
		return nil, err
	}
	now, err := declaredBy(ctx, s, folder, "athanor.yaml", text)
	if err != nil {
		return nil, err
	}
	was, err := declaredBy(ctx, s, folder, baselineFile, nil)
	if err != nil {
		return nil, err
	}
	var have map[string]*engine.Resource // nil: a program, which is not run for this
	if !l.isGo {
		if have, err = declaredBy(ctx, s, folder, "athanor.yaml", nil); err != nil {
			return nil, err
		}
	}
	all := []sourceChange{}
	for address, r := range now {
		before, mine := was[address], have[address]
		switch {
		case before == nil && mine == nil:
			all = append(all, sourceChange{Change: "new", Address: address, Kind: r.Kind, Now: orNil(r.Options.Adopt)})
			continue
		case before == nil || have != nil && mine == nil: // somebody removed it from the stack
			continue
		}
		if before.Options.Adopt != r.Options.Adopt && (mine == nil || mine.Options.Adopt != r.Options.Adopt) {
			all = append(all, sourceChange{Change: "identity", Address: address, Kind: r.Kind, Was: orNil(before.Options.Adopt), Now: orNil(r.Options.Adopt)})
		}
		for _, p := range differing(before.Props, r.Props) {
			x, _ := tree.Get(before.Props, p)
			y, _ := tree.Get(r.Props, p)
			if mine != nil {
				if z, _ := tree.Get(mine.Props, p); tree.Equal(y, z) {
					continue
				}
			}
			all = append(all, sourceChange{Change: "prop", Address: address, Kind: r.Kind, Path: string(p), Was: withShownTokens(x), Now: withShownTokens(y)})
		}
	}
	for address, r := range was {
		if now[address] == nil && (have == nil || have[address] != nil) {
			all = append(all, sourceChange{Change: "missing", Address: address, Kind: r.Kind, Was: orNil(r.Options.Adopt)})
		}
	}
	changed, err := changedSecrets(ctx, s, stack.Secrets)
	if err != nil {
		return nil, err
	}
	all = append(all, changed...)
	slices.SortFunc(all, func(a, b sourceChange) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Change, b.Change), cmp.Compare(a.Path, b.Path))
	})
	return all, nil
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// declaredBy are the resources of a stack's text, by address. Nil text is read from the file.
func declaredBy(ctx context.Context, s *session.Session, folder, name string, text []byte) (map[string]*engine.Resource, error) {
	file := filepath.Join(folder, name)
	if text == nil {
		var err error
		if text, err = localfile.ReadFile(ctx, file); err != nil {
			return nil, err
		}
	}
	loaded, err := s.Opener.LoadYAML(ctx, yamlstack.Input{Path: file, Data: text, Dir: files.Absolute(folder), Stage: s.Stage.Name})
	if err != nil {
		return nil, err
	}
	all := map[string]*engine.Resource{}
	for i := range loaded.Graph.Resources {
		all[loaded.Graph.Resources[i].Address] = &loaded.Graph.Resources[i]
	}
	return all, nil
}

// differing are the paths at which two trees differ, as deep as both are maps.
func differing(a, b map[string]any) []tree.Path {
	var all []tree.Path
	var visit func(at tree.Path, a, b map[string]any)
	visit = func(at tree.Path, a, b map[string]any) {
		keys := tree.AppendKeys(nil, a)
		for _, key := range tree.AppendKeys(nil, b) {
			if _, ok := a[key]; !ok {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			x, isX := a[key].(map[string]any)
			y, isY := b[key].(map[string]any)
			switch {
			case isX && isY:
				visit(at.Key(key), x, y)
			case !tree.Equal(a[key], b[key]):
				all = append(all, at.Key(key))
			}
		}
	}
	visit("", a, b)
	return all
}

// withShownTokens is a value with its references as people write them.
func withShownTokens(v any) any { return tree.MapText(v, token.Show) }

// changedSecrets are the secrets of a source that are sealed with another value, or not at all.
func changedSecrets(ctx context.Context, s *session.Session, secrets []from.Secret) ([]sourceChange, error) {
	if len(secrets) == 0 {
		return nil, nil
	}
	sealed, err := project.KeyPlace(ctx, s.Stage, s.Dir).Secrets()
	if err != nil {
		return nil, err
	}
	var all []sourceChange
	for _, secret := range secrets {
		if have, err := sealed.Get(s.Engine.Key, secret.Name); err != nil || have != secret.Value {
			all = append(all, sourceChange{Change: "secret", Address: "secret." + secret.Name})
		}
	}
	return all, nil
}

// reportChanges says what the source changed, and that nothing was written.
func reportChanges(o *session.Opener, r adoptedStack, folder, file string) {
	fmt.Fprintf(o.Err, "%s: recognised as %s\n", render.Escaped(r.File), r.Source)
	for _, c := range r.Changes {
		switch address := render.Escaped(c.Address); c.Change {
		case "new":
			fmt.Fprintf(o.Out, "new: %s (%s%s)\n", address, c.Kind, withComma(c.Now))
		case "missing":
			fmt.Fprintf(o.Out, "missing: %s (%s%s)\n", address, c.Kind, withComma(c.Was))
		case "secret":
			fmt.Fprintf(o.Out, "changed: %s has another value\n", address)
		case "identity":
			fmt.Fprintf(o.Out, "changed: %s is another object: %s -> %s\n", address, shownValue(c.Was), shownValue(c.Now))
		default:
			fmt.Fprintf(o.Out, "changed: %s %s: %s -> %s\n", address, render.Escaped(c.Path), shownValue(c.Was), shownValue(c.Now))
		}
	}
	if len(r.Changes) == 0 {
		fmt.Fprintf(o.Err, "%s has all that %s has changed since %s was written\n", filepath.Join(folder, file), r.Source, filepath.Join(folder, baselineFile))
		return
	}
	fmt.Fprintf(o.Err, "%s is as it was: nothing was written. These are the changes of %s since it was; without --out its YAML of today is printed\n",
		filepath.Join(folder, file), r.Source)
}

func withComma(v any) string {
	if v == nil {
		return ""
	}
	return ", " + render.Escaped(fmt.Sprint(v))
}

// shownValue is a value on one line.
func shownValue(v any) string {
	if v == nil {
		return "none"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return render.Escaped(string(text))
}
