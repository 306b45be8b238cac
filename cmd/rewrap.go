package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/statestore/seal"
)

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
