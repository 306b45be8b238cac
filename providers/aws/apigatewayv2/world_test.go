package apigatewayv2

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

// world is an account of its own, with custom domains that somebody else created.
type world struct {
	awstest.World[sdk.Client]
	like *likeAWS
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{awstest.NewWorld(t, server, like, sdk.NewFromConfig, quick(), "api"), like}
	w.Located(t, account)
	return w
}

// newServedWorld is a world with the custom domains of the suite.
func newServedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.serve(t, "api.example.com", "*.example.org")
	return w
}

func function(name string) string { return "arn:aws:lambda:us-east-1:" + account + ":function:" + name }
func role(name string) string     { return "arn:aws:iam::" + account + ":role/" + name }
func group(name string) string    { return "arn:aws:logs:us-east-1:" + account + ":log-group:" + name }

func certificate(id string) string { return "arn:aws:acm:us-east-1:" + account + ":certificate/" + id }

// children are the objects in an API of one sort, as API Gateway writes them.
func (w *world) children(t kindtest.T, id, sort string) []obj {
	t.Helper()
	all, err := childrenOf(context.Background(), w.Others, id, sort)
	if err != nil {
		t.Fatalf("%s: %v", sort, err)
	}
	return all
}

func childrenOf(ctx context.Context, client *sdk.Client, id, sort string) ([]obj, error) {
	var out any
	var err error
	switch sort {
	case "routes":
		out, err = client.GetRoutes(ctx, &sdk.GetRoutesInput{ApiId: &id})
	case "integrations":
		out, err = client.GetIntegrations(ctx, &sdk.GetIntegrationsInput{ApiId: &id})
	case "authorizers":
		out, err = client.GetAuthorizers(ctx, &sdk.GetAuthorizersInput{ApiId: &id})
	case "stages":
		out, err = client.GetStages(ctx, &sdk.GetStagesInput{ApiId: &id})
	case "mappings":
		out, err = client.GetApiMappings(ctx, &sdk.GetApiMappingsInput{DomainName: &id})
	}
	return items(out), err
}

// apis are all APIs with what is in them, without what differs between two creations.
func (w *world) apis(t kindtest.T) []any {
	t.Helper()
	out, err := w.Others.GetApis(context.Background(), &sdk.GetApisInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var apis []any
	for _, api := range items(out) {
		apis = append(apis, w.api(t, api))
	}
	return apis
}

// domains are the custom domains.
func (w *world) domains(t kindtest.T) []any {
	t.Helper()
	out, err := w.Others.GetDomainNames(context.Background(), &sdk.GetDomainNamesInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var domains []any
	for _, d := range items(out) {
		ungenerated(d)
		empty(d)
		domains = append(domains, d)
	}
	return domains
}

// ungenerated is an object without the owner tag that differs between two creations.
func ungenerated(v obj) {
	tags, _ := v["tags"].(obj)
	delete(tags, "athanor:generation")
}

// mapped are the mappings that lead to an API, as they are declared, with their stage. They are read where they are
// kept.
func (w *world) mapped(api string) []obj {
	w.like.mu.Lock()
	defer w.like.mu.Unlock()
	var out []obj
	for name, all := range w.like.custom.mappings {
		for _, m := range all {
			if m["apiId"] == api {
				out = append(out, obj{"at": strings.TrimSuffix(name+"/"+m["apiMappingKey"].(string), "/"), "stage": m["stage"]})
			}
		}
	}
	slices.SortFunc(out, func(a, b obj) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}

// serve creates custom domains as somebody else does.
func (w *world) serve(t kindtest.T, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := w.Others.CreateDomainName(context.Background(), &sdk.CreateDomainNameInput{
			DomainName: &name, DomainNameConfigurations: []types.DomainNameConfiguration{{
				EndpointType: types.EndpointTypeRegional, CertificateArn: new(certificate("somebody")),
			}},
		})
		if err != nil {
			t.Fatalf("serve %s: %v", name, err)
		}
	}
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
	ungenerated(api)
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

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "TooManyRequestsException", "ServiceUnavailableException")(class)
}

// wrote are the mutating calls that reached the proxy since the last Reset: their method and the sort of what they are
// on.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.Server.Mutations() {
		path := strings.Split(strings.TrimPrefix(c.URI, "/v2/"), "/")
		sort := path[0]
		if len(path) > 2 && sort == "apis" {
			sort = path[2]
		}
		out = append(out, c.Method+" "+sort)
	}
	return out
}
