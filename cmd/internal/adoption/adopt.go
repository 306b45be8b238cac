// Package adoption is the command adopt: it takes over one object, lists those that could be, and writes the stack of what another tool has
// deployed.
//
// What a state of another tool means is known by the packages below adopt, and what becomes of an object by the engine.
package adoption

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
)

// Command is the command adopt.
func Command(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "adopt", Usage: "adopt an existing object, or list objects that could be adopted", ArgsUsage: "ADDRESS ID [TARGET] | --scan [TARGET] | --from [KIND:]WHERE | --finish [TARGET]",
		Description: `Adopts one existing object for a declared address, by its identity or its name: shows how it differs, asks,
updates it and writes it to state. Nothing else is changed; the resources that it needs are read. Naming an
object is the permission to adopt it from another owner, which is shown; ` + "`deploy --adopt`" + ` adopts every declared object
that has no owner.

--scan lists objects that are not in state, of the kinds in use and of every --kind: ours, adoptable, foreign
with its owner, retained. --write ID prints the YAML of one (or of a glob: '*') as it exists: deployed with
--adopt, its plan shows no difference. A comment names what cannot be read.

--from WHERE reads the configuration or the state of another tool (KIND: wrangler, terraform, pulumi, cloudformation, cdk,
sst, alchemy; without it the content decides) and prints the YAML of a stack that adopts what that tool has deployed, and on standard error what became
of every field or object. Of wrangler nothing is asked of a cloud; with several environments --out is needed: each
has a file for a stage of its own. The objects of a state of Terraform, OpenTofu or Pulumi are read, and declared as
the cloud has them; its secrets are sealed beside the stack. WHERE is a file, s3://BUCKET/KEY?region=REGION,
postgres://USER@HOST/DATABASE?workspace=NAME or https://HOST/PATH, as the backends of Terraform keep states; the
state of a workspace becomes a stage of its name. cloudformation:STACK, cdk:STACK and sst:STACK read a deployed stack
by its name, with ?region=REGION; with --out the code of its functions is copied next to the file. Of Alchemy WHERE is
the folder .alchemy/APP/STAGE, or s3://BUCKET/alchemy/APP/STAGE. The *.tf files next to a state of Terraform give names,
variables and comments. $ATHANOR_SOURCE_PASSPHRASE opens an encrypted one.
--go writes a Go program that declares the same instead, with --out its module too. Again with the same --out, it writes nothing and
shows what the source has changed since. After the first deploy --finish removes the identities (options.adopt) from the stack's file.

Exit codes: 0 done; 1 error; 2 changes pending (--dry-run); 3 another run holds the stage; 4 it failed half
way; 5 not approved.`,
		UsageText: `adopt orders arn:aws:sqs:eu-north-1:123456789012:orders
adopt --scan                    what could be adopted
adopt --scan --kind aws.s3.Bucket --write my-bucket >> athanor.yaml
adopt --from wrangler.jsonc > athanor.yaml
adopt --from terraform.tfstate --only 'module.net.*' --out net
adopt --from 's3://states/net/terraform.tfstate?region=eu-north-1'
adopt --from cdk:ShopStack --stage prod --out shop
adopt --from shop.tfstate --go --out shop
adopt --finish`,
		Flags: project.StageFlags(append(cli.ApplyFlags(session.NewStageFlag(),
			&cli.BoolFlag{Name: "scan", Usage: "list objects that are not in state"},
			&cli.StringSliceFlag{Name: "kind", Usage: "with --scan: list objects of `KIND` too, although the stack has none; may be repeated"},
			&cli.StringSliceFlag{Name: "write", Usage: "with --scan: print the YAML of `ID` (identity, name or glob); may be repeated"},
			&cli.StringFlag{Name: "from", Usage: "print the stack that `[KIND:]WHERE` of another tool declares"},
			&cli.StringSliceFlag{Name: "only", Usage: "with --from: only resources that match `ADDRESS` (a glob; of a state the other tool's own address); may be repeated"},
			&cli.BoolFlag{Name: "no-observe", Usage: "with --from: write what the other tool last knew; read nothing from the provider"},
			&cli.StringFlag{Name: "out", Usage: "with --from: write files into `DIRECTORY`; overwrites nothing"},
			&cli.BoolFlag{Name: "go", Usage: "with --from: write a Go program instead of YAML"},
			&cli.StringFlag{Name: "module", Usage: "with --go: use the checkout of athanor in `DIR` instead of a release"},
			&cli.BoolFlag{Name: "finish", Usage: "remove options.adopt of what state holds from the stack's file"},
			cli.DryRunFlag("only show how it differs"),
		), cli.ShowFlags()...)...),
		Action: func(c *cli.Context) error { return adopt(o, c) },
	}
}

func adopt(o *session.Opener, c *cli.Context) error {
	switch {
	case c.IsSet("from"):
		return adoptFrom(o, c)
	case c.Bool("finish"):
		return adoptFinish(o, c)
	case c.Bool("scan"):
		return scan(o, c)
	case c.NArg() < 2:
		return cli.Hint(errors.New("adopt: which address, and which object?"), "athanor adopt ADDRESS ID; `athanor adopt --scan` lists objects")
	}
	s, err := o.OpenProgram(c, 2)
	if err != nil || s == nil {
		return err
	}
	s.Question = "Adopt this into"
	s.Options.Take = &engine.Take{Address: c.Args().Get(0), Identity: c.Args().Get(1)}
	p, err := s.Plan(c.Context)
	if c.Bool("dry-run") {
		return s.Show(c, p, err)
	}
	return s.Proceed(c, p, err)
}

func scan(o *session.Opener, c *cli.Context) error {
	s, err := o.OpenProgram(c, 0)
	if err != nil || s == nil {
		return err
	}
	wanted := c.StringSlice("write")
	found, err := s.Engine.Scan(c.Context, s.Graph, engine.ScanOptions{Kinds: c.StringSlice("kind"), Describe: wanted})
	if err != nil {
		return err
	}
	switch {
	case len(wanted) > 0:
		return writeThings(o, s, found, wanted)
	case o.AsJSON:
		o.JSON(found)
		return nil
	}
	o.Style(o.Out).Things(o.Out, found.Things)
	if len(found.Things) == 0 {
		fmt.Fprintf(o.Err, "%s: no object was found that is not in state\n", s.Stage)
	}
	for _, place := range found.Places {
		fmt.Fprintln(o.Err, "looked in", place)
	}
	for _, kind := range found.Unlisted {
		fmt.Fprintf(o.Err, "%s cannot be listed: only declared resources of it are found\n", kind)
	}
	return nil
}

// writeThings prints the YAML of what was chosen.
func writeThings(o *session.Opener, s *session.Session, found *engine.Scan, wanted []string) error {
	missing := slices.DeleteFunc(slices.Clone(wanted), func(id string) bool {
		return slices.ContainsFunc(found.Things, func(t engine.Thing) bool {
			return t.Props != nil && (t.Identity == id || t.Name == id || t.Address == id || graph.Match(id, t.Identity))
		})
	})
	if len(missing) > 0 {
		return cli.Hint(fmt.Errorf("--write %s: nothing was found that it matches", strings.Join(missing, ", ")), "`athanor adopt --scan` lists what is there; --kind looks for further kinds")
	}
	chosen, text, err := render.ThingsYAML(s.Graph, found)
	switch {
	case err != nil:
		return err
	case o.AsJSON:
		o.JSON(map[string]any{"things": chosen})
		return nil
	}
	_, err = o.Out.Write(text)
	return err
}
