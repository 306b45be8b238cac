package pulumiapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/service/foreign"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// stackDocument is what is kept of a stack beside its state.
type stackDocument struct {
	Created    time.Time         `json:"created"`
	Tags       map[string]string `json:"tags,omitempty"`
	Config     json.RawMessage   `json:"config,omitempty"`
	Version    int               `json:"version"`
	LastUpdate string            `json:"lastUpdate,omitempty"` // the id of the newest update that started
	LastTime   int64             `json:"lastTime,omitempty"`
	Resources  int               `json:"resources"`
}

// stacksFolder holds the stacks by their ids.
const stacksFolder = "service.pulumi"

// updatesFolder holds the updates and old versions of a stack.
func (id stackID) updatesFolder() string {
	return stacksFolder + "/" + wire.Segment(id.Org) + "/" + wire.Segment(id.Project) + "/" + wire.Segment(id.Stack)
}

// get reads a document of a folder; false when there is none.
func get(f statestore.Folder, key string, into any) (bool, error) {
	data, err := f.Get(key)
	if err != nil || data == nil {
		return false, err
	}
	return true, json.Unmarshal(data, into)
}

func put(f statestore.Folder, key string, document any) error {
	data, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return f.Put(key, data)
}

// readStack reads what is kept of a stack.
func (a *API) readStack(ctx context.Context, id stackID) (*stackDocument, error) {
	var doc *stackDocument
	err := a.store.ReadFolder(ctx, stacksFolder, func(f statestore.Folder) error {
		doc = new(stackDocument)
		found, err := get(f, id.key(), doc)
		if err == nil && !found {
			err = errNoStack()
		}
		return err
	})
	return doc, err
}

// changeStack changes what is kept of a stack in one transaction.
func (a *API) changeStack(ctx context.Context, id stackID, change func(*stackDocument)) error {
	return a.store.ChangeFolder(ctx, stacksFolder, func(f statestore.Folder) (bool, error) {
		doc := new(stackDocument)
		found, err := get(f, id.key(), doc)
		if err != nil || !found {
			return false, orNoStack(err)
		}
		change(doc)
		return true, put(f, id.key(), doc)
	})
}

func orNoStack(err error) error {
	if err == nil {
		return errNoStack()
	}
	return err
}

// stackSummary is a stack in a list.
type stackSummary struct {
	ID            string `json:"id"`
	OrgName       string `json:"orgName"`
	ProjectName   string `json:"projectName"`
	StackName     string `json:"stackName"`
	LastUpdate    *int64 `json:"lastUpdate,omitempty"`
	ResourceCount *int   `json:"resourceCount,omitempty"`
}

// listStacks lists the stacks that the caller may read.
func (a *API) listStacks(c *call) (any, error) {
	query := c.URL.Query()
	stacks := []stackSummary{}
	err := a.store.ReadFolder(c.Context(), stacksFolder, func(f statestore.Folder) error {
		stacks = stacks[:0]
		for key, data := range f.Documents("", "") {
			var doc stackDocument
			id := parseKey(key)
			if err := json.Unmarshal(data, &doc); err != nil {
				return &statestore.DamagedError{Stage: id.stage(), Err: fmt.Errorf("the document of the stack: %w", err)}
			}
			tag, named := doc.Tags[query.Get("tagName")]
			switch {
			case c.by.Require("reader", id.stage()) != nil,
				query.Has("organization") && query.Get("organization") != id.Org,
				query.Has("project") && query.Get("project") != id.Project,
				query.Has("tagName") && !named,
				query.Has("tagValue") && query.Get("tagValue") != tag:
				continue
			}
			one := stackSummary{ID: key, OrgName: id.Org, ProjectName: id.Project, StackName: id.Stack, ResourceCount: &doc.Resources}
			if doc.LastTime != 0 {
				one.LastUpdate = &doc.LastTime
			}
			stacks = append(stacks, one)
		}
		return nil
	})
	return map[string]any{"stacks": stacks}, err
}

