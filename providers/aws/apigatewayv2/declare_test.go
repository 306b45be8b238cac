package apigatewayv2_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws/apigatewayv2"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestRoute: a line leads to a function, and lets the API invoke it for these requests alone.
func TestRoute(t *testing.T) {
	program := func(s *athanor.Stack) error {
		in := s.Scope("shop")
		api := apigatewayv2.NewHTTPAPI(in, "api", apigatewayv2.HTTPAPIProps{Routes: map[string]apigatewayv2.Route{"GET /other": {URL: "https://example.com"}}})
		fn := lambda.NewFunction(in, "items", lambda.FunctionProps{Code: lambda.Bundle("items.ts"), Env: map[string]string{"SELF": string(api.Endpoint)}})
		api.Route(in, "GET /items/{id}", fn)
		api.Route(in, "GET /items/id", fn)
		api.Route(in, "ANY /web/{proxy+}", fn, func(r *apigatewayv2.Route) { r.IAM = true })
		api.Route(in, "$default", fn)
		api.Route(s, "POST /a-b", fn)
		api.Route(s, "POST /a/b", fn)
		return nil
	}
	var first []string
	for _, spelling := range []athanor.Spelling{athanor.Plain, athanor.Shifted} {
		g, err := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "dev", Dir: t.TempDir(), Spelling: spelling})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]engine.Resource{}
		for _, r := range g.Resources {
			all[r.Address] = r
		}
		names := slices.Sorted(maps.Keys(all))
		if first == nil {
			first = names
		}
		if !slices.Equal(first, names) {
			t.Errorf("in another spelling: %v", names)
		}
		for address, source := range map[string]string{
			"shop/api/GET-items-_id": "/*/GET/items/*", "shop/api/GET-items-id": "/*/GET/items/id", "shop/api/ANY-web-_proxy_": "/*/*/web/*",
			"shop/api/default": "/*/$default", "shop/api/POST-a-b": "/*/POST/a/b", "shop/api/POST-a-b-c6a686": "/*/POST/a-b",
		} {
			r, ok := all[address]
			if have, _ := r.Props["sourceArn"].(string); !ok || r.Kind != "aws.lambda.Permission" || !strings.HasSuffix(have, source) || r.Props["principal"] != "apigateway.amazonaws.com" {
				t.Errorf("%s: %s, want one for %s, in %v", address, tree.Canonical(r.Props), source, names)
			}
		}
		bound, _ := tree.Get(all["shop/api"].Props, `bindings["ANY /web/{proxy+}"]`)
		if m, _ := bound.(map[string]any); m["iam"] != true || !strings.Contains(m["lambda"].(string), "shop/items") {
			t.Errorf("bound: %v", bound)
		}
	}
}

// TestRouteTwice: two routes with one key are two declarations of one permission.
func TestRouteTwice(t *testing.T) {
	_, err := athanor.Evaluate(func(s *athanor.Stack) error {
		api := apigatewayv2.NewHTTPAPI(s, "api", apigatewayv2.HTTPAPIProps{})
		for _, name := range []string{"a", "b"} {
			api.Route(s, "GET /", lambda.NewFunction(s, name, lambda.FunctionProps{Code: lambda.Bundle("a.ts")}))
		}
		return nil
	}, athanor.Input{Stack: "shop", Stage: "dev", Dir: t.TempDir(), Spelling: athanor.Plain})
	if err == nil || !strings.Contains(err.Error(), "another row has this key") {
		t.Errorf("%v", err)
	}
}

// TestRouteRenamed: the permission of a route is renamed with its API.
func TestRouteRenamed(t *testing.T) {
	g, err := athanor.Evaluate(func(s *athanor.Stack) error {
		api := apigatewayv2.NewHTTPAPI(s, "api", apigatewayv2.HTTPAPIProps{}, athanor.RenamedFrom("web"))
		api.Route(s, "GET /items", lambda.NewFunction(s, "fn", lambda.FunctionProps{Code: lambda.Bundle("a.ts")}))
		return nil
	}, athanor.Input{Stack: "shop", Stage: "dev", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Resources {
		if was := r.Options.RenamedFrom; r.Address == "api/GET-items" && !slices.Equal(was, []string{"web/GET-items"}) {
			t.Errorf("it was %v", was)
		}
	}
}
