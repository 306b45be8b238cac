// Package tfhttp answers the http backend of Terraform and OpenTofu: one state under one address, with locking.
//
// A state is a stage of the store, named tofu:STACK and STAGE. A lock is a run of it that holds the lease until it is given
// back: these tools do not renew a lock, so that it has no end of its own, and who locked is shown to the next.
package tfhttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/service/foreign"
	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Prefix begins the stack of a stage that is a state of these tools.
const Prefix = "tofu:"

type backend struct {
	service *service.Service
	states  *foreign.States
	store   statestore.Folders
}

// Mount adds the protocol to a service, under /tf/STACK/STAGE. The master key wraps the keys of the states.
func Mount(s *service.Service, master foreign.Master) {
	b := &backend{s, foreign.New(s, master, "tofu:state"), s.Store()}
	s.Mount("/tf/{stack}/{stage}", http.HandlerFunc(b.answer))
	s.Explain(Prefix, b.notes)
}

// notes say who holds the lock of a state. These tools do not renew a lock: that of a process which has ended stays.
func (b *backend) notes(ctx context.Context, stage statestore.Stage) ([]page.Note, error) {
	snap, err := b.store.Load(ctx, stage)
	if err != nil || snap.Holder == nil {
		return nil, err
	}
	info, err := b.lockInfo(ctx, stage, *snap.Holder)
	return []page.Note{{
		Title: "Locked by " + info.Who + " since " + snap.Holder.Since.UTC().Format("2 Jan 2006 15:04 MST") + ".",
		Detail: info.Operation + ". A lock that its process did not give back stays until somebody who knows that it has ended takes it away, " +
			"in a checkout of the configuration:",
		Commands: []string{"tofu force-unlock " + safeID(info.ID)},
	}}, err
}

// safeID is an id that people can copy into a shell.
func safeID(id string) string {
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' {
			return "LOCK_ID"
		}
	}
	return id
}

// lockInfo is what these tools send with a lock, and show to the user who finds it.
type lockInfo struct {
	ID        string    `json:"ID"`
	Operation string    `json:"Operation"`
	Info      string    `json:"Info"`
	Who       string    `json:"Who"`
	Version   string    `json:"Version"`
	Created   time.Time `json:"Created"`
	Path      string    `json:"Path"`
}

// call is one request whose caller is known.
type call struct {
	*http.Request
	by    *service.Caller
	stage statestore.Stage
	body  []byte
}

// lockedError carries the lock that is in the way.
type lockedError struct{ info lockInfo }

func (e *lockedError) Error() string { return "the state is locked by " + e.info.Who }

