package adoption

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/adopt/from/terraform"
	"github.com/athanor-dev/athanor/adopt/from/wrangler"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/foreign"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// sourcesOf are the tools whose files can be read.
func sourcesOf(o *session.Opener) []from.Source {
	pulumi := terraform.Pulumi{Find: o.Catalog.Find, Types: registry.Names, Fields: foreign.FieldsOf}
	stacks := func(name string) terraform.CloudFormation {
		return terraform.CloudFormation{Name: name, Find: o.Catalog.Find, Identifier: foreign.IdentifierOf}
	}
	return []from.Source{
		wrangler.Source{},
		terraform.Source{Find: o.Catalog.Find},
		pulumi,
		terraform.Alchemy{Find: o.Catalog.Find},
		stacks("cloudformation"), stacks("cdk"),
		terraform.SST{Stacks: stacks("sst"), States: pulumi},
	}
}

// adoptFrom prints, or writes, the stacks that a file of another tool declares.
func adoptFrom(o *session.Opener, c *cli.Context) error {
	if c.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", c.Args().First())
	}
	sources := sourcesOf(o)
	kind, where := sourceOf(sources, c.String("from"))
	var largest int64
	for _, s := range sources {
		if largest = max(largest, s.Largest()); s.Kind() == kind {
			largest = s.Largest()
			break
		}
	}
	if err := session.UseProfile(c.String("profile")); err != nil {
		return err
	}
	read, err := foreign.Read(c.Context, kind, where, largest)
	if err != nil {
		return err
	}
	if err := foreign.CheckSQLite(read); err != nil {
		return err
	}
	file := read.AsFile()
	source, err := from.Find(sources, kind, file)
	switch {
	case err != nil:
		return cli.Hint(err, "--from KIND:FILE says which tool's file it is")
	case int64(len(file.Content)) > source.Largest():
		return fmt.Errorf("%s: %w", read.Shown, localfile.ErrTooLarge)
	}
	if drafter, ok := source.(from.Drafter); ok {
		if placer, ok := source.(from.Placer); ok {
			read.Stack, read.Workspace = placer.Place(file)
		}
		return adoptDraft(o, c, drafter, read)
	}
	stacks, err := source.Read(file)
	if err != nil {
		return err
	}
	if c.IsSet("only") {
		if err := choiceOf(c).choose(stacks); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.Err, "%s: recognised as %s\n", render.Escaped(read.Shown), source.Kind())
	dir, out := read.Dir, c.String("out")
	if len(stacks) > 1 && out == "" && !o.AsJSON {
		return cli.Hint(fmt.Errorf("%s has %d environments, each of which becomes a file", read.Shown, len(stacks)), "athanor adopt --from "+where+" --out "+dir)
	}
	written, err := writeStacks(o, stacks, dir, out, languageOf(c))
	if err != nil {
		return err
	}
	if o.WroteJSON(map[string]any{"source": source.Kind(), "file": read.Shown, "stacks": written}) {
		return nil
	}
	reportStacks(o, stacks, written)
	return nil
}

// sourceOf splits [KIND:]FILE. What stands before a colon is a kind only where it is one: paths may have colons.
func sourceOf(sources []from.Source, text string) (kind, where string) {
	if kind, where, ok := strings.Cut(text, ":"); ok {
		for _, s := range sources {
			if s.Kind() == kind {
				return kind, where
			}
		}
	}
	return "", text
}

// choose keeps the resources of stacks that --only chooses.
func (o *choice) choose(stacks []from.Stack) error {
	for i, s := range stacks {
		var err error
		if stacks[i], err = s.Only(o.takes()); err != nil {
			return cli.Hint(err, "--only takes the address that is missing too")
		}
	}
	return o.unmatched()
}

// declaredStack is what --json reports of every stack that declares what another tool has deployed.
type declaredStack struct {
	Stack string `json:"stack"`
	Stage string `json:"stage,omitempty"`
	// YAML or Go is the stack itself, where no file holds it.
	YAML      string          `json:"yaml,omitempty"`
	Go        string          `json:"go,omitempty"`
	Resources []from.Resource `json:"resources"`
	Notes     []from.Note     `json:"notes"`
}

