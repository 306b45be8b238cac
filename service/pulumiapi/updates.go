package pulumiapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/service/foreign"
	"github.com/athanor-dev/athanor/statestore"
)

// updateDocument is what is kept of an update beside the run that it is.
type updateDocument struct {
	ID          string            `json:"id"`
	Kind        string            `json:"kind"`
	DryRun      bool              `json:"dryRun,omitzero"` // it writes no state and holds no lease
	Token       string            `json:"token"`           // the API token that created it
	Message     string            `json:"message,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Config      json.RawMessage   `json:"config,omitempty"`
	Created     time.Time         `json:"created"`
	Started     time.Time         `json:"started,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Version     int               `json:"version,omitzero"`
	Epoch       uint64            `json:"epoch,omitzero"`
	Hash        []byte            `json:"hash,omitempty"`    // of the update token
	Expires     time.Time         `json:"expires,omitzero"`  // of a dry run, which has no lease
	Result      string            `json:"result,omitempty"`  // how it ended
	Changes     map[string]int    `json:"changes,omitempty"` // by operation
	Resources   int               `json:"resources,omitzero"`
}

const (
	command        = "pulumi "
	keptUpdates    = 200
	keptVersions   = 20
	unstarted      = time.Hour
	updatePrefix   = "u"
	deployedPrefix = "v"
)

func versionKey(version int) string { return fmt.Sprintf(deployedPrefix+"%08x", version) }

// claim is what an update asks the store for.
func (a *API) claim(c *call, run, kind string) statestore.Claim {
	host, _, err := net.SplitHostPort(c.RemoteAddr)
	if err != nil {
		host = c.RemoteAddr
	}
	return statestore.Claim{
		Run: run, Command: command + kind, User: "pulumi (" + c.by.Account() + ")", TTL: a.life, For: &statestore.Client{Host: host},
	}
}

// create notes an update that has not started. It holds nothing; one that would have to wait is refused now, and whether it
// may start is decided when it does.
func (a *API) create(kind string) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var body struct {
			Options struct {
				DryRun bool `json:"dryRun"`
			} `json:"options"`
			Config   json.RawMessage `json:"config"`
			Metadata struct {
				Message     string            `json:"message"`
				Environment map[string]string `json:"environment"`
			} `json:"metadata"`
		}
		if err := decode(c, &body); err != nil {
			return nil, err
		}
		if _, err := a.readStack(c.Context(), c.id); err != nil {
			return nil, err
		}
		now := a.service.Now().UTC()
		doc := updateDocument{
			ID: foreign.NewID(), Kind: kind, DryRun: kind == "preview" || body.Options.DryRun, Token: c.by.TokenID(), Created: now,
			Message: body.Metadata.Message, Environment: body.Metadata.Environment, Config: body.Config,
		}
		if !doc.DryRun {
			holder, err := a.holder(c.Context(), c.id)
			if err == nil && holder != nil {
				err = &statestore.HeldError{Stage: c.id.stage(), Holder: *holder}
			}
			if err != nil {
				return nil, err
			}
		}
		err := a.store.ChangeFolder(c.Context(), c.id.updatesFolder(), func(f statestore.Folder) (bool, error) {
			if err := prune(f, now); err != nil {
				return false, err
			}
			return true, put(f, updatePrefix+doc.ID, doc)
		})
		return map[string]any{"updateID": doc.ID}, err
	}
}

// prune drops the oldest updates and versions beyond those that are kept, and what never started.
func prune(f statestore.Folder, now time.Time) error {
	var updates []updateDocument
	var gone []string
	for key, data := range f.Documents(updatePrefix, "") {
		var doc updateDocument
		if json.Unmarshal(data, &doc) != nil || doc.Started.IsZero() && now.Sub(doc.Created) > unstarted {
			gone = append(gone, key)
		} else {
			updates = append(updates, doc)
		}
	}
	slices.SortFunc(updates, func(a, b updateDocument) int { return b.Created.Compare(a.Created) })
	for _, old := range updates[min(len(updates), keptUpdates):] {
		gone = append(gone, updatePrefix+old.ID)
	}
	var versions []string
	for key := range f.Documents(deployedPrefix, "") {
		versions = append(versions, key)
	}
	gone = append(gone, versions[:max(0, len(versions)-keptVersions)]...)
	return drop(f, gone)
}

