package ssm

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

// world is an account of its own, seen by the kind through one client and by others through another.
type world struct {
	server *awstest.Server
	others *sdk.Client
	cloud  *aws.Cloud
	dir    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{server: server, others: sdk.NewFromConfig(like.Outside(t)), cloud: aws.FromConfig(like.Observed(t)), dir: t.TempDir()}
	place, err := w.cloud.Place(t.Context())
	if err != nil || place.Account != account {
		t.Fatalf("place %v: %v", place, err)
	}
	server.Reset()
	return w
}

// parameters are all as others see them.
func (w *world) parameters(t kindtest.T) []any {
	t.Helper()
	var all []any
	for pages := sdk.NewDescribeParametersPaginator(w.others, &sdk.DescribeParametersInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, meta := range page.Parameters {
			all = append(all, w.parameter(t, meta))
		}
	}
	return all
}

func (w *world) parameter(t kindtest.T, meta types.ParameterMetadata) obj {
	t.Helper()
	out, err := w.others.GetParameter(context.Background(), &sdk.GetParameterInput{Name: meta.Name, WithDecryption: new(true)})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	var policies []any
	for _, p := range meta.Policies {
		policies = append(policies, json.RawMessage(*p.PolicyText))
	}
	tags := w.tags(t, meta.Name)
	delete(tags, "athanor:generation") // differs between two makings
	return obj{
		"value": *out.Parameter.Value, "type": string(meta.Type), "data": *out.Parameter.DataType, "tier": string(meta.Tier),
		"description": text(meta.Description), "pattern": text(meta.AllowedPattern), "key": text(meta.KeyId), "policies": policies, "tags": tags,
	}
}

func (w *world) tags(t kindtest.T, name *string) map[string]string {
	t.Helper()
	out, err := w.others.ListTagsForResource(context.Background(), &sdk.ListTagsForResourceInput{ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	tags := map[string]string{}
	for _, tag := range out.TagList {
		tags[*tag.Key] = *tag.Value
	}
	return tags
}

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(t kindtest.T) kindtest.World {
	w := newWorld(t.(*testing.T))
	ws[w.dir] = w
	return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return w.parameters(t) }}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalServerError")(class)
}

// job is a parameter as an engine declares it, on record when last is set.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	return kindtest.Job(t, kind, w.cloud, "domain", props, last)
}

// settled makes a parameter match and fails the test when it does not.
func (w *world) settled(t *testing.T, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	kind := reconcile.Erase(parameterKind)
	return kindtest.Settled(t, kind, w.job(t, kind, props, last))
}

// wrote are the names of the mutating calls that reached the proxy since the last Reset.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.server.Mutations() {
		out = append(out, c.Name())
	}
	return out
}
