package apigatewayv2

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

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
	like   *likeAWS
	dir    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{server: server, others: sdk.NewFromConfig(like.Outside(t)), cloud: aws.FromConfig(like.Observed(t)), like: like, dir: t.TempDir()}
	place, err := w.cloud.Place(t.Context())
	if err != nil || place.Account != account {
		t.Fatalf("place %v: %v", place, err)
	}
	server.Reset()
	return w
}

func function(name string) string { return "arn:aws:lambda:us-east-1:" + account + ":function:" + name }
func role(name string) string     { return "arn:aws:iam::" + account + ":role/" + name }
func group(name string) string    { return "arn:aws:logs:us-east-1:" + account + ":log-group:" + name }

// all asks for the pages of a listing.
func all[T any](t kindtest.T, ask func(token *string) ([]T, *string, error)) []T {
	t.Helper()
	var items []T
	var token *string
	for {
		page, next, err := ask(token)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		items = append(items, page...)
		if token = next; token == nil {
			return items
		}
	}
}

// children are the things in an API of one sort, as API Gateway writes them.
func (w *world) children(t kindtest.T, id, sort string) []obj {
	t.Helper()
	ctx := context.Background()
	return all(t, func(token *string) ([]obj, *string, error) {
		var page any
		var next *string
		var err error
		switch sort {
		case "routes":
			var out *sdk.GetRoutesOutput
			if out, err = w.others.GetRoutes(ctx, &sdk.GetRoutesInput{ApiId: &id, NextToken: token}); err == nil {
				page, next = out, out.NextToken
			}
		case "integrations":
			var out *sdk.GetIntegrationsOutput
			if out, err = w.others.GetIntegrations(ctx, &sdk.GetIntegrationsInput{ApiId: &id, NextToken: token}); err == nil {
				page, next = out, out.NextToken
			}
		case "authorizers":
			var out *sdk.GetAuthorizersOutput
			if out, err = w.others.GetAuthorizers(ctx, &sdk.GetAuthorizersInput{ApiId: &id, NextToken: token}); err == nil {
				page, next = out, out.NextToken
			}
		case "stages":
			var out *sdk.GetStagesOutput
			if out, err = w.others.GetStages(ctx, &sdk.GetStagesInput{ApiId: &id, NextToken: token}); err == nil {
				page, next = out, out.NextToken
			}
		}
		return items(page), next, err
	})
}

// apis are all APIs with what is in them, without what differs between two makings.
func (w *world) apis(t kindtest.T) []any {
	t.Helper()
	there := all(t, func(token *string) ([]obj, *string, error) {
		out, err := w.others.GetApis(context.Background(), &sdk.GetApisInput{NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return items(out), out.NextToken, nil
	})
	var apis []any
	for _, api := range there {
		apis = append(apis, w.api(t, api))
	}
	return apis
}

func (w *world) api(t kindtest.T, api obj) obj {
	t.Helper()
	id := api["apiId"].(string)
	named := map[string]any{}
	for _, sort := range []string{"authorizers", "integrations", "routes", "stages"} {
		items := w.children(t, id, sort)
		for _, item := range items {
			inOrder(item)
			for _, by := range []string{"authorizerId", "integrationId"} {
				if own, ok := item[by].(string); ok && sort == by[:len(by)-2]+"s" {
					delete(item, by)
					named[own] = fmt.Sprint(item)
				}
			}
			if target, ok := item["target"].(string); ok {
				item["target"] = named[strings.TrimPrefix(target, "integrations/")]
			}
			if by, ok := item["authorizerId"].(string); ok && sort == "routes" {
				item["authorizerId"] = named[by]
			}
			for _, varies := range []string{"routeId", "createdDate", "lastUpdatedDate"} {
				delete(item, varies)
			}
			empty(item)
		}
		slices.SortFunc(items, func(a, b obj) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		api[sort] = items
	}
	api["mappings"] = w.mapped(id)
	for _, varies := range []string{"apiId", "apiEndpoint", "createdDate"} {
		delete(api, varies)
	}
	if tags, ok := api["tags"].(obj); ok {
		delete(tags, "athanor:generation")
	}
	inOrder(api)
	empty(api)
	return api
}

// inOrder sorts the lists whose order says nothing.
func inOrder(v any) {
	m, _ := v.(obj)
	for k, x := range m {
		if texts, ok := x.([]any); ok && slices.Contains([]string{"audience", "authorizationScopes", "allowOrigins", "allowMethods", "allowHeaders", "exposeHeaders"}, k) {
			slices.SortFunc(texts, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		inOrder(x)
	}
}

// empty takes out what says nothing.
func empty(item obj) {
	for k, v := range item {
		switch v := v.(type) {
		case nil:
			delete(item, k)
		case obj:
			if len(v) == 0 {
				delete(item, k)
			}
		case []any:
			if len(v) == 0 {
				delete(item, k)
			}
		case []obj:
			if len(v) == 0 {
				delete(item, k)
			}
		}
	}
}

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(t kindtest.T) kindtest.World {
	w := newWorld(t.(*testing.T))
	ws[w.dir] = w
	return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return w.apis(t) }}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "TooManyRequestsException", "ServiceUnavailableException")(class)
}

// job is an API as an engine declares it, on record when last is set.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	return kindtest.Job(t, kind, w.cloud, "api", props, last)
}

// settled makes an API match and fails the test when it does not.
func (w *world) settled(t *testing.T, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	kind := quick()
	return kindtest.Settled(t, kind, w.job(t, kind, props, last))
}

// wrote are the mutating calls that reached the proxy since the last Reset: their method and the sort of what they are on.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.server.Mutations() {
		path := strings.Split(strings.TrimPrefix(c.URI, "/v2/"), "/")
		sort := path[0]
		if len(path) > 2 && sort == "apis" {
			sort = path[2]
		}
		out = append(out, c.Method+" "+sort)
	}
	return out
}