func errNoUpdate() error { return refuse(http.StatusNotFound, "Not Found: there is no such update") }

// readUpdate reads what is kept of an update.
func (a *API) readUpdate(ctx context.Context, id stackID, update string) (*updateDocument, error) {
	var doc *updateDocument
	err := a.store.ReadFolder(ctx, id.updatesFolder(), func(f statestore.Folder) error {
		doc = new(updateDocument)
		found, err := get(f, updatePrefix+update, doc)
		if err == nil && !found {
			err = errNoUpdate()
		}
		return err
	})
	return doc, err
}

// changeUpdate changes what is kept of an update in one transaction.
func (a *API) changeUpdate(ctx context.Context, id stackID, update string, change func(statestore.Folder, *updateDocument) error) error {
	return a.store.ChangeFolder(ctx, id.updatesFolder(), func(f statestore.Folder) (bool, error) {
		doc := new(updateDocument)
		found, err := get(f, updatePrefix+update, doc)
		if err == nil && !found {
			err = errNoUpdate()
		}
		if err == nil {
			err = change(f, doc)
		}
		if err != nil {
			return false, err
		}
		return true, put(f, updatePrefix+update, doc)
	})
}

// start takes the lease for an update. Asked again with the same API token it answers the same.
func (a *API) start(c *call) (any, error) {
	var body struct {
		Tags map[string]string `json:"tags"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	doc, err := a.readUpdate(c.Context(), c.id, c.update)
	switch {
	case err != nil:
		return nil, err
	case doc.Token != c.by.TokenID():
		return nil, refuse(http.StatusForbidden, "Forbidden: the update is another token's")
	case doc.Result != "" || doc.Started.IsZero() && a.service.Now().Sub(doc.Created) > unstarted:
		return nil, refuse(http.StatusConflict, "Conflict: the update has ended")
	}
	// A reader of the store cannot compute it: the secret of the API token is not there.
	nonce := sha256.Sum256([]byte("athanor pulumi update " + c.update + " " + c.secret))
	token := c.by.RunToken(c.id.stage(), c.update, nonce[:])
	hash := sha256.Sum256([]byte(token))
	var lease statestore.Lease
	expires := a.service.Now().Add(a.life)
	if !doc.DryRun {
		if err := c.by.Require("deployer", c.id.stage()); err != nil {
			return nil, err
		}
		claim := a.claim(c, c.update, doc.Kind)
		claim.TokenHash = hash[:]
		if lease, err = a.states.Acquire(c.Context(), c.id.stage(), claim); err != nil {
			return nil, err
		}
		expires = lease.Expires
	}
	version, err := a.begun(c, doc, body.Tags, func(doc *updateDocument) {
		doc.Hash, doc.Epoch, doc.Expires, doc.Started = hash[:], lease.Epoch, expires, a.service.Now().UTC()
	})
	if err == nil {
		err = a.audit(c.Context(), c, "run.start", c.update, command+doc.Kind, c.update)
	}
	return map[string]any{"version": version, "token": token, "tokenExpiration": expires.Unix()}, err
}

// begun gives an update that has the lease its version, once, and returns it.
func (a *API) begun(c *call, doc *updateDocument, tags map[string]string, note func(*updateDocument)) (version int, err error) {
	err = a.changeStack(c.Context(), c.id, func(stack *stackDocument) {
		if version = stack.Version; !doc.DryRun && stack.LastUpdate != doc.ID {
			stack.Version++
			version, stack.LastUpdate, stack.LastTime = stack.Version, doc.ID, a.service.Now().Unix()
		}
		if tags != nil {
			stack.Tags = tags
		}
	})
	if err != nil {
		return 0, err
	}
	return version, a.changeUpdate(c.Context(), c.id, c.update, func(_ statestore.Folder, doc *updateDocument) error {
		if doc.Started.IsZero() {
			note(doc)
			doc.Version = version
		}
		return nil
	})
}

// lease is the right to write that the token of a request gives, if it is that of the update.
func (c *call) lease(doc *updateDocument) statestore.Lease {
	return statestore.Lease{Stage: c.id.stage(), Run: doc.ID, Epoch: doc.Epoch, Token: statestore.Token(c.secret)}
}

// running reads the update of a request with an update token. The store checks the token of an update that has a lease in
// the transaction that writes; a dry run writes nothing.
func (a *API) running(c *call) (*updateDocument, error) {
	doc, err := a.readUpdate(c.Context(), c.id, c.update)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(c.secret))
	if subtle.ConstantTimeCompare(hash[:], doc.Hash) != 1 {
		return nil, refuse(http.StatusForbidden, "Forbidden: the token is not that of the update")
	}
	if doc.DryRun && (doc.Result != "" || !a.service.Now().Before(doc.Expires)) {
		return nil, refuse(http.StatusForbidden, "Forbidden: the update has ended")
	}
	return doc, nil
}

func (a *API) renew(c *call) (any, error) {
	doc, err := a.running(c)
	if err != nil {
		return nil, err
	}
	expires := a.service.Now().Add(a.life)
	if doc.DryRun {
		err = a.changeUpdate(c.Context(), c.id, doc.ID, func(_ statestore.Folder, doc *updateDocument) error {
			doc.Expires = expires
			return nil
		})
	} else {
		var lease statestore.Lease
		lease, err = a.states.Commit(c.Context(), c.lease(doc), statestore.Batch{Renew: true})
		expires = lease.Expires
	}
	return map[string]any{"token": c.secret, "tokenExpiration": expires.Unix()}, err
}

// events appends events to the run. The store keeps the first of each number, so that a batch may be repeated. Those of a
// dry run are not kept.
func (a *API) events(c *call) (any, error) {
	var body struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	doc, err := a.running(c)
	if err != nil || doc.DryRun || len(body.Events) == 0 {
		return nil, err
	}
	var changes map[string]int
	batch := statestore.Batch{}
	for _, raw := range body.Events {
		var event struct {
			Sequence int `json:"sequence"`
			Summary  *struct {
				Changes map[string]int `json:"resourceChanges"`
			} `json:"summaryEvent"`
		}
		if err := json.Unmarshal(raw, &event); err != nil || event.Sequence < 0 {
			return nil, refuse(http.StatusBadRequest, "Bad Request: an event has no sequence")
		}
		if event.Summary != nil {
			changes = event.Summary.Changes
		}
		batch.Events = append(batch.Events, statestore.Event{Seq: uint64(event.Sequence) + 1, Body: raw})
	}
	if _, err = a.states.Commit(c.Context(), c.lease(doc), batch); err != nil || changes == nil {
		return nil, err
	}
	return nil, a.changeUpdate(c.Context(), c.id, doc.ID, func(_ statestore.Folder, doc *updateDocument) error {
		doc.Changes = changes
		return nil
	})
}

func (a *API) listEvents(c *call) (any, error) {
	after, _ := strconv.ParseUint(c.URL.Query().Get("continuationToken"), 10, 64)
	events, err := a.store.Events(c.Context(), c.id.stage(), c.update, after, 1000)
	if err != nil {
		return nil, err
	}
	bodies := make([]json.RawMessage, 0, len(events))
	for _, event := range events {
		bodies, after = append(bodies, event.Body), event.Seq
	}
	answer := map[string]any{"events": bodies}
	if doc, err := a.readUpdate(c.Context(), c.id, c.update); err != nil {
		return nil, err
	} else if result, err := a.result(c, doc); err != nil {
		return nil, err
	} else if len(events) > 0 || result == running {
		answer["continuationToken"] = strconv.FormatUint(after, 10)
	}
	return answer, nil
}

// The states of an update.
const (
	notStarted = "not started"
	running    = "running"
	succeeded  = "succeeded"
	failed     = "failed"
	cancelled  = "cancelled"
)

// result says how far an update is. One whose end was committed and not noted has the state of its run.
func (a *API) result(c *call, doc *updateDocument) (string, error) {
	switch {
	case doc.Result != "":
		return doc.Result, nil
	case doc.Started.IsZero():
		return notStarted, nil
	case doc.DryRun && a.service.Now().Before(doc.Expires):
		return running, nil
	case doc.DryRun:
		return failed, nil
	}
	runs, err := a.store.Runs(c.Context(), c.id.stage(), 0)
	for _, run := range runs {
		if run.ID == doc.ID {
			return map[statestore.RunState]string{
				statestore.Running: running, statestore.Succeeded: succeeded, statestore.Failed: failed, statestore.Cancelled: cancelled,
				statestore.Lost: cancelled,
			}[run.State], err
		}
	}
	return failed, err
}

func (a *API) status(c *call) (any, error) {
	doc, err := a.readUpdate(c.Context(), c.id, c.update)
	if err != nil {
		return nil, err
	}
	result, err := a.result(c, doc)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{"status": result, "events": []any{}}
	if result == running || result == notStarted {
		answer["continuationToken"] = "0"
	}
	return answer, nil
}

// complete ends an update. The command may repeat it, and then reads the same.
func (a *API) complete(c *call) (any, error) {
	var body struct {
		Status string `json:"status"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	state, ok := map[string]statestore.RunState{
		succeeded: statestore.Succeeded, failed: statestore.Failed, cancelled: statestore.Cancelled,
	}[body.Status]
	if !ok {
		return nil, refuse(http.StatusBadRequest, "Bad Request: an update cannot end as "+body.Status)
	}
	doc, err := a.readUpdate(c.Context(), c.id, c.update)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(c.secret))
	if same := subtle.ConstantTimeCompare(hash[:], doc.Hash) == 1; same && doc.Result == body.Status {
		return nil, nil
	}
	if doc, err = a.running(c); err != nil {
		return nil, err
	}
	if !doc.DryRun {
		if _, err := a.states.Commit(c.Context(), c.lease(doc), statestore.Batch{Finish: state}); err != nil {
			return nil, err
		}
	}
	if err := a.ended(c, body.Status); err != nil {
		return nil, err
	}
	return nil, a.audit(c.Context(), c, "run.complete", c.update, body.Status, c.update)
}