func (b *backend) answer(w http.ResponseWriter, r *http.Request) {
	document, err := b.do(w, r)
	if locked, ok := errors.AsType[*lockedError](err); ok {
		data, _ := json.Marshal(locked.info) // it has texts alone
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(data) // a client that went away asks again
		return
	}
	if err != nil {
		b.fail(w, r, err)
		return
	}
	if document == nil && r.Method == http.MethodGet {
		w.WriteHeader(http.StatusNoContent) // there is no state yet
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
}

func (b *backend) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := wire.FromError(err)
	if p == nil {
		p = wire.NewProblem(http.StatusInternalServerError, "internal", "the service failed", "")
	}
	switch {
	case p.Status >= http.StatusInternalServerError:
		b.service.Report(r, err)
	case p.Status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Basic realm="athanor"`)
	}
	data, _ := json.Marshal(p) // it has texts and numbers alone
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(data)
}

// do does what the method asks for. The token is the password of the request; its user name is not read.
func (b *backend) do(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	_, secret, _ := r.BasicAuth()
	by, err := b.service.Admit(r, secret, false)
	if err != nil {
		return nil, err
	}
	c := &call{Request: r, by: by}
	stack, err := wire.Name(r.PathValue("stack"))
	if err == nil {
		c.stage.Stack = Prefix + stack
		c.stage.Name, err = wire.Name(r.PathValue("stage"))
	}
	if err != nil {
		return nil, &statestore.InvalidError{Rule: err.Error()}
	}
	// A state has secrets in clear: reading it needs the role that could change what it describes.
	if err := by.Require("deployer", c.stage); err != nil {
		return nil, err
	}
	if c.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBody)); err != nil {
		return nil, wire.NewProblem(http.StatusRequestEntityTooLarge, wire.CodeTooLarge, "the body is too large", "")
	}
	switch r.Method {
	case http.MethodGet:
		state, err := b.states.Load(r.Context(), c.stage)
		if err != nil {
			return nil, err
		}
		return state.Document, nil
	case http.MethodPost:
		if !json.Valid(c.body) {
			return nil, &statestore.InvalidError{Rule: "a state is JSON"}
		}
		return nil, b.write(c, c.body)
	case http.MethodDelete:
		return nil, b.write(c, nil)
	case "LOCK":
		return nil, b.lock(c)
	case "UNLOCK":
		return nil, b.unlock(c)
	}
	return nil, wire.NewProblem(http.StatusMethodNotAllowed, wire.CodeNotFound, "the address does not take this method", "")
}

// claim is what a lock asks the store for.
func (c *call) claim(run, operation string) statestore.Claim {
	host, _, err := net.SplitHostPort(c.RemoteAddr)
	if err != nil {
		host = c.RemoteAddr
	}
	return statestore.Claim{
		Run: run, Command: "tofu " + operation, User: "tofu (" + c.by.Account() + ")", TTL: foreign.NeverRenewed,
		For: &statestore.Client{Host: host},
	}
}

// lock takes the lease for a lock. The same lock may be taken again, when its answer was lost.
func (b *backend) lock(c *call) error {
	info, err := c.lockOf()
	if err != nil {
		return err
	}
	if info.ID == "" {
		return &statestore.InvalidError{Rule: "a lock has an ID"}
	}
	if _, err := b.states.Acquire(c.Context(), c.stage, c.claim(info.ID, info.Operation)); err != nil {
		return b.locked(c, err)
	}
	note, err := json.Marshal(info)
	if err == nil {
		err = b.store.ChangeFolder(c.Context(), locksFolder, func(f statestore.Folder) (bool, error) {
			return true, f.Put(c.stage.String(), note)
		})
	}
	if err != nil {
		return err
	}
	return b.audit(c, "run.start", info.ID, "tofu "+info.Operation)
}

// locksFolder holds what was sent with the newest lock of each state, to be shown.
const locksFolder = "service.tofu.locks"

func (c *call) lockOf() (info lockInfo, err error) {
	if len(c.body) > 0 {
		err = json.Unmarshal(c.body, &info)
	}
	if err != nil {
		err = &statestore.InvalidError{Rule: "the lock cannot be read: " + err.Error()}
	}
	return info, err
}

// locked turns the error of a held lease into the lock that these tools show.
func (b *backend) locked(c *call, err error) error {
	held, ok := errors.AsType[*statestore.HeldError](err)
	if !ok {
		return err
	}
	info, reading := b.lockInfo(c.Context(), c.stage, held.Holder)
	return errors.Join(&lockedError{info}, reading)
}

// lockInfo is what is known of the lock of a holder.
func (b *backend) lockInfo(ctx context.Context, stage statestore.Stage, holder statestore.Holder) (lockInfo, error) {
	info := lockInfo{ID: holder.Run, Operation: holder.Command, Who: holder.User, Created: holder.Since}
	err := b.store.ReadFolder(ctx, locksFolder, func(f statestore.Folder) error {
		data, err := f.Get(stage.String())
		var sent lockInfo
		if err == nil && data != nil && json.Unmarshal(data, &sent) == nil && sent.ID == info.ID {
			info = sent
		}
		return err
	})
	return info, err
}

// unlock gives the lease of a lock back. Without a lock in its body it is force-unlock, which takes any lock away.
func (b *backend) unlock(c *call) error {
	info, err := c.lockOf()
	if err != nil {
		return err
	}
	state, err := b.store.Load(c.Context(), c.stage)
	if err != nil {
		return err
	}
	if state.Holder == nil {
		return nil // it was given back, and the answer was lost
	}
	if info.ID != "" && info.ID == state.Holder.Run {
		lease := statestore.Lease{Stage: c.stage, Run: info.ID, Epoch: state.Epoch}
		if _, err := b.states.Commit(c.Context(), lease, statestore.Batch{Finish: statestore.Succeeded}); err != nil {
			return err
		}
		return b.audit(c, "run.complete", info.ID, "")
	}
	if info.ID != "" {
		return b.locked(c, &statestore.HeldError{Stage: c.stage, Holder: *state.Holder})
	}
	order := statestore.Order{Unlock: true, Run: state.Holder.Run, Who: c.by.Account(), Why: "force-unlock", ID: "force-unlock " + state.Holder.Run}
	if _, err := b.store.Interrupt(c.Context(), c.stage, order); err != nil {
		return err
	}
	return b.audit(c, "run.unlock", state.Holder.Run, "force-unlock")
}

// write replaces the state: under the lock that the request names, or under a lease of its own.
func (b *backend) write(c *call, document []byte) error {
	id := c.URL.Query().Get("ID")
	if id == "" {
		run := foreign.NewID()
		_, err := b.states.Once(c.Context(), c.stage, c.claim(run, "state"), func(state *foreign.State) (statestore.Batch, error) {
			return b.states.Put(c.Context(), c.stage, state, nil, document)
		})
		if err != nil {
			return b.locked(c, err)
		}
		return b.audit(c, "run.complete", run, "tofu state")
	}
	for {
		state, err := b.states.Load(c.Context(), c.stage)
		if err != nil {
			return err
		}
		batch, err := b.states.Put(c.Context(), c.stage, state, nil, document)
		if err != nil {
			return err
		}
		lease := statestore.Lease{Stage: c.stage, Run: id, Epoch: state.Epoch}
		if _, err := b.states.Commit(c.Context(), lease, batch); !errors.Is(err, statestore.ErrConflict) {
			return err
		}
	}
}

func (b *backend) audit(c *call, action, run, detail string) error {
	return b.service.Audit(c.Context(), c.by, action, c.stage, run, detail, action+" "+c.stage.String()+" "+run)
}
