package adoption

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/foreign"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/s3"
)

// adoptedStack is what --json reports of a state that was read.
type adoptedStack struct {
	Source string `json:"source"`
	File   string `json:"file"`
	declaredStack
	Written  string         `json:"written,omitempty"`
	Counts   adoptionCounts `json:"counts"`
	Objects  []from.Entry   `json:"objects"`
	Secrets  []from.Secret  `json:"secrets"`
	Drift    []from.Drift   `json:"drift"`
	Observed bool           `json:"observed"`
	LetGo    []string       `json:"letGo"`
	// Program says what was read of the source's program.
	Program []string `json:"program,omitempty"`
	// Changes are those of the source since the stack was written, where one was.
	Changes []sourceChange `json:"changes,omitempty"`
}

// adoptionCounts count the objects of a source by what became of them.
type adoptionCounts struct {
	Mapped    int `json:"mapped"`
	Folded    int `json:"folded"`
	Ambiguous int `json:"ambiguous"`
	Unmapped  int `json:"unmapped"`
	Needless  int `json:"needless"`
	// ManagedPaths are values that are declared, IgnoredPaths the paths that are not compared.
	ManagedPaths int `json:"managedPaths"`
	IgnoredPaths int `json:"ignoredPaths"`
	// Undeclared are attributes that no prop has.
	Undeclared int `json:"undeclaredAttributes"`
}

// adoptDraft prints, or writes, the stack of what another tool has deployed. The key of the stage is there before
// the state is read, so that no secret is without one.
func adoptDraft(o *session.Opener, c *cli.Context, source from.Drafter, read foreign.Source) error {
	out := c.String("out")
	s, err := adoptingSession(o, c, read, cmp.Or(out, "."))
	if err != nil {
		return err
	}
	base, err := baseOf(out, read.Dir)
	if err != nil {
		return err
	}
	only := choiceOf(c)
	options := from.Options{
		Name: s.Stage.Stack, Stage: s.Stage.Name, Chosen: only.takes(), Env: os.Getenv, Offer: func(source string) error { return loader.Offer(o.Loader, c, source) },
	}
	if _, err := os.Stat(filepath.Join(read.Dir, read.File)); err == nil {
		options.State = path.Join(base, read.File)
	}
	file := read.AsFile()
	file.Sources = foreign.SourcesAt(c.Context, read.Dir)
	draft, err := source.Draft(file, options)
	if err == nil {
		err = only.unmatched()
	}
	if err != nil {
		return err
	}
	l := languageOf(c)
	name := "athanor.yaml"
	if l.isGo {
		name = mainFile
	}
	again := false
	if out != "" {
		if again, err = isAdopted(out, name); err != nil {
			return err
		}
	}
	if archived, ok := draft.(from.Archived); ok && out != "" && !c.Bool("no-observe") {
		if err := copyArchives(c.Context, archived, draft.Providers(), out, again); err != nil {
			return err
		}
	}
	var observed map[string]from.Observed
	if !c.Bool("no-observe") && len(draft.Resources()) > 0 {
		if observed, err = observeDraft(c.Context, s, draft, base); err != nil {
			return cli.Hint(fmt.Errorf("the objects are not read: %w", err), "--no-observe writes what "+source.Kind()+" last knew, and reads nothing")
		}
	}
	stack := draft.Stack(observed)
	if len(stack.Resources) == 0 && c.IsSet("only") {
		return fmt.Errorf("--only %s: no object matches", strings.Join(c.StringSlice("only"), " --only "))
	}
	text, err := stackText(o, stack, base, l)
	if err != nil {
		return err
	}
	report := adoptedStack{
		Source: source.Kind(), File: read.Shown,
		declaredStack: declaredStack{Stack: stack.Name, Stage: s.Stage.Name, Resources: stack.Resources, Notes: orEmpty(stack.Notes)},
		Counts:        countsOf(stack), Objects: orEmpty(stack.Entries), Secrets: orEmpty(stack.Secrets), Drift: orEmpty(stack.Drifts),
		Observed: observed != nil, LetGo: orEmpty(stack.LetGo), Program: stack.Program,
	}
	if again {
		if report.Changes, err = changedSince(c.Context, s, out, l, stack, base); err != nil {
			return err
		}
		if o.WroteJSON(report) {
			return nil
		}
		reportChanges(o, report, out, name)
		return nil
	}
	if out == "" {
		report.hold(text, l)
	} else {
		if report.Written, err = writeStack(o, out, name, stack.Name, text, l); err == nil {
			err = writeBaseline(out, stack, base)
		}
		if err != nil {
			return err
		}
	}
	if err := sealAll(c.Context, s, stack.Secrets); err != nil {
		return err
	}
	if o.WroteJSON(report) {
		return nil
	}
	if out == "" {
		if _, err := o.Out.Write(text); err != nil {
			return err
		}
	}
	reportAdoption(o, report)
	return nil
}

