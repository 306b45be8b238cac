package account

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Audit is the command audit.
func Audit(t *terminal.Terminal) *cli.Command {
	return &cli.Command{
		Name: "audit", Usage: "list the audit log of a service, and prove that nothing in it was changed", ArgsUsage: "[STACK]",
		Description: `Who started, ended, cancelled and unlocked runs of STACK, from where; without STACK, who created and revoked tokens.
It needs the role admin.

Each entry holds the hash of the one before, and all of them are checked. The last line names the newest entry and its
hash: keep it elsewhere, and --expect proves later that the log still contains it, so that an end that was cut off is
noticed too. Where the service signs the log (serve --audit-key), the signature is checked, and --key says whose it must be.

--out FILE exports: it adds to FILE what came since the last time, after both were checked, and fails when the log
of the service does not continue FILE. FILE goes back further than the log where the service drops old entries.`,
		UsageText: `audit shop --store https://athanor.example
audit shop --expect 4711:3f9a0c…        fails unless that entry is still there
audit shop --out shop.jsonl             from a schedule: only what is new is read`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "store", EnvVars: []string{cli.StoreVariable}, Usage: "the log of the service `URL`"},
			&cli.StringFlag{Name: "expect", Usage: "fail unless the entry `SEQ:HASH` is in the log"},
			&cli.StringFlag{Name: "key", Usage: "fail unless the log is signed with `KEY`, which serve prints (ed25519:…)"},
			&cli.StringFlag{Name: "out", Usage: "add what is new to `FILE`, in lines of JSON, instead of listing it"},
			cli.JSONFlag(),
		},
		Action: func(c *cli.Context) error { return audit(t, c) },
	}
}

func audit(t *terminal.Terminal, c *cli.Context) (err error) {
	if c.NArg() > 1 {
		return cli.Hint(fmt.Errorf("unexpected argument %q", c.Args().Get(1)), "one STACK at most")
	}
	known, err := expected(c.String("expect"))
	if err != nil {
		return err
	}
	p, err := project.Open(".", c.String("store"))
	if err != nil {
		return err
	}
	defer p.Close(&err)
	store, err := project.Service(p.Store, c.String("store"), "has an audit log")
	if err != nil {
		return err
	}
	read := auditReading{stack: c.Args().First(), expect: known, each: func(entry *wire.AuditEntry) error {
		if t.AsJSON {
			t.JSON(entry)
		} else {
			fmt.Fprintln(t.Out, auditText(entry))
		}
		return nil
	}}
	if path := c.String("out"); path != "" {
		err = export(c.Context, store, &read, path)
	} else {
		err = read.from(c.Context, store)
	}
	if err != nil {
		return err
	}
	signed := ""
	if seal := read.chain.Signed; seal != nil {
		signed = ", signed with " + seal.Key
		if seal.Seq < read.chain.Seq {
			signed += fmt.Sprintf(" up to entry %d", seal.Seq)
		}
	}
	if key := c.String("key"); key != "" && read.chain.Seq > 0 && (read.chain.Signed == nil || read.chain.Signed.Key != key) {
		return fmt.Errorf("the audit log is not signed with %s%s", key, strings.Replace(signed, ", signed", ", but", 1))
	}
	if read.count == 0 && !t.AsJSON && c.String("out") == "" {
		what := "the audit log of the service"
		if read.stack != "" {
			what = "the audit log of " + read.stack
		}
		fmt.Fprintf(t.Err, "%s is empty\nnext:  athanor stage list --store %s\n", what, project.Redacted(c.String("store")))
	}
	if read.chain.Seq > 0 {
		fmt.Fprintf(t.Err, "%d entries, unchanged; the newest is %v%s\n", read.count, read.chain.AuditMark, signed)
	}
	return nil
}

// auditReading reads the log of a stack and checks it.
type auditReading struct {
	stack  string
	expect wire.AuditMark
	each   func(*wire.AuditEntry) error

	chain wire.Chain
	count int
}

// take checks the next entry.
func (r *auditReading) take(entry *wire.AuditEntry) error {
	if err := r.chain.Next(entry); err != nil {
		return err
	}
	r.count++
	if r.chain.AuditMark == r.expect {
		r.expect = wire.AuditMark{}
	}
	return nil
}

// changedError says that the log is not what it was.
type changedError struct{ error }

func (e changedError) Unwrap() error { return e.error }

// auditError says of what reading the log came to that the log was changed, or that it cannot be read.
func auditError(err error) error {
	if _, changed := errors.AsType[changedError](err); changed {
		return fmt.Errorf("the audit log was changed: %w", err)
	}
	return fmt.Errorf("the audit log cannot be read: %w", err)
}

