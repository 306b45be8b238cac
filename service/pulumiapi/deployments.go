package pulumiapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/athanor-dev/athanor/service/foreign"
	"github.com/athanor-dev/athanor/statestore"
)

// versionUse is the use of a sealed old version.
const versionUse = "pulumi version"

// head is what is kept with a deployment: by which request of which update it was written.
type head struct {
	Update string `json:"update"`
	Seq    int    `json:"seq"`
}

// empty is the deployment of a stack that has never been updated.
const empty = `{"version":3,"deployment":{"manifest":{"time":"0001-01-01T00:00:00Z","magic":"","version":""},"metadata":{}}}`

// resources counts the resources of a deployment.
func resources(document []byte) int {
	var doc struct {
		Deployment struct {
			Resources []json.RawMessage `json:"resources"`
		} `json:"deployment"`
	}
	_ = json.Unmarshal(document, &doc) // it was checked when it was written
	return len(doc.Deployment.Resources)
}

// checkDeployment refuses what is no deployment.
func checkDeployment(document []byte) error {
	var doc struct {
		Version    int             `json:"version"`
		Deployment json.RawMessage `json:"deployment"`
	}
	if err := json.Unmarshal(document, &doc); err != nil || doc.Version == 0 {
		return refuse(http.StatusBadRequest, "Bad Request: the body is no deployment")
	}
	if first := bytes.TrimSpace(doc.Deployment); len(first) == 0 || first[0] != '{' {
		return refuse(http.StatusBadRequest, "Bad Request: the deployment is empty")
	}
	return nil
}

// export gives the state, of the newest or of an old version.
func (a *API) export(c *call) (any, error) {
	stack, err := a.readStack(c.Context(), c.id)
	if err != nil {
		return nil, err
	}
	document := []byte(empty)
	if wanted := c.PathValue("version"); wanted != "" && wanted != strconv.Itoa(stack.Version) {
		document, err = a.oldVersion(c.Context(), c.id, wanted)
	} else if state, loading := a.states.Load(c.Context(), c.id.stage()); loading != nil {
		err = loading
	} else if state.Document != nil {
		document = state.Document
	}
	return json.RawMessage(document), err
}

func (a *API) oldVersion(ctx context.Context, id stackID, text string) ([]byte, error) {
	version, err := strconv.Atoi(text)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "Bad Request: "+text+" is no version")
	}
	var sealed []byte
	err = a.store.ReadFolder(ctx, id.updatesFolder(), func(f statestore.Folder) (err error) {
		sealed, err = f.Get(versionKey(version))
		return err
	})
	if err != nil {
		return nil, err
	}
	if sealed == nil {
		return nil, refuse(http.StatusNotFound, "Not Found: the state of version "+text+" is not kept")
	}
	return a.states.Open(ctx, id.stage(), versionUse, sealed)
}

// importState replaces the state under a lease of its own.
func (a *API) importState(c *call) (any, error) {
	var document json.RawMessage
	if err := decode(c, &document); err != nil {
		return nil, err
	}
	update, err := a.replace(c, document)
	return map[string]any{"updateId": update}, err
}

// replace makes a document the state of a stack, as an update of its own.
func (a *API) replace(c *call, document []byte) (update string, err error) {
	if err := checkDeployment(document); err != nil {
		return "", err
	}
	if _, err := a.readStack(c.Context(), c.id); err != nil {
		return "", err
	}
	now := a.service.Now().UTC()
	doc := updateDocument{ID: foreign.NewID(), Kind: "import", Token: c.by.TokenID(), Created: now}
	c.update = doc.ID
	err = a.store.ChangeFolder(c.Context(), c.id.updatesFolder(), func(f statestore.Folder) (bool, error) {
		return true, put(f, updatePrefix+doc.ID, doc)
	})
	if err != nil {
		return "", err
	}
	lease, err := a.states.Once(c.Context(), c.id.stage(), a.claim(c, doc.ID, "import"), func(state *foreign.State) (statestore.Batch, error) {
		return a.batch(c.Context(), c.id, state, head{doc.ID, 1}, document)
	})
	if err != nil {
		return "", err
	}
	_, err = a.begun(c, &doc, nil, func(doc *updateDocument) { doc.Epoch, doc.Started = lease.Epoch, now })
	if err == nil {
		err = a.ended(c, succeeded)
	}
	if err == nil {
		err = a.audit(c.Context(), c, "pulumi.import", doc.ID, "", doc.ID)
	}
	return doc.ID, err
}

func (a *API) batch(ctx context.Context, id stackID, over *foreign.State, by head, document []byte) (statestore.Batch, error) {
	about, err := json.Marshal(by)
	if err != nil {
		return statestore.Batch{}, err
	}
	return a.states.Put(ctx, id.stage(), over, about, document)
}

// change is a checkpoint that a request writes.
type change struct {
	// seq is its number within the update; 0: the request has none.
	seq int
	// from computes the document from the one before.
	from func(before []byte) ([]byte, error)
	// hash is the digest of the document, where the request says it.
	hash string
}

