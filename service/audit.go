package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// What the audit log has entries of.
const (
	auditStart    = "run.start"
	auditComplete = "run.complete"
	auditCancel   = "run.cancel"
	auditUnlock   = "run.unlock"
	auditOrphan   = "run.orphaned"
	auditCreate   = "token.create"
	auditRevoke   = "token.revoke"
)

// auditFolder holds the entries of a stack, a chain of its own; those of no stack are of the empty one.
func auditFolder(stack string) string { return "service.audit/" + wire.Segment(stack) }

// auditHead is the newest entry of a chain.
type auditHead struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

const auditHeadKey = "head"

// entryKey is the key of an entry. Its first digits are those of the chunk that is read at once.
func entryKey(seq uint64) string { return fmt.Sprintf("e%016x", seq) }

// chunk is how many entries have a common beginning of their keys.
const chunk = 256

// idKey is the key by which an entry is found that was written before.
func idKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "i" + hex.EncodeToString(sum[:16])
}

// audit appends an entry once.
func (s *Service) audit(ctx context.Context, id string, entry wire.AuditEntry) error {
	return appendAudit(ctx, s.store, s.settings.Clock(), id, entry)
}

// appendAudit appends an entry once: what is done again, because its answer was lost, has the same id and adds nothing.
func appendAudit(ctx context.Context, store statestore.Folders, now time.Time, id string, entry wire.AuditEntry) error {
	entry.At = now.UTC()
	return store.ChangeFolder(ctx, auditFolder(string(entry.Stack)), func(f statestore.Folder) (bool, error) {
		known, err := f.Get(idKey(id))
		if err != nil || known != nil {
			return false, err
		}
		var head auditHead
		document, err := f.Get(auditHeadKey)
		if err == nil && document != nil {
			err = json.Unmarshal(document, &head)
		}
		if err != nil {
			return false, err
		}
		entry.Seq, entry.Before = head.Seq+1, head.Hash
		entry.Hash = entry.Digest()
		for key, value := range map[string]any{
			entryKey(entry.Seq): entry, idKey(id): entry.Seq, auditHeadKey: auditHead{entry.Seq, entry.Hash},
		} {
			document, err := json.Marshal(value)
			if err != nil {
				return false, err
			}
			if err := f.Put(key, document); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// entry is what a request did.
func (s *Service) entry(in *request, action, detail string) wire.AuditEntry {
	return wire.AuditEntry{
		Author: s.author(in), Action: action, Stack: wire.Text(in.stage.Stack), Stage: wire.Text(in.stage.Name), Run: wire.Text(in.run), Detail: wire.Text(detail),
	}
}

// author is who sends a request.
func (s *Service) author(in *request) wire.Author {
	return wire.Author{Account: in.caller.account(), Token: in.caller.token.ID, From: remoteOf(in.Request, s.settings.Proxies)}
}

// mostEntries is how many entries one answer has at most.
const mostEntries = 1000

// listAudit gives the entries of a chain behind a cursor.
func (s *Service) listAudit(in *request) (any, error) {
	after, err := in.whole("after")
	if err != nil {
		return nil, err
	}
	return s.auditPage(in.Context(), in.stage.Stack, after, mostEntries)
}

// auditPage reads at most so many entries of the chain of a stack behind a cursor.
func (s *Service) auditPage(ctx context.Context, stack string, after uint64, most int) (wire.Audit, error) {
	answer := wire.Audit{}
	err := s.store.ReadFolder(ctx, auditFolder(stack), func(f statestore.Folder) error {
		answer = wire.Audit{Entries: []wire.AuditEntry{}}
		var head auditHead
		document, err := f.Get(auditHeadKey)
		if err == nil && document != nil {
			err = json.Unmarshal(document, &head)
		}
		if err != nil {
			return err
		}
		for seq := after + 1; seq <= head.Seq && len(answer.Entries) < most; seq = (seq/chunk + 1) * chunk {
			prefix := entryKey(seq)
			for _, document := range f.Documents(prefix[:len(prefix)-2], prefix) {
				var entry wire.AuditEntry
				if err := json.Unmarshal(document, &entry); err != nil {
					entry = wire.AuditEntry{Action: "damaged"}
				}
				answer.Entries = append(answer.Entries, entry)
			}
		}
		answer.Last = head.Seq
		return nil
	})
	answer.Entries = answer.Entries[:min(len(answer.Entries), most)]
	return answer, err
}

// collected notes the end of an orphaned run, which no caller asked for.
func (s *Service) collected(ctx context.Context, stage statestore.Stage) error {
	runs, err := s.store.Runs(ctx, stage, 1)
	if err != nil || len(runs) == 0 {
		return err
	}
	return s.audit(ctx, "orphan "+runs[0].ID+" "+stage.Name, wire.AuditEntry{
		Author: wire.Author{Account: "athanor serve"}, Action: auditOrphan, Stack: wire.Text(stage.Stack), Stage: wire.Text(stage.Name),
		Run: wire.Text(runs[0].ID), Detail: wire.Text("its lease ended " + s.settings.Orphaned.Round(time.Second).String() + " ago or more"),
	})
}