// ended notes the end of an update, with the state that it left.
func (a *API) ended(c *call, result string) error {
	var sealed []byte
	count := 0
	doc, err := a.readUpdate(c.Context(), c.id, c.update)
	if err != nil {
		return err
	}
	if !doc.DryRun {
		state, err := a.states.Load(c.Context(), c.id.stage())
		if err != nil {
			return err
		}
		if state.Document != nil {
			if sealed, err = a.states.Seal(c.Context(), c.id.stage(), versionUse, state.Document); err != nil {
				return err
			}
			count = resources(state.Document)
		}
	}
	err = a.changeUpdate(c.Context(), c.id, c.update, func(f statestore.Folder, doc *updateDocument) error {
		if doc.Result == "" {
			doc.Result, doc.Ended, doc.Resources = result, a.service.Now().UTC(), count
		}
		if sealed == nil {
			return nil
		}
		return f.Put(versionKey(doc.Version), sealed)
	})
	if err != nil || doc.DryRun {
		return err
	}
	return a.changeStack(c.Context(), c.id, func(stack *stackDocument) {
		if stack.LastUpdate == doc.ID {
			stack.Resources = count
		}
	})
}

// cancel ends an update at once: its token is good for nothing from then on. It may be repeated.
func (a *API) cancel(c *call) (any, error) {
	doc, err := a.readUpdate(c.Context(), c.id, c.update)
	if err != nil {
		return nil, err
	}
	switch {
	case doc.Result == cancelled:
		return nil, nil
	case doc.Result != "":
		return nil, refuse(http.StatusConflict, "Conflict: The Update has already completed")
	case !doc.DryRun && !doc.Started.IsZero():
		done, err := a.store.Interrupt(c.Context(), c.id.stage(), statestore.Order{
			Unlock: true, Run: doc.ID, Who: c.by.Account(), Why: "pulumi cancel", ID: "pulumi cancel " + doc.ID,
		})
		if err != nil {
			return nil, err
		}
		if !done { // its lease ended, or its end was not noted
			result, err := a.result(c, doc)
			if err != nil || result == running {
				return nil, err
			}
			return nil, a.ended(c, result)
		}
	}
	if err := a.ended(c, cancelled); err != nil {
		return nil, err
	}
	return nil, a.audit(c.Context(), c, "run.cancel", c.update, "pulumi cancel", c.update)
}

