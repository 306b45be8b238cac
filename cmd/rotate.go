package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/providers/random"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/rotate"
	"github.com/athanor-dev/athanor/statestore/seal"
)

func rotateCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "rotate", Usage: "give a stage a new key", ArgsUsage: "[TARGET]",
		Description: `Adds a key to the ring of the stage, wrapped for everybody who can open the newest one, and seals state, outputs
and sealed secrets again with it, under the lease. An older key opens nothing that is written afterwards. Run it
again after an interruption, and it goes on. Generated values stay the same; the key that they were derived from
stays in the ring as long as one of them does (raise its version for a new value).

First change who can open the ring (secret rewrap), then rotate, then change each value that --list-exposed lists
at its service: everybody who had the old key may know it. A copy that ` + "`state export`" + ` wrote before opens with keys of the ring
alone: --copy seals it again, as long as its key has not left.`,
		UsageText: `secret rotate --stage prod
secret rotate --stage prod --copy backup.json
secret rotate --list-exposed --stage prod`,
		Flags: project.StageFlags(&cli.StringSliceFlag{
			Name: "copy", Usage: "seal an exported `FILE` of this stage again too; may be repeated",
		}, &cli.BoolFlag{
			Name:  "list-exposed",
			Usage: "list the secrets that an older key could open and that have not changed since; rotate nothing",
		}),
		Before: untrusted.ReadsWith("list-exposed"),
		Action: func(c *cli.Context) error { return secretRotate(o, c) },
	}
}

// rotateLine is what secret rotate prints with --json.
type rotateLine struct {
	secretLine
	Run    string `json:"run,omitempty"`
	Number uint64 `json:"number"`
	// Resumed says that an interrupted rotation was finished, and no key was added.
	Resumed bool `json:"resumed,omitempty"`
	// Rows and Sealed count what was sealed again.
	Rows   int `json:"rows"`
	Sealed int `json:"sealed"`
	Copies int `json:"copies,omitempty"`
	// Scraps says that the store may still hold what the old key sealed, in the parts that ScrapsIn names.
	Scraps   bool     `json:"scraps,omitempty"`
	ScrapsIn []string `json:"scrapsIn,omitempty"`
	// Left are the ids of the keys that left the ring, Kept of the older ones that stay.
	Left []string `json:"left,omitempty"`
	Kept []string `json:"kept,omitempty"`
	// Exposed are the secrets that an older key could open.
	Exposed []string `json:"exposed"`
}

// rotation says what to rotate.
func rotation(s *session.Session, c *cli.Context, run string) rotate.Rotation {
	return rotate.Rotation{
		Store: s.Project.Store, Stage: s.Stage, Place: project.KeySources(c.Context, s.Stage, s.Dir), Wrapping: seal.Place.Again,
		Claim:    statestore.Claim{Run: run, Command: "rotate", User: s.Project.Who()},
		Contents: contentsOf(s.Stage, s.Opener.Catalog), Accept: c.Bool("accept-older-state"),
	}
}

// contentsOf says what a rotation must know about the sealed entries of a stage.
func contentsOf(stage statestore.Stage, catalog *reconcile.Catalog) rotate.Contents {
	secrecy := secrecyOf(catalog)
	return rotate.Contents{
		Binding: func(what string) []byte { return state.Binding(stage, what) },
		Rekey: func(row statestore.Row, plain []byte, ring *seal.Key) ([]byte, []string, error) {
			return state.Rekey(row, plain, ring, secrecy)
		},
		Secrets: func(row statestore.Row, plain []byte) (map[string][]byte, error) {
			return state.SecretValues(row, plain, secrecy)
		},
	}
}

// secrecyOf says what the kinds of a catalog keep secret, and which derive values from the stage's key.
func secrecyOf(catalog *reconcile.Catalog) func(kind string) state.Secrecy {
	return func(kind string) state.Secrecy {
		k, ok := catalog.Kind(kind)
		if !ok {
			return state.Secrecy{}
		}
		spec := k.Spec()
		return state.Secrecy{Attributes: spec.SecretAttrs, Props: spec.SecretProps, Derives: random.Derives(kind)}
	}
}

func secretRotate(o *session.Opener, c *cli.Context) error {
	s, secrets, err := openSecrets(o, c, 0)
	if err != nil || s == nil {
		return err
	}
	line := rotateLine{secretLine: secretLineOf(s, c, secrets.Path), Number: s.Engine.Key.Number()}
	if !c.Bool("list-exposed") {
		line.Run = project.NewRun()
		o.Interrupts.Lasting()
		rotation := rotation(s, c, line.Run)
		for _, file := range c.StringSlice("copy") {
			saved, err := savedCopy(c.Context, o, s.Stage, file)
			if err != nil {
				return err
			}
			rotation.Copies = append(rotation.Copies, saved)
		}
		result, err := rotate.Run(c.Context, rotation)
		if err != nil {
			return hintRotation(err)
		}
		line.Key, line.Number, line.Resumed = result.Key, result.Number, result.Resumed
		line.Rows, line.Sealed, line.Copies = result.Rows, result.Secrets, result.Copies
		line.Left, line.Kept, line.Scraps, line.ScrapsIn = result.Left, result.Kept, len(result.Scraps) > 0, result.Scraps
	}
	if line.Exposed, err = rotate.Exposed(c.Context, rotation(s, c, "")); err != nil {
		return err
	}
	if o.AsJSON {
		line.Exposed = append([]string{}, line.Exposed...)
		o.JSON(line)
		return nil
	}
	saidRotated(o, s.Stage, seal.KeyPath(project.KeySources(c.Context, s.Stage, s.Dir)), line)
	return nil
}