func parseKey(key string) stackID {
	parts := append(strings.SplitN(key, "/", 3), "", "")
	return stackID{parts[0], parts[1], parts[2]}
}

func (a *API) projectExists(c *call) (any, error) {
	found := false
	err := a.store.ReadFolder(c.Context(), stacksFolder, func(f statestore.Folder) error {
		for key := range f.Documents(c.id.Org+"/"+c.id.Project+"/", "") {
			found = found || c.by.Require("reader", parseKey(key).stage()) == nil
		}
		return nil
	})
	if err == nil && !found {
		err = refuse(http.StatusNotFound, "Not Found: there is no such project")
	}
	return nil, err
}

func (a *API) createStack(c *call) (any, error) {
	var body struct {
		StackName string            `json:"stackName"`
		Tags      map[string]string `json:"tags"`
		State     json.RawMessage   `json:"state"`
		Config    json.RawMessage   `json:"config"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	c.id.Stack = body.StackName
	if !validName().MatchString(c.id.Stack) {
		return nil, refuse(http.StatusBadRequest, "Bad Request: "+c.id.Stack+" is not a valid name")
	}
	if err := c.by.Require("deployer", c.id.stage()); err != nil {
		return nil, err
	}
	doc := stackDocument{Created: a.service.Now().UTC(), Tags: body.Tags, Config: body.Config}
	err := a.store.ChangeFolder(c.Context(), stacksFolder, func(f statestore.Folder) (bool, error) {
		found, err := get(f, c.id.key(), new(stackDocument))
		if err == nil && found {
			err = refuse(http.StatusConflict, "Conflict: stack "+c.id.key()+" already exists")
		}
		if err != nil {
			return false, err
		}
		return true, put(f, c.id.key(), doc)
	})
	if err == nil && len(body.State) > 0 && string(body.State) != "null" {
		_, err = a.replace(c, body.State)
	}
	if err == nil {
		err = a.audit(c.Context(), c, "pulumi.stack.create", "", "", doc.Created.String())
	}
	return nil, err
}

// getStack describes a stack, with the update that is running.
func (a *API) getStack(c *call) (any, error) {
	doc, err := a.readStack(c.Context(), c.id)
	if err != nil {
		return nil, err
	}
	holder, err := a.holder(c.Context(), c.id)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{
		"id": c.id.key(), "orgName": c.id.Org, "projectName": c.id.Project, "stackName": c.id.Stack, "activeUpdate": doc.LastUpdate,
		"tags": doc.Tags, "version": doc.Version,
	}
	if len(doc.Config) > 0 {
		answer["config"] = doc.Config
	}
	if holder != nil {
		answer["currentOperation"] = map[string]any{
			"kind": strings.TrimPrefix(holder.Command, command), "author": holder.User, "started": holder.Since.Unix(),
		}
	}
	return answer, nil
}

// holder returns the run that holds a stack, nil when there is none.
func (a *API) holder(ctx context.Context, id stackID) (*statestore.Holder, error) {
	snap, err := a.store.Load(ctx, id.stage())
	if err != nil {
		return nil, err
	}
	return snap.Holder, nil
}

func (a *API) setTags(c *call) (any, error) {
	var tags map[string]string
	if err := decode(c, &tags); err != nil {
		return nil, err
	}
	return nil, a.changeStack(c.Context(), c.id, func(doc *stackDocument) { doc.Tags = tags })
}

// deleteStack deletes a stack and its state, under a lease. One that has resources is kept unless that is forced.
func (a *API) deleteStack(c *call) (any, error) {
	if _, err := a.readStack(c.Context(), c.id); err != nil {
		return nil, err
	}
	forced := c.URL.Query().Get("force") == "true"
	_, err := a.states.Once(c.Context(), c.id.stage(), a.claim(c, foreign.NewID(), "stack rm"), func(state *foreign.State) (statestore.Batch, error) {
		if n := resources(state.Document); n > 0 && !forced {
			return statestore.Batch{}, refuse(http.StatusBadRequest, "Bad Request: Stack still contains resources.")
		}
		return a.states.Put(c.Context(), c.id.stage(), state, nil, nil)
	})
	if err != nil {
		return nil, err
	}
	var created time.Time
	err = a.store.ChangeFolder(c.Context(), stacksFolder, func(f statestore.Folder) (bool, error) {
		var doc stackDocument
		found, err := get(f, c.id.key(), &doc)
		if err != nil || !found {
			return false, err
		}
		created = doc.Created
		return true, f.Delete(c.id.key())
	})
	if err == nil {
		err = a.store.ChangeFolder(c.Context(), c.id.updatesFolder(), func(f statestore.Folder) (bool, error) {
			return true, drop(f, slices.Collect(maps.Keys(maps.Collect(f.Documents("", "")))))
		})
	}
	if err == nil {
		err = a.audit(c.Context(), c, "pulumi.stack.delete", "", "", created.String())
	}
	return nil, err
}

func drop(f statestore.Folder, keys []string) error {
	for _, key := range keys {
		if err := f.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// secretUse is the use of values that the command has encrypted.
const secretUse = "pulumi secret"

func (a *API) encrypt(c *call) (any, error) {
	var body struct {
		Plaintext []byte `json:"plaintext"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	sealed, err := a.sealAll(c, [][]byte{body.Plaintext})
	if err != nil {
		return nil, err
	}
	return map[string]any{"ciphertext": sealed[0]}, nil
}

func (a *API) batchEncrypt(c *call) (any, error) {
	var body struct {
		Plaintexts [][]byte `json:"plaintexts"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	sealed, err := a.sealAll(c, body.Plaintexts)
	return map[string]any{"ciphertexts": sealed}, err
}

func (a *API) sealAll(c *call, values [][]byte) ([][]byte, error) {
	if _, err := a.readStack(c.Context(), c.id); err != nil {
		return nil, err
	}
	out := make([][]byte, 0, len(values))
	for _, value := range values {
		sealed, err := a.states.Seal(c.Context(), c.id.stage(), secretUse, value)
		if err != nil {
			return nil, err
		}
		out = append(out, sealed)
	}
	return out, nil
}

func (a *API) decrypt(c *call) (any, error) {
	var body struct {
		Ciphertext []byte `json:"ciphertext"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	plain, err := a.openAll(c, [][]byte{body.Ciphertext})
	if err != nil {
		return nil, err
	}
	return map[string]any{"plaintext": plain[0]}, nil
}

// batchDecrypt answers by the text of each ciphertext, as the command looks them up.
func (a *API) batchDecrypt(c *call) (any, error) {
	var body struct {
		Ciphertexts [][]byte `json:"ciphertexts"`
	}
	if err := decode(c, &body); err != nil {
		return nil, err
	}
	plain, err := a.openAll(c, body.Ciphertexts)
	if err != nil {
		return nil, err
	}
	answer := map[string][]byte{}
	for i, sealed := range body.Ciphertexts {
		answer[base64.StdEncoding.EncodeToString(sealed)] = plain[i]
	}
	return map[string]any{"plaintexts": answer}, nil
}

// openAll decrypts values and notes that in the audit log before they are answered.
func (a *API) openAll(c *call, values [][]byte) ([][]byte, error) {
	out := make([][]byte, 0, len(values))
	for _, sealed := range values {
		plain, err := a.states.Open(c.Context(), c.id.stage(), secretUse, sealed)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "Bad Request: the value was not encrypted for this stack")
		}
		out = append(out, plain)
	}
	return out, a.audit(c.Context(), c, "pulumi.decrypt", "", fmt.Sprintf("%d values", len(values)), foreign.NewID())
}
