package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

func (a *app) auditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", Usage: "list the audit log of a service, and prove that nothing in it was changed", ArgsUsage: "[STACK]",
		Description: `Who started, ended, cancelled and unlocked runs of STACK, from where; without STACK, who created and revoked tokens.
It needs the role admin.

Each entry holds the hash of the one before, and all of them are checked. The last line names the newest entry and its
hash: keep it elsewhere, and --expect proves later that the log still contains it, so that an end that was cut off is
noticed too.`,
		UsageText: `audit shop --store https://athanor.example
audit shop --expect 4711:3f9a0c…        fails unless that entry is still there`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "store", EnvVars: []string{cli.StoreVariable}, Usage: "the log of the service `URL`"},
			&cli.StringFlag{Name: "expect", Usage: "fail unless the entry `SEQ:HASH` is in the log"},
			cli.JSONFlag(),
		},
		Action: a.audit,
	}
}

func (a *app) audit(c *cli.Context) error {
	seq, hash, err := expected(c.String("expect"))
	if err != nil {
		return err
	}
	p, err := openProject(".", c.String("store"))
	if err != nil {
		return err
	}
	a.store = p.store
	store, ok := p.store.(*remote.Store)
	if !ok {
		return hint(fmt.Errorf("--store %s: only a service has an audit log", redactURL(c.String("store"))), "--store https://HOST")
	}
	var chain wire.Chain
	found := seq == 0
	err = store.Audit(c.Context, c.Args().First(), func(entry wire.AuditEntry) error {
		if err := chain.Next(&entry); err != nil {
			return err
		}
		found = found || entry.Seq == seq && entry.Hash == hash
		if a.asJSON {
			a.json(entry)
		} else {
			fmt.Fprintln(a.out, auditText(entry))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the audit log was changed, or cannot be read: %w", err)
	}
	if !found {
		return fmt.Errorf("the audit log was changed: entry %d with the hash %s is not in it", seq, hash)
	}
	if chain.Seq > 0 {
		fmt.Fprintf(a.err, "%d entries, unchanged; the newest is %d:%s\n", chain.Seq, chain.Seq, chain.Hash)
	}
	return nil
}

// expected reads SEQ:HASH.
func expected(text string) (seq uint64, hash string, err error) {
	if text == "" {
		return 0, "", nil
	}
	number, hash, ok := strings.Cut(text, ":")
	seq, err = strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || seq == 0 || len(hash) != 64 {
		return 0, "", hint(fmt.Errorf("--expect %s: it is SEQ:HASH", text), "`athanor audit` prints it in its last line")
	}
	return seq, hash, nil
}

// auditText is an entry in one line.
func auditText(e wire.AuditEntry) string {
	parts := []string{e.At.Format(time.RFC3339), e.Account, e.Action}
	for _, part := range []string{string(e.Stage), string(e.Run), string(e.Detail)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if e.From != "" {
		parts = append(parts, "from "+e.From)
	}
	return strings.Join(parts, "  ")
}