// savedCopy is an exported document whose sealed parts are to be sealed again.
func savedCopy(ctx context.Context, o *session.Opener, stage statestore.Stage, file string) (rotate.Copy, error) {
	data, err := readDocument(ctx, o, file)
	if err != nil {
		return rotate.Copy{}, fmt.Errorf("--copy: %w", err)
	}
	doc, err := engine.ReadExport(data)
	if err != nil {
		return rotate.Copy{}, fmt.Errorf("--copy %s: %w", file, err)
	}
	if doc.Stack != stage.Stack || doc.Stage != stage.Name {
		return rotate.Copy{}, fmt.Errorf("--copy %s: it is of %s/%s, not of %s", file, doc.Stack, doc.Stage, stage)
	}
	save := func(snap *statestore.Snapshot) error {
		data, err := json.MarshalIndent(doc.SealedAgain(snap), "", " ")
		if err != nil {
			return err
		}
		return files.WritePrivate(file, append(data, '\n'))
	}
	return rotate.Copy{Name: file, Snapshot: doc.SealedState(), Save: save}, nil
}

func saidRotated(o *session.Opener, stage statestore.Stage, ring string, line rotateLine) {
	if line.Run != "" {
		fmt.Fprintf(o.Err, "%s: key %s (number %d) seals %s and %s; check in %s\n", stage, line.Key, line.Number,
			render.Plural(line.Rows, "entry", "entries"), render.Plural(line.Sealed, "secret", "secrets"), o.Place(ring))
		if line.Copies > 0 {
			fmt.Fprintf(o.Err, "sealed again: %s\n", render.Plural(line.Copies, "saved copy", "saved copies"))
		}
		for _, part := range line.ScrapsIn {
			fmt.Fprintf(o.Err, "what the old key sealed may still be in %s\n", part)
		}
		if len(line.Kept) > 0 {
			fmt.Fprintf(o.Err, "generated values derive from %s, which stays in the ring\n", strings.Join(line.Kept, ", "))
		}
	}
	for _, where := range line.Exposed {
		fmt.Fprintln(o.Out, where)
	}
	switch {
	case len(line.Exposed) > 0:
		o.Style(o.Err).Hints(o.Err, []string{
			"an older key could open these: change each at its service, generated ones by raising version",
		})
	case line.Run == "":
		fmt.Fprintln(o.Err, "no secret is known that an older key could open")
	}
}

// hintRotation says how a rotation that did not end goes on.
func hintRotation(err error) error {
	switch {
	case errors.Is(err, rotate.ErrUnreadable):
		return cli.Hint(err, "nothing was changed; athanor state check names what is damaged")
	case errors.Is(err, seal.ErrWrapping):
		return cli.Hint(err, "bring it, or choose others with athanor secret rewrap")
	}
	return err
}

func recipientsCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "recipients", Usage: "list who can open a stage's key", ArgsUsage: "[TARGET]",
		Description: `Reads the wrapped key next to the program, or the one in the store when that is newer. Everybody who could open
an older key still has what it opened.`,
		UsageText: "secret recipients --stage prod\nsecret recipients --json",
		Flags:     project.StageFlags(), Before: untrusted.Reads, Action: func(c *cli.Context) error { return secretRecipients(o, c) },
	}
}

// recipientsLine is what secret recipients prints with --json.
type recipientsLine struct {
	secretLine
	Number     uint64           `json:"number"`
	Recipients []seal.Recipient `json:"recipients"`
}

func secretRecipients(o *session.Opener, c *cli.Context) error {
	s, _, err := openSecrets(o, c, 0)
	if err != nil || s == nil {
		return err
	}
	snap, err := s.Project.Store.Load(c.Context, s.Stage)
	if err != nil {
		return err
	}
	place := project.KeySources(c.Context, s.Stage, s.Dir)
	place.Stored = snap.Meta[keeper.RingFact]
	who, err := place.Recipients()
	if err != nil {
		return err
	}
	key := s.Engine.Key
	line := recipientsLine{
		secretLine: secretLineOf(s, c, seal.KeyPath(place)), Number: key.Number(), Recipients: append([]seal.Recipient{}, who...),
	}
	line.From, line.Alone = key.Origin().Text, key.Origin().Alone
	if o.WroteJSON(line) {
		return nil
	}
	for _, r := range who {
		fmt.Fprintf(o.Out, "%s\n", strings.TrimSpace(fmt.Sprintf("%-10s  %s", r.By, r.To)))
	}
	if len(who) == 0 {
		fmt.Fprintf(o.Err, "%s: the key has no recipient; it comes from %s\n", s.Stage, line.From)
	}
	fmt.Fprintf(o.Err, "key %s (number %d), opened here from %s\n", line.Key, line.Number, line.From)
	return nil
}
