package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/statestore/seal"
)

func secretCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "secret", Usage: "seal secrets next to the program, and choose who can open them",
		Description: `A secret that a program declares as sealed (sealed: true, in Go Sealed()) is in STACK.STAGE.secrets.json next to
the program, encrypted with the key of the stage. Check the file in; each stage has its own. rewrap chooses who
can open the key: at first only this machine, or everybody who knows $ATHANOR_PASSPHRASE.`,
		Subcommands: []*cli.Command{
			secretSetCommand(o),
			{
				Name: "list", Usage: "list the sealed secrets of a stage, and where its key is", ArgsUsage: "[TARGET]",
				Description: "Names only. Whether the key at hand opens them is said too.",
				UsageText:   "secret list\nsecret list ./shop --stage prod --json",
				Flags:       project.StageFlags(), Before: untrusted.Reads, Action: func(c *cli.Context) error { return secretList(o, c) },
			},
			{
				Name: "rm", Usage: "remove a sealed secret", ArgsUsage: "NAME [TARGET]",
				Description: "It stays in what was checked in before: a secret that must not be known any more is changed where it is used.",
				UsageText:   "secret rm apiKey --stage prod",
				Flags:       project.StageFlags(), Action: func(c *cli.Context) error { return secretRemove(o, c) },
			},
			rewrapCommand(o), rotateCommand(o), recipientsCommand(o),
		},
	}
}

func secretSetCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "set", Usage: "seal a secret", ArgsUsage: "NAME [TARGET]",
		Description: `The value is asked for without showing it, or read from standard input, where one trailing newline is cut. It is
never an argument, since others can see those.`,
		UsageText: `secret set apiKey                     asks for the value
secret set apiKey --stage prod < key.txt
pass show shop/api | athanor secret set apiKey ./shop`,
		Flags: project.StageFlags(), Action: func(c *cli.Context) error { return secretSet(o, c) },
	}
}

// secretLine is what the commands on secrets print with --json.
type secretLine struct {
	Type  string `json:"type"` // "set", "rm", "list", "rewrap"
	Stack string `json:"stack"`
	Stage string `json:"stage"`
	Name  string `json:"name,omitempty"`
	// File was written, or is the one that was read.
	File string `json:"file"`
	// Key is the id of the stage key.
	Key string `json:"key"`
	// From is where the key came from; Alone, that a file of this machine is all that there is of it.
	From    string   `json:"from,omitempty"`
	Alone   bool     `json:"alone,omitempty"`
	Secrets []string `json:"secrets,omitempty"`
	// Unopened are the secrets that the key at hand does not open.
	Unopened []string `json:"unopened,omitempty"`
}

func secretLineOf(s *session.Session, c *cli.Context, file string) secretLine {
	return secretLine{Type: c.Command.Name, Stack: s.Stage.Stack, Stage: s.Stage.Name, File: s.Opener.Place(file), Key: s.Engine.Key.ID()}
}

// openSecrets opens the stage of a command on secrets, and the secrets.
func openSecrets(o *session.Opener, c *cli.Context, names int) (*session.Session, *seal.Secrets, error) {
	s, err := o.OpenRecord(c, names)
	if err != nil || s == nil {
		return nil, nil, err
	}
	if c.Command.Name != "rotate" || c.Bool("list-exposed") {
		s.Unsalted()
	}
	secrets, err := project.KeyPlace(c.Context, s.Stage, s.Dir).Secrets()
	return s, secrets, err
}

func secretSet(o *session.Opener, c *cli.Context) error {
	name := c.Args().First()
	if name == "" {
		return cli.Hint(errors.New("secret set: which secret?"), "athanor secret set NAME")
	}
	if err := athanor.CheckName(name); err != nil {
		return fmt.Errorf("secret %s: %w", name, err)
	}
	s, secrets, err := openSecrets(o, c, 1)
	if err != nil || s == nil {
		return err
	}
	value, err := o.ReadSecret(c.Context, "secret", fmt.Sprintf("%s for %s: ", name, s.Stage))
	if err != nil {
		return err
	}
	if err := secrets.Set(s.Engine.Key, name, value); err != nil {
		return err
	}
	line := secretLineOf(s, c, secrets.Path)
	line.Name = name
	return sayDone(o, line, fmt.Sprintf("%s: sealed %s in %s", s.Stage, name, line.File))
}

// sayDone prints what was done: a line of text, or of JSON.
func sayDone(o *session.Opener, line secretLine, text string) error {
	if o.AsJSON {
		o.JSON(line)
	} else {
		fmt.Fprintln(o.Out, text)
	}
	return nil
}

