package pulumiapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
)

// mostNamed is how many pending operations a note names.
const mostNamed = 20

// notes say which operations an update that was cut has left pending: whether they happened is not known. They are in state
// until the command has asked the cloud.
func (a *API) notes(ctx context.Context, stage statestore.Stage) ([]page.Note, error) {
	state, err := a.states.Load(ctx, stage)
	if err != nil || state.Document == nil || state.Holder != nil {
		return nil, err // an update at work has operations that are pending
	}
	var doc struct {
		Deployment struct {
			Pending []struct {
				Type     string `json:"type"`
				Resource struct {
					URN string `json:"urn"`
				} `json:"resource"`
			} `json:"pending_operations"`
		} `json:"deployment"`
	}
	if err := json.Unmarshal(state.Document, &doc); err != nil || len(doc.Deployment.Pending) == 0 {
		return nil, err
	}
	pending := doc.Deployment.Pending
	operations := "operations are"
	if len(pending) == 1 {
		operations = "operation is"
	}
	note := page.Note{
		Title: fmt.Sprintf("%d %s pending.", len(pending), operations),
		Detail: "An update was cut before the cloud had answered. refresh asks the cloud, and asks you about each resource that was being created; " +
			"what does not exist is cleared by the second command:",
		Commands: []string{"pulumi refresh --stack " + name(stage), "pulumi refresh --clear-pending-creates --stack " + name(stage)},
	}
	for _, p := range pending[:min(len(pending), mostNamed)] {
		note.Items = append(note.Items, p.Type+" "+p.Resource.URN)
	}
	if more := len(pending) - mostNamed; more > 0 {
		note.Items = append(note.Items, fmt.Sprintf("and %d more", more))
	}
	return []page.Note{note}, nil
}

// name is the stack as the command names it: ORG/PROJECT/STACK. Its parts have no characters that a shell reads.
func name(stage statestore.Stage) string {
	return strings.ReplaceAll(strings.TrimPrefix(stage.Stack, Prefix), ":", "/") + "/" + stage.Name
}