// hold keeps the text of a stack.
func (d *declaredStack) hold(text []byte, l language) {
	if l.isGo {
		d.Go = string(text)
	} else {
		d.YAML = string(text)
	}
}

// writtenStack is what --json reports of a stack of a configuration.
type writtenStack struct {
	declaredStack
	Environment string `json:"environment,omitempty"`
	File        string `json:"file,omitempty"`
}

// writeStacks writes each stack into a file of a folder, or the only one to standard output.
func writeStacks(o *session.Opener, stacks []from.Stack, dir, out string, l language) ([]writtenStack, error) {
	base := ""
	if out != "" {
		rel, err := filepath.Rel(files.Absolute(out), files.Absolute(dir))
		if err != nil {
			return nil, err
		}
		base = filepath.ToSlash(rel)
		if err := os.MkdirAll(out, 0o755); err != nil {
			return nil, err
		}
	}
	var all []writtenStack
	for _, s := range stacks {
		at := base
		if l.isGo && s.Stage != "" && out != "" { // each has a folder of its own
			at = path.Join("..", base)
		}
		text, err := stackText(o, s, at, l)
		if err != nil {
			return all, err
		}
		w := writtenStack{declaredStack: declaredStack{Stack: s.Name, Stage: s.Stage, Resources: s.Resources, Notes: s.Notes}, Environment: s.Environment}
		switch {
		case out != "":
			folder, name := out, "athanor.yaml"
			switch {
			case l.isGo && s.Stage != "": // a folder has one program
				folder, name = filepath.Join(out, s.Stage), mainFile
			case l.isGo:
				name = mainFile
			case s.Stage != "":
				name = "athanor." + s.Stage + ".yaml"
			}
			if w.File, err = writeStack(o, folder, name, s.Name, text, l); err != nil {
				return all, err
			}
		case o.AsJSON:
			w.hold(text, l)
		default:
			if _, err := o.Out.Write(text); err != nil {
				return all, err
			}
		}
		all = append(all, w)
	}
	return all, nil
}

// reportStacks says what became of every field, and what to do next.
func reportStacks(o *session.Opener, stacks []from.Stack, written []writtenStack) {
	for i, s := range stacks {
		counts := map[from.Outcome]int{}
		for _, n := range s.Notes {
			counts[n.Outcome]++
		}
		title := render.Escaped(s.Environment)
		if title == "" {
			title = s.Name
		}
		fmt.Fprintf(o.Err, "%s: %d resources; %d fields declared, %d needless, %d not supported\n",
			title, len(s.Resources), counts[from.Mapped], counts[from.Needless], counts[from.Unsupported])
		for _, n := range s.Notes {
			if n.Outcome == from.Unsupported {
				fmt.Fprintf(o.Err, "  not supported: %s: %s\n", render.Escaped(n.Field), render.Escaped(n.Text))
			}
		}
		next := "athanor deploy --adopt"
		if file := written[i].File; file != "" {
			next += " " + stackTarget(file)
		}
		if s.Stage != "" {
			next += " --stage " + s.Stage
		}
		fmt.Fprintf(o.Err, "next: %s\n", next)
	}
}

// choice is what --only chooses by addresses of the source: * stands for any text.
type choice struct {
	patterns []string
	matched  map[string]bool
}

func choiceOf(c *cli.Context) *choice {
	return &choice{c.StringSlice("only"), map[string]bool{}}
}

// takes reports of an address whether it is chosen. Nil: everything is.
func (o *choice) takes() func(address string) bool {
	if len(o.patterns) == 0 {
		return nil
	}
	return func(address string) bool {
		chosen := false
		for _, pattern := range o.patterns {
			if fits(pattern, address) {
				chosen, o.matched[pattern] = true, true
			}
		}
		return chosen
	}
}

// unmatched is an error about the first pattern that chose nothing.
func (o *choice) unmatched() error {
	at := slices.IndexFunc(o.patterns, func(pattern string) bool { return !o.matched[pattern] })
	if at < 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("--only %s: no resource matches", o.patterns[at]), "an address as the file has it; * stands for any text")
}

// fits reports whether a text fits a pattern, in which * stands for any text, brackets and dots included.
func fits(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