// copyArchives writes the code of functions that lies in buckets next to the stack. again: what is there already stays.
func copyArchives(ctx context.Context, draft from.Archived, providers map[string]map[string]any, out string, again bool) error {
	archives := draft.Archives()
	if len(archives) == 0 {
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	region, _ := providers["aws"]["region"].(string)
	for _, archive := range archives {
		if _, err := os.Stat(filepath.Join(out, archive.Name)); err == nil && again {
			draft.Copied(archive)
			continue
		}
		object, err := s3.Bucket(s3.Address{Bucket: archive.Bucket, Region: region}, project.BucketConfig).Get(ctx, archive.Key, "")
		if err != nil {
			return cli.Hint(fmt.Errorf("%s: its code in s3://%s/%s is not read: %w", archive.Address, archive.Bucket, archive.Key, err),
				"without --out the stack names the bucket")
		}
		if err := files.WriteNew(filepath.Join(out, archive.Name), object.Body); err != nil {
			return err
		}
		draft.Copied(archive)
	}
	return nil
}

// orEmpty is a list that JSON writes as one.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// baseOf is the way from the folder that is written to that of the source.
func baseOf(out, dir string) (string, error) {
	rel, err := filepath.Rel(files.Absolute(cmp.Or(out, ".")), files.Absolute(dir))
	if err != nil || rel == "." {
		return "", err
	}
	return filepath.ToSlash(rel), nil
}

// adoptingSession opens the stage of a stack that is still to be written.
func adoptingSession(o *session.Opener, c *cli.Context, read foreign.Source, dir string) (*session.Session, error) {
	if err := session.NoEmptyStage(c); err != nil {
		return nil, err
	}
	s := &session.Session{
		Opener: o, Began: time.Now(), Store: project.AbsoluteStore(c.String("store")),
		Stage: statestore.Stage{
			Stack: read.StackName(), Name: cmp.Or(c.String("stage"), from.Shape(read.Workspace), project.DefaultStage(c.Command.Name)),
		},
	}
	if err := project.CheckStage(s.Stage.Name); err != nil {
		return nil, err
	}
	if err := session.UseProfile(c.String("profile")); err != nil {
		return nil, err
	}
	dir = files.Absolute(dir)
	if err := o.Confine(c, &loader.Source{Dir: dir}, s.Store); err != nil {
		return nil, err
	}
	if err := o.Permit(c.Context, grants.Document{}); err != nil {
		return nil, err
	}
	return s, s.Open(c, dir)
}

// observeDraft reads the objects of a draft: how each would be declared, by its address.
func observeDraft(ctx context.Context, s *session.Session, draft from.Draft, base string) (map[string]from.Observed, error) {
	resources := draft.Resources()
	text, err := from.Stack{Name: s.Stage.Stack, Providers: draft.Providers(), Resources: resources}.YAML(base)
	if err != nil {
		return nil, err
	}
	loaded, err := s.Opener.LoadYAML(ctx, yamlstack.Input{Path: "athanor.yaml", Data: text, Dir: s.Dir, Stage: s.Stage.Name})
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, r := range resources {
		addresses = append(addresses, r.Address)
	}
	found, err := s.Engine.Scan(s.Opener.Granted.Within(ctx), loaded.Graph, engine.ScanOptions{Describe: addresses, DeclaredOnly: true})
	if err != nil {
		return nil, err
	}
	observed := map[string]from.Observed{}
	for _, t := range found.Things {
		if t.Declared && t.Props != nil {
			observed[t.Address] = from.Observed{Props: t.Props, Missing: t.Missing, Differs: t.Differs}
		}
	}
	return observed, nil
}

// sealAll seals the secrets of a stack beside it. A secret that is sealed there already is not replaced.
func sealAll(ctx context.Context, s *session.Session, all []from.Secret) error {
	if len(all) == 0 {
		return nil
	}
	sealed, err := project.KeyPlace(ctx, s.Stage, s.Dir).Secrets()
	if err != nil {
		return err
	}
	for _, secret := range all {
		have, err := sealed.Get(s.Engine.Key, secret.Name)
		if err == nil && have == secret.Value {
			continue
		}
		if err == nil {
			return cli.Hint(fmt.Errorf("%s has another sealed secret %s", s.Stage, secret.Name), "--out names another directory, --stage another stage")
		}
		if err := sealed.Set(s.Engine.Key, secret.Name, secret.Value); err != nil {
			return err
		}
	}
	return nil
}

func countsOf(stack from.Stack) adoptionCounts {
	var n adoptionCounts
	for _, e := range stack.Entries {
		switch e.Outcome {
		case from.Mapped:
			n.Mapped++
		case from.Folded:
			n.Folded++
		case from.Ambiguous:
			n.Ambiguous++
		case from.Unmapped:
			n.Unmapped++
		case from.Needless:
			n.Needless++
		}
	}
	for _, r := range stack.Resources {
		values := 0
		tree.Walk(from.Placed(r.Props, ""), func(_ tree.Path, v any) bool {
			switch v.(type) {
			case map[string]any, []any:
			default:
				values++
			}
			return true
		})
		each := max(1, len(r.For))
		n.ManagedPaths += each * values
		n.IgnoredPaths += each * len(r.IgnoreChanges)
	}
	n.Undeclared = len(stack.Notes)
	return n
}

// reportAdoption says what became of every object, and what to do next. Names of the source are shown escaped.
func reportAdoption(o *session.Opener, r adoptedStack) {
	w := o.Err
	n := r.Counts
	fmt.Fprintf(w, "%s: recognised as %s\n", render.Escaped(r.File), r.Source)
	fmt.Fprintf(w, "%s: %d resources; %d objects mapped, %d folded into others, %d to look at, %d not adopted, %d without an object; %d ignored paths\n",
		r.Stack, len(r.Resources), n.Mapped, n.Folded, n.Ambiguous, n.Unmapped, n.Needless, n.IgnoredPaths)
	for _, line := range r.Program {
		fmt.Fprintf(w, "  %s\n", render.Escaped(line))
	}
	for _, e := range r.Objects {
		id := ""
		if e.ID != "" {
			id = " (" + onOneLine(e.ID) + ")"
			if e.ID == from.Hidden {
				id = " " + e.ID
			}
		}
		switch e.Outcome {
		case from.Unmapped:
			fmt.Fprintf(w, "  not adopted: %s%s: %s\n", onOneLine(e.Source), id, onOneLine(e.Text))
		case from.Ambiguous:
			fmt.Fprintf(w, "  look at %s: %s\n", e.Address, onOneLine(e.Text))
		}
	}
	for _, s := range r.Secrets {
		fmt.Fprintf(w, "  secret %s, sealed: %s\n", s.Name, secretPlaces(s))
	}
	for _, d := range r.Drift {
		fmt.Fprintf(w, "  differs from %s: %s %s\n", r.Source, d.Address, onOneLine(d.Path))
	}
	if n.Undeclared > 0 {
		fmt.Fprintf(w, "%d attributes have no prop: computed by the provider, or not managed; --json lists them\n", n.Undeclared)
	}
	if !r.Observed {
		fmt.Fprintf(w, "Nothing was read from the cloud: the props are what %s last knew.\n", r.Source)
	}
	next := "athanor deploy --adopt --stage " + r.Stage
	if r.Written != "" {
		next = "athanor deploy --adopt " + stackTarget(r.Written) + " --stage " + r.Stage
	}
	fmt.Fprintf(w, "next: %s\n", next)
	reportLetGo(o, w, r)
}

// onOneLine is text of a source, which cannot begin a line of the report.
func onOneLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(render.Escaped(text))
}

func secretPlaces(s from.Secret) string {
	var all []string
	for _, p := range s.Found {
		all = append(all, onOneLine(p.Source+" "+p.Path)+" ("+onOneLine(p.Why)+")")
	}
	return strings.Join(all, "; ")
}

// reportLetGo prints how the other tool forgets what is adopted, after the first deploy.
func reportLetGo(o *session.Opener, w io.Writer, r adoptedStack) {
	if len(r.LetGo) == 0 {
		return
	}
	fmt.Fprintln(w, "then, when that deploy has changed nothing but owner tags, in this order:")
	fmt.Fprintln(w, "  athanor adopt --finish")
	for _, command := range r.LetGo {
		fmt.Fprintf(w, "  %s\n", onOneLine(command))
	}
	fmt.Fprintln(w, "  and take the resources out of its program")
	o.Style(w).Warning(w, "until then a destroy there deletes what athanor has adopted, and an apply there undoes what athanor changes")
}