// save writes a checkpoint. A write of another request of the same update that came in between is the base of the next try.
func (a *API) save(c *call, next change) error {
	doc, err := a.running(c)
	if err != nil {
		return err
	}
	if doc.DryRun {
		return refuse(http.StatusForbidden, "Forbidden: a preview writes no state")
	}
	for {
		batch, err := a.replacement(c, doc, next)
		if err != nil {
			return err
		}
		if _, err = a.states.Commit(c.Context(), c.lease(doc), batch); !errors.Is(err, statestore.ErrConflict) {
			return err
		}
	}
}

// replacement is the batch that writes a checkpoint over the one that is stored. A checkpoint that is stored already, whose
// answer was lost, only renews the lease, so that the token is checked like that of any other write.
func (a *API) replacement(c *call, doc *updateDocument, next change) (statestore.Batch, error) {
	state, err := a.states.Load(c.Context(), c.id.stage())
	if err != nil {
		return statestore.Batch{}, err
	}
	var before head
	if state.Head != nil {
		if err := json.Unmarshal(state.Head, &before); err != nil {
			return statestore.Batch{}, err
		}
	}
	if before.Update != doc.ID {
		before = head{Update: doc.ID}
	}
	if next.seq > 0 && next.seq <= before.Seq {
		if next.seq < before.Seq || !next.gave(state.Document) {
			return statestore.Batch{}, refuse(http.StatusConflict, "Conflict: a newer checkpoint was written")
		}
		return statestore.Batch{Renew: true}, nil
	}
	document, err := next.from(state.Document)
	if err == nil {
		err = checkDeployment(document)
	}
	if err != nil {
		return statestore.Batch{}, err
	}
	before.Seq = max(next.seq, before.Seq+1)
	return a.batch(c.Context(), c.id, state, before, document)
}

// gave reports whether a stored document is what the change writes.
func (n *change) gave(stored []byte) bool {
	if n.hash != "" {
		sum := sha256.Sum256(stored)
		return hex.EncodeToString(sum[:]) == n.hash
	}
	document, err := n.from(nil)
	return err == nil && bytes.Equal(document, stored)
}

func (a *API) checkpoint(c *call) (any, error) {
	var body struct {
		IsInvalid  bool            `json:"isInvalid"`
		Version    int             `json:"version"`
		Features   []string        `json:"features"`
		Deployment json.RawMessage `json:"deployment"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	if body.IsInvalid {
		return nil, refuse(http.StatusBadRequest, "Bad Request: athanor keeps the last valid checkpoint")
	}
	document, err := json.Marshal(struct {
		Version    int             `json:"version"`
		Features   []string        `json:"features,omitempty"`
		Deployment json.RawMessage `json:"deployment"`
	}{body.Version, body.Features, body.Deployment})
	if err != nil {
		return nil, err
	}
	return nil, a.save(c, change{from: func([]byte) ([]byte, error) { return document, nil }})
}

// checkpointVerbatim keeps the bytes as they are: differences are of bytes.
func (a *API) checkpointVerbatim(c *call) (any, error) {
	var body struct {
		UntypedDeployment json.RawMessage `json:"untypedDeployment"`
		SequenceNumber    int             `json:"sequenceNumber"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	return nil, a.save(c, change{
		seq: body.SequenceNumber, from: func([]byte) ([]byte, error) { return body.UntypedDeployment, nil },
	})
}

// edit replaces the bytes between two offsets.
type edit struct {
	Span struct {
		Start struct {
			Offset int `json:"offset"`
		} `json:"start"`
		End struct {
			Offset int `json:"offset"`
		} `json:"end"`
	} `json:"Span"`
	NewText string `json:"NewText"`
}

func (a *API) checkpointDelta(c *call) (any, error) {
	var body struct {
		CheckpointHash  string          `json:"checkpointHash"`
		SequenceNumber  int             `json:"sequenceNumber"`
		DeploymentDelta json.RawMessage `json:"deploymentDelta"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	var edits []edit
	if err := json.Unmarshal(body.DeploymentDelta, &edits); err != nil {
		return nil, refuse(http.StatusBadRequest, "Bad Request: "+err.Error())
	}
	return nil, a.save(c, change{seq: body.SequenceNumber, hash: body.CheckpointHash, from: func(before []byte) ([]byte, error) {
		after, err := apply(before, edits)
		if err != nil {
			return nil, err
		}
		if sum := sha256.Sum256(after); hex.EncodeToString(sum[:]) != body.CheckpointHash {
			return nil, refuse(http.StatusBadRequest, "Bad Request: the difference does not give the checkpoint that the hash is of")
		}
		return after, nil
	}})
}

// apply applies edits, which are in order and of the text before.
func apply(before []byte, edits []edit) ([]byte, error) {
	var after bytes.Buffer
	at := 0
	for _, e := range edits {
		from, to := e.Span.Start.Offset, e.Span.End.Offset
		if from < at || to < from || to > len(before) {
			return nil, refuse(http.StatusBadRequest, "Bad Request: the difference is not of the checkpoint before")
		}
		after.Write(before[at:from])
		after.WriteString(e.NewText)
		at = to
	}
	after.Write(before[at:])
	return after.Bytes(), nil
}