// updateInfo is an update in the history.
type updateInfo struct {
	Kind            string            `json:"kind"`
	StartTime       int64             `json:"startTime"`
	Message         string            `json:"message"`
	Environment     map[string]string `json:"environment"`
	Config          json.RawMessage   `json:"config,omitempty"`
	Result          string            `json:"result"`
	EndTime         int64             `json:"endTime"`
	Version         int               `json:"version"`
	ResourceChanges map[string]int    `json:"resourceChanges,omitempty"`
	ResourceCount   int               `json:"resourceCount,omitempty"`
}

// listUpdates lists the updates of a stack that had the lease, the newest first. An update is newer when its version is.
func (a *API) listUpdates(c *call) ([]updateInfo, error) {
	if _, err := a.readStack(c.Context(), c.id); err != nil {
		return nil, err
	}
	var docs []updateDocument
	err := a.store.ReadFolder(c.Context(), c.id.updatesFolder(), func(f statestore.Folder) error {
		docs = nil
		for _, data := range f.Documents(updatePrefix, "") {
			var doc updateDocument
			if err := json.Unmarshal(data, &doc); err != nil {
				return &statestore.DamagedError{Stage: c.id.stage(), Err: fmt.Errorf("an update: %w", err)}
			}
			if !doc.DryRun && !doc.Started.IsZero() {
				docs = append(docs, doc)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(docs, func(a, b updateDocument) int { return b.Version - a.Version })
	infos := make([]updateInfo, 0, len(docs))
	for i := range docs {
		doc := &docs[i]
		result, err := a.result(c, doc)
		if err != nil {
			return nil, err
		}
		infos = append(infos, updateInfo{
			Kind: doc.Kind, StartTime: doc.Started.Unix(), Message: doc.Message, Environment: doc.Environment, Config: doc.Config,
			Result: historyResult(result), EndTime: doc.Ended.Unix(), Version: doc.Version, ResourceChanges: doc.Changes,
			ResourceCount: doc.Resources,
		})
	}
	return infos, nil
}

// historyResult writes a state as the history does, which knows no cancelled updates.
func historyResult(result string) string {
	switch result {
	case running:
		return "in-progress"
	case cancelled:
		return failed
	}
	return result
}

func (a *API) history(c *call) (any, error) {
	infos, err := a.listUpdates(c)
	if err != nil {
		return nil, err
	}
	query := c.URL.Query()
	size, _ := strconv.Atoi(query.Get("pageSize"))
	page, _ := strconv.Atoi(query.Get("page"))
	if size > 0 {
		from := min(max(page-1, 0)*size, len(infos))
		infos = infos[from:min(from+size, len(infos))]
	}
	return map[string]any{"updates": infos}, nil
}

func (a *API) version(c *call) (any, error) {
	infos, err := a.listUpdates(c)
	if err != nil {
		return nil, err
	}
	wanted := c.PathValue("version")
	for _, info := range infos {
		if wanted == "latest" || wanted == strconv.Itoa(info.Version) {
			return map[string]any{"info": info}, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "Not Found: there is no such version")
}