// from reads what the service has behind the entries that were taken. An error says that the log was changed, or cannot be read.
func (r *auditReading) from(ctx context.Context, store *remote.Store) error {
	known := r.chain.AuditMark
	var writing error
	err := store.AuditPages(ctx, r.stack, known.Seq, func(page *wire.Audit) error {
		if page.Last < known.Seq {
			return changedError{fmt.Errorf("it ends with entry %d, and had %d", page.Last, known.Seq)}
		}
		if err := r.chain.Page(r.stack, page); err != nil {
			return changedError{err}
		}
		for i := range page.Entries {
			if err := r.take(&page.Entries[i]); err != nil {
				return changedError{err}
			}
			if writing = r.each(&page.Entries[i]); writing != nil {
				return writing
			}
		}
		return nil
	})
	if writing != nil {
		return writing
	}
	if err != nil {
		return auditError(err)
	}
	if err := r.chain.End(); err != nil {
		return auditError(changedError{err})
	}
	if r.expect.Seq > 0 {
		return fmt.Errorf("the audit log was changed: entry %d with the hash %s is not in it", r.expect.Seq, r.expect.Hash)
	}
	return nil
}

// export checks the entries in a file, and adds those that came since. The last entry of the file must still be in the log, unless
// it is too old to be kept. A line that was cut when an earlier export was is written again.
func export(ctx context.Context, store *remote.Store, r *auditReading, path string) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	whole, newest, err := r.exported(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if newest != nil {
		if err := stillThere(ctx, store, r.stack, newest); err != nil {
			return auditError(err)
		}
	}
	if err := file.Truncate(whole); err != nil {
		return err
	}
	if _, err := file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	var added bytes.Buffer // written when all of it was checked
	r.each = func(entry *wire.AuditEntry) error {
		line, err := json.Marshal(entry)
		added.Write(append(render.SafeJSON(line), '\n'))
		return err
	}
	if err := r.from(ctx, store); err != nil {
		return err
	}
	if _, err := file.Write(added.Bytes()); err != nil {
		return err
	}
	return file.Sync()
}

// exported takes the entries of a file, and returns how many bytes their lines have, and the newest one.
func (r *auditReading) exported(file io.Reader) (whole int64, newest *wire.AuditEntry, err error) {
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, newest, nil
		}
		if err != nil {
			return 0, nil, err
		}
		var entry wire.AuditEntry
		if err := json.Unmarshal(line, &entry); err != nil {
			return 0, nil, fmt.Errorf("it is no export of an audit log: %w", err)
		}
		if string(entry.Stack) != r.stack {
			return 0, nil, fmt.Errorf("it has the log of %q", entry.Stack)
		}
		if newest == nil && entry.Seq > 1 { // what was before was not kept when the export began
			r.chain.AuditMark = wire.AuditMark{Seq: entry.Seq - 1, Hash: entry.Before}
		}
		if err := r.take(&entry); err != nil {
			return 0, nil, err
		}
		whole, newest = whole+int64(len(line)), &entry
	}
}

// stillThere returns an error unless the log has an entry that it had.
func stillThere(ctx context.Context, store *remote.Store, stack string, entry *wire.AuditEntry) error {
	enough := errors.New("enough")
	err := store.AuditPages(ctx, stack, entry.Seq-1, func(page *wire.Audit) error {
		switch {
		case page.Dropped.Seq > entry.Seq, page.Dropped == wire.AuditMark{Seq: entry.Seq, Hash: entry.Hash}: // what follows is checked by its hash
		case len(page.Entries) == 0:
			return changedError{fmt.Errorf("it ends with entry %d, and had %d", page.Last, entry.Seq)}
		case page.Entries[0].Seq != entry.Seq || page.Entries[0].Hash != entry.Hash:
			return changedError{fmt.Errorf("entry %d is another one", entry.Seq)}
		}
		return enough
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

// expected reads SEQ:HASH.
func expected(text string) (wire.AuditMark, error) {
	if text == "" {
		return wire.AuditMark{}, nil
	}
	number, hash, ok := strings.Cut(text, ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || seq == 0 || len(hash) != 64 {
		return wire.AuditMark{}, cli.Hint(fmt.Errorf("--expect %s: it is SEQ:HASH", text), "`athanor audit` prints it in its last line")
	}
	return wire.AuditMark{Seq: seq, Hash: hash}, nil
}

// auditText is an entry in one line.
func auditText(e *wire.AuditEntry) string {
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

// AuditKeys reads the keys that sign the audit log.
func AuditKeys(files []string) ([]ed25519.PrivateKey, error) {
	var keys []ed25519.PrivateKey
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, cli.Hint(fmt.Errorf("--audit-key: %w", err), "openssl genpkey -algorithm ed25519 -out FILE makes a key; every replica needs the same one")
		}
		var parsed any
		if block, _ := pem.Decode(data); block != nil {
			parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		}
		key, ok := parsed.(ed25519.PrivateKey)
		if err != nil || !ok {
			return nil, cli.Hint(fmt.Errorf("--audit-key %s: it has no Ed25519 key in PEM", path), "openssl genpkey -algorithm ed25519 -out FILE")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// PublicText is what audit --key takes.
func PublicText(key ed25519.PrivateKey) string {
	public, _ := key.Public().(ed25519.PublicKey) // it is always one
	return wire.KeyText(public)
}