func secretRemove(o *session.Opener, c *cli.Context) error {
	name := c.Args().First()
	if name == "" {
		return cli.Hint(errors.New("secret rm: which secret?"), "`athanor secret list` lists them")
	}
	s, secrets, err := openSecrets(o, c, 1)
	if err != nil || s == nil {
		return err
	}
	err = secrets.Remove(name)
	if errors.Is(err, seal.ErrNoSecret) {
		err = cli.HintNearest(fmt.Errorf("%s has no sealed secret %s", s.Stage, name), name, secrets.Names(), "`athanor secret list` lists them")
	}
	if err != nil {
		return err
	}
	line := secretLineOf(s, c, secrets.Path)
	line.Name = name
	return sayDone(o, line, fmt.Sprintf("%s: removed %s from %s", s.Stage, name, line.File))
}

func secretList(o *session.Opener, c *cli.Context) error {
	s, secrets, err := openSecrets(o, c, 0)
	if err != nil || s == nil {
		return err
	}
	key := s.Engine.Key
	line := secretLineOf(s, c, secrets.Path)
	line.From, line.Alone, line.Secrets = key.Origin().Text, key.Origin().Alone, secrets.Names()
	for _, name := range line.Secrets {
		if _, err := secrets.Get(key, name); err != nil {
			line.Unopened = append(line.Unopened, name)
		}
	}
	if o.WroteJSON(line) {
		return nil
	}
	for _, name := range line.Secrets {
		fmt.Fprintln(o.Out, name)
	}
	if len(line.Secrets) == 0 {
		fmt.Fprintf(o.Err, "%s: no secret is sealed\n", s.Stage)
	}
	fmt.Fprintf(o.Err, "key %s, from %s\n", line.Key, line.From)
	if line.Alone {
		o.Style(o.Err).Hints(o.Err, []string{"only this machine has it; athanor secret rewrap gives it to others, or to a backup"})
	}
	if len(line.Unopened) > 0 {
		return fmt.Errorf("this key does not open %s", strings.Join(line.Unopened, ", "))
	}
	return nil
}

func rewrapCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "rewrap", Usage: "choose who can open a stage's key", ArgsUsage: "[TARGET]",
		Description: `Writes STACK.STAGE.key.json next to the program, with the key wrapped for the recipients that you name, in place
of the earlier ones; check it in. Each recipient can open it. The key itself stays the same, because values were
sealed with it and derived from it: everybody who had the key still has it (see rotate).

It is opened with an age identity ($ATHANOR_AGE_IDENTITY: a file or the identity itself; else age.txt in
athanor's configuration folder), a passphrase ($ATHANOR_PASSPHRASE), a key file ($ATHANOR_KEY_FILE, else
key in the configuration folder), or AWS credentials that may use the KMS key (kms:Encrypt to wrap, kms:Decrypt
to open). Its region and account are those of the ARN.`,
		UsageText: `secret rewrap --recipient age1ql3z… --recipient age1lggy…
secret rewrap --recipient awskms:arn:aws:kms:eu-west-1:123456789012:key/4f1c…
secret rewrap --stage prod --passphrase
secret rewrap --key-file /media/backup/athanor.key`,
		Flags: project.StageFlags(
			&cli.StringSliceFlag{Name: "recipient", Usage: "wrap it for age recipient or KMS key `AGE1…|awskms:ARN`; may be repeated"},
			&cli.BoolFlag{Name: "passphrase", Usage: "wrap it with a passphrase, which is asked for, or read from standard input"},
			&cli.StringFlag{Name: "key-file", Usage: "wrap it with key file `PATH`, which is created if it does not exist"}),
		Action: func(c *cli.Context) error { return rewrapKey(o, c) },
	}
}

func rewrapKey(o *session.Opener, c *cli.Context) error {
	w := seal.Wrapping{Recipients: c.StringSlice("recipient")}
	if len(w.Recipients) == 0 && !c.Bool("passphrase") && c.String("key-file") == "" {
		return cli.Hint(errors.New("secret rewrap: for whom?"), "--recipient age1…, --recipient awskms:ARN, --passphrase or --key-file PATH")
	}
	if file := c.String("key-file"); file != "" {
		w.KeyFile = files.Absolute(file)
	}
	s, err := o.OpenRecord(c, 0)
	if err != nil || s == nil {
		return err
	}
	if c.Bool("passphrase") {
		w.Passphrase, err = o.ReadSecret(c.Context, "passphrase", fmt.Sprintf("new passphrase for %s: ", s.Stage), "once more: ")
		if err != nil {
			return err
		}
	}
	path, err := s.Engine.Key.Wrap(project.KeySources(c.Context, s.Stage, s.Dir), w)
	if err != nil {
		return err
	}
	line := secretLineOf(s, c, path)
	return sayDone(o, line, fmt.Sprintf("%s: key %s is wrapped for %s in %s; check it in", s.Stage, line.Key, forWhom(w), line.File))
}

func forWhom(w seal.Wrapping) string {
	var all []string
	all = append(all, w.Recipients...)
	if w.Passphrase != "" {
		all = append(all, "a passphrase")
	}
	if w.KeyFile != "" {
		all = append(all, w.KeyFile)
	}
	return strings.Join(all, ", ")
}
