package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

func stateExportCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write the whole state as one document", ArgsUsage: "[TARGET]",
		Description: `One consistent version of the state as JSON, for a backup and for ` + "`state import`" + `. What is sealed stays
sealed, and needs the stage's key to be read or imported; --reveal opens it: the document then has secrets in
clear, and can be imported under another key. Rows that cannot be read are in it, each with its problem.`,
		UsageText: `state export --out prod.json --stage prod
state export | jq -r '.rows[].address'
state export --reveal --out open.json      secrets in clear`,
		Flags: project.StageFlags(cli.RevealFlag(), cli.StackFlag("read"), cli.OutFlag("write to `FILE`, readable by its owner only")), Before: untrusted.Reads, Action: func(c *cli.Context) error { return stateExport(o, c) },
	}
}

func stateImportCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "replace state by an exported one", ArgsUsage: "FILE [TARGET]",
		Description: `Reads a document that ` + "`state export`" + ` wrote, or - for standard input, verifies all of it, and replaces the
state of its stack and stage by it: in one commit, or not at all. TARGET is a directory of the project whose store
is meant; no program is needed. Use it to move a stage from one store to another.

A stage without state is filled. A stage with state must be at the serial of the document, when the document was
exported from the same store; else --serial says which serial is replaced. A document belongs to one stack and one
stage and cannot become that of another: its objects have the owner tags of that stage. After an import into
another store the next deploy rewrites the owner tags.

Exit codes: 0 imported, or nothing to do; 1 refused; 3 another run holds the stage; 5 not approved.`,
		UsageText: `state import prod.json
state import prod.json --store bolt:/shared/state.db
state import prod.json --serial 17            replace what is there at serial 17`,
		Flags: project.StageFlags(cli.ApplyFlags(cli.StackFlag("import"), &cli.GenericFlag{Name: "serial", Value: new(cli.Count), Usage: "replace state at serial `N`, whatever the document's serial is"})...), Action: func(c *cli.Context) error { return stateImport(o, c) },
	}
}

func stateExport(o *session.Opener, c *cli.Context) error {
	s, err := o.OpenExisting(c, 0)
	if err != nil || s == nil {
		return err
	}
	doc, err := s.Engine.Export(c.Context, s.Stage, c.Bool("reveal"))
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	file := c.String("out")
	if file == "" {
		_, err := o.Out.Write(render.SafeJSON(data))
		return err
	}
	if err := files.WritePrivate(file, data); err != nil {
		return err
	}
	fmt.Fprintf(o.Err, "saved: %d rows of %s at serial %d\n", len(doc.Rows), s.Stage, doc.From.Serial)
	return nil
}

func stateImport(o *session.Opener, c *cli.Context) error {
	file := c.Args().First()
	if file == "" {
		return cli.Hint(errors.New("state import: which file?"), "athanor state import FILE, or - for standard input")
	}
	data, err := readDocument(c.Context, o, file)
	if err != nil {
		return err
	}
	doc, err := engine.ReadExport(data)
	if err != nil {
		return cli.Hint(fmt.Errorf("%s: %w", file, err), "`athanor state export --out FILE` writes what import reads")
	}
	s, err := openImport(o, c, doc)
	if err != nil {
		return err
	}
	var serial *uint64
	if c.IsSet("serial") {
		serial = new(c.Uint64("serial"))
	}
	p, err := s.Engine.PlanImport(c.Context, s.Stage, doc, serial)
	return s.Proceed(c, p, err)
}

func readDocument(ctx context.Context, o *session.Opener, file string) ([]byte, error) {
	return files.Interruptible(ctx, func() ([]byte, error) {
		if file == "-" {
			return io.ReadAll(o.In)
		}
		return os.ReadFile(file)
	})
}

// openImport opens the stage that a document is of. The document says what a program would: its stack and its stage.
func openImport(o *session.Opener, c *cli.Context, doc *engine.Export) (*session.Session, error) {
	for name, value := range map[string]string{"stack": doc.Stack, "stage": doc.Stage} {
		if c.IsSet(name) {
			continue
		}
		if err := c.Set(name, value); err != nil {
			return nil, err
		}
	}
	s, src, err := o.Begin(c, 1)
	if err != nil {
		return nil, err
	}
	if err := o.Permit(c.Context, grants.Document{}); err != nil {
		return nil, err
	}
	if s.Project, err = project.Open(src.Dir, s.Store); err != nil {
		return nil, err
	}
	if doc.Sealed() && s.Stage.Stack == doc.Stack && s.Stage.Name == doc.Stage {
		s.Project.KeyID = doc.Key
	}
	if s.Engine, err = s.Project.Engine(c.Context, s.Stage, src.Dir, o.Catalog, c.Bool("accept-older-state")); err != nil {
		return nil, err
	}
	o.Redacted = s.Engine.Redacted
	s.Command, s.Question = "state", "Replace the state of"
	return s, nil
}
