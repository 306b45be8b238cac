package apigatewayv2

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// one is an API with one route and no more.
func one() obj { return obj{"routes": obj{"GET /items": obj{"lambda": function("items")}}} }

func (w *world) expect(t *testing.T, doing string, want ...string) {
	t.Helper()
	if have := w.wrote(); !slices.Equal(have, want) {
		t.Errorf("%s makes %v, want %v", doing, have, want)
	}
	w.Server.Reset()
}

func (w *world) observe(t *testing.T, props obj, last *reconcile.Outcome) reconcile.Look {
	t.Helper()
	look, err := quick().Look(t.Context(), w.Job(t, quick(), props, last))
	if err != nil {
		t.Fatal(err)
	}
	return look
}

func paths(steps []reconcile.Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, string(s.Path))
	}
	return out
}

func TestCalls(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, one(), nil)
	w.expect(t, "a creation", "POST apis", "POST integrations", "POST routes", "POST stages")
	w.Settled(t, one(), &out)
	if n := len(w.Server.Calls()); n != 4 {
		t.Errorf("an observation of an API without authorizers makes %d calls, want 4", n)
	}
	w.expect(t, "the same again")

	two := obj{"routes": obj{"GET /items": obj{"lambda": function("items")}, "$default": obj{"lambda": function("items")}}}
	w.Settled(t, two, &out)
	w.expect(t, "a second route to the same function", "POST routes")
	two["routes"].(obj)["GET /items"] = obj{"lambda": function("items"), "timeout": "5s"}
	w.Settled(t, two, &out)
	w.expect(t, "another timeout of one of two", "POST integrations", "PATCH routes")
	delete(two["routes"].(obj), "GET /items")
	w.Settled(t, two, &out)
	w.expect(t, "a route less", "DELETE routes", "DELETE integrations")
	two["routes"] = obj{"$default": obj{"lambda": function("items"), "iam": true}}
	w.Settled(t, two, &out)
	w.expect(t, "another authorization", "PATCH routes")
	two["routes"] = obj{"$default": obj{"lambda": function("new"), "iam": true}}
	w.Settled(t, two, &out)
	w.expect(t, "another function", "POST integrations", "PATCH routes", "DELETE integrations")
}

// TestStrays is about what somebody else, or a cut run, has left in the API.
func TestStrays(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, one(), nil)
	id := out.Identity
	left, err := w.Others.CreateIntegration(t.Context(), &sdk.CreateIntegrationInput{
		ApiId: &id, IntegrationType: types.IntegrationTypeHttpProxy, IntegrationUri: new("https://example.com"), IntegrationMethod: new("GET"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if have := paths(w.observe(t, one(), &out).Steps); !slices.Equal(have, []string{"integrations." + *left.IntegrationId}) {
		t.Errorf("an integration that nothing leads to shows as %v", have)
	}
	keyed, err := w.Others.CreateIntegration(t.Context(), &sdk.CreateIntegrationInput{
		ApiId: &id, IntegrationType: types.IntegrationTypeHttpProxy, IntegrationUri: new("https://example.com/keyed"), IntegrationMethod: new("GET"),
		RequestParameters: map[string]string{"overwrite:header.x-key": "a-secret"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if steps := w.observe(t, one(), &out).Steps; len(steps) != 2 || strings.Contains(fmt.Sprint(steps), "a-secret") {
		t.Errorf("what is left and may hold secrets shows as %v", steps)
	}
	if _, err := w.Others.DeleteIntegration(t.Context(), &sdk.DeleteIntegrationInput{ApiId: &id, IntegrationId: keyed.IntegrationId}); err != nil {
		t.Fatal(err)
	}
	two := one()
	two["routes"].(obj)["GET /web"] = obj{"url": "https://example.com", "method": "GET"}
	if have := paths(w.observe(t, two, &out).Steps); !slices.Equal(have, []string{`routes["GET /web"]`}) {
		t.Errorf("one that a route is about to use shows as %v", have)
	}
	w.Server.Reset()
	w.Settled(t, two, &out)
	w.expect(t, "a route to an integration that is there", "POST routes")

	if _, err := w.Others.CreateRoute(t.Context(), &sdk.CreateRouteInput{ApiId: &id, RouteKey: new("GET /open"), Target: new("integrations/" + *left.IntegrationId)}); err != nil {
		t.Fatal(err)
	}
	if have := paths(w.observe(t, two, &out).Steps); !slices.Equal(have, []string{`routes["GET /open"]`}) {
		t.Errorf("a route added by hand shows as %v", have)
	}
	w.Server.Reset()
	w.Settled(t, two, &out)
	w.expect(t, "its repair", "DELETE routes")
}

// TestLater is about a function that waits for the API itself: the route is created when it is known.
func TestLater(t *testing.T) {
	w, kind := newWorld(t), quick()
	declared := obj{
		"routes":      obj{"GET /items": obj{"lambda": "⟦fn.arn⟧"}, "$default": obj{"lambda": function("items")}},
		"authorizers": obj{"asked": obj{"lambda": "⟦fn.arn⟧"}},
		"stages":      obj{"$default": obj{"accessLog": obj{"destination": "⟦log.arn⟧", "format": "$context.requestId"}}},
		"cors":        obj{"allowOrigins": list{"⟦site.url⟧"}, "maxAge": "1h"},
	}
	late := []tree.Path{
		`routes["GET /items"].lambda`, "authorizers.asked.lambda", `stages["$default"].accessLog.destination`, "cors.allowOrigins[0]",
	}
	job := w.Job(t, kind, nil, nil)
	job.Props, job.Omit = declared, late
	out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	w.expect(t, "what is known", "POST apis", "POST integrations", "POST routes", "POST stages")
	known := obj{
		"routes":      obj{"GET /items": obj{"lambda": function("items")}, "$default": obj{"lambda": function("items")}},
		"authorizers": obj{"asked": obj{"lambda": function("ask")}},
		"stages":      obj{"$default": obj{"accessLog": obj{"destination": group("access"), "format": "$context.requestId"}}},
		"cors":        obj{"allowOrigins": list{"https://example.com"}, "maxAge": "1h"},
	}
	out = w.Settled(t, known, &out)
	w.expect(t, "the rest", "PATCH apis", "POST authorizers", "POST routes", "PATCH stages")
	job = w.Job(t, kind, nil, &out)
	job.Props, job.Omit = declared, late
	if look, err := kind.Look(t.Context(), job); err != nil || len(look.Steps) > 0 {
		t.Errorf("what is left out stays as it is, and shows %v, %v", paths(look.Steps), err)
	}
}

// TestAuthorizerChangesItsKind: the route has to say so too.
func TestAuthorizerChangesItsKind(t *testing.T) {
	w := newWorld(t)
	declared := func(by obj) obj {
		return obj{"routes": obj{"$default": obj{"lambda": function("items"), "authorizer": "who"}}, "authorizers": obj{"who": by}}
	}
	out := w.Settled(t, declared(obj{"issuer": "https://login.example.com/", "audience": list{"web"}}), nil)
	w.Settled(t, declared(obj{"lambda": function("ask")}), &out)
	if kind := w.children(t, out.Identity, "routes")[0]["authorizationType"]; kind != "CUSTOM" {
		t.Errorf("the route is authorized by %v", kind)
	}
}

// TestRateByHalves: a rate need not be a whole number where somebody else sets it.
func TestRateByHalves(t *testing.T) {
	w := newWorld(t)
	declared := one()
	declared["stages"] = obj{"$default": obj{"throttle": obj{"rate": int64(10), "burst": int64(5)}}}
	out := w.Settled(t, declared, nil)
	if _, err := w.Others.UpdateStage(t.Context(), &sdk.UpdateStageInput{
		ApiId: &out.Identity, StageName: new("$default"),
		DefaultRouteSettings: &types.RouteSettings{ThrottlingRateLimit: new(10.5), ThrottlingBurstLimit: new(int32(5))},
	}); err != nil {
		t.Fatal(err)
	}
	look := w.observe(t, declared, &out)
	if len(look.Steps) != 1 || look.Steps[0].Have != 10.5 {
		t.Errorf("shows %v", look.Steps)
	}
	w.Settled(t, declared, &out)
	if look := w.observe(t, declared, &out); len(look.Steps) > 0 {
		t.Errorf("repaired, and shows %v", look.Steps)
	}
}

// TestIgnored: what is ignored keeps its value where the rest changes.
func TestIgnored(t *testing.T) {
	w, kind := newWorld(t), quick()
	declared := one()
	out := w.Settled(t, declared, nil)
	declared["routes"].(obj)["GET /items"] = obj{"lambda": function("new"), "timeout": "5s"}
	job := w.Job(t, kind, declared, &out)
	job.Ignore = []tree.Path{"routes.*.timeout"}
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	have := w.children(t, out.Identity, "integrations")
	if len(have) != 1 || have[0]["timeoutInMillis"] != float64(30000) || have[0]["integrationUri"] != function("new") {
		t.Errorf("integrations: %v", have)
	}
}

// owned creates an API as an earlier run has left it.
func (w *world) owned(t *testing.T, protocol types.ProtocolType, name, address, generation string) string {
	t.Helper()
	in := &sdk.CreateApiInput{Name: &name, ProtocolType: protocol, Tags: map[string]string{
		"athanor:stack": "shop", "athanor:stage": "test", "athanor:id": address, "athanor:generation": generation,
	}}
	if protocol == types.ProtocolTypeWebsocket {
		in.RouteSelectionExpression = new("$request.body.action")
	}
	out, err := w.Others.CreateApi(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return *out.ApiId
}

// TestFoundByOwnerTag: among many, the newest generation, unless one of them is being created.
func TestFoundByOwnerTag(t *testing.T) {
	w, kind := newWorld(t), quick()
	w.owned(t, types.ProtocolTypeWebsocket, "talk", "api", "9")
	w.owned(t, types.ProtocolTypeHttp, "other", "other", "1")
	first := w.owned(t, types.ProtocolTypeHttp, "items", "api", "1")
	second := w.owned(t, types.ProtocolTypeHttp, "items", "api", "2")
	creating, job := w.Job(t, kind, one(), nil), w.Job(t, kind, one(), nil)
	job.Nonce = ""
	if look, err := kind.Look(t.Context(), job); err != nil || look.Identity != second {
		t.Errorf("found %s, want %s (%v)", look.Identity, second, err)
	}
	if look, err := kind.Look(t.Context(), creating); err != nil || look.Identity != first {
		t.Errorf("generation 1 is being created, and found is %s, want %s (%v)", look.Identity, first, err)
	}
	w.owned(t, types.ProtocolTypeHttp, "items", "api", "2")
	if _, err := kind.Look(t.Context(), job); !errors.Is(err, reconcile.ErrAmbiguous) {
		t.Errorf("two with one owner tag: %v", err)
	}
}

// TestIdentities: by ARN, by name for what is only read, and never anything but an HTTP API of the location.
func TestIdentities(t *testing.T) {
	w, kind := newWorld(t), quick()
	id := w.owned(t, types.ProtocolTypeHttp, "items", "other", "1")
	look := func(id string, props obj, query bool) (reconcile.Look, error) {
		job := w.Job(t, kind, nil, nil)
		job.ID, job.Props, job.Query = id, props, query
		if query {
			job.Mark = reconcile.Mark{}
		}
		return kind.Look(t.Context(), job)
	}
	if l, err := look("arn:aws:apigateway:us-east-1::/apis/"+id, one(), false); err != nil || l.Identity != id {
		t.Errorf("by ARN: %s, %v", l.Identity, err)
	}
	if _, err := look("arn:aws:apigateway:eu-west-1::/apis/"+id, one(), false); !errors.Is(err, aws.ErrForeign) {
		t.Errorf("in another region: %v", err)
	}
	talk := w.owned(t, types.ProtocolTypeWebsocket, "talk", "talk", "1")
	if l, err := look(talk, one(), false); err != nil || !l.Absent {
		t.Errorf("a WebSocket API: %+v, %v", l, err)
	}
	if l, err := look("", obj{"name": "items"}, true); err != nil || l.Identity != id {
		t.Errorf("by name: %s, %v", l.Identity, err)
	}
	if l, err := look("", obj{"name": "talk"}, true); err != nil || !l.Absent {
		t.Errorf("by the name of a WebSocket API: %+v, %v", l, err)
	}
	w.owned(t, types.ProtocolTypeHttp, "items", "third", "1")
	if _, err := look("", obj{"name": "items"}, true); !errors.Is(err, reconcile.ErrAmbiguous) {
		t.Errorf("by a name that two have: %v", err)
	}
	if _, err := look("", obj{}, true); !errors.Is(err, errNothing) {
		t.Errorf("by nothing: %v", err)
	}
	attrs, _ := look(id, one(), false)
	for name, want := range map[string]any{
		"arn": "arn:aws:apigateway:us-east-1::/apis/" + id, "endpoint": "https://" + id + ".execute-api.us-east-1.amazonaws.com",
		"executionArn": "arn:aws:execute-api:us-east-1:" + account + ":" + id,
	} {
		if attrs.Attrs[name] != want {
			t.Errorf("%s is %v, want %v", name, attrs.Attrs[name], want)
		}
	}
}

func TestMatch(t *testing.T) {
	for arn, want := range map[aws.ARN]string{
		"arn:aws:apigateway:us-east-1::/apis/a1b2c3":                 "a1b2c3",
		"arn:aws:apigateway:us-east-1::/apis/a1b2c3/stages/$default": "",
		"arn:aws:apigateway:us-east-1::/restapis/a1b2c3":             "",
		"arn:aws:execute-api:us-east-1:" + account + ":a1b2c3":       "",
		"a1b2c3": "",
	} {
		kind, id, _, ok := Service().Match(arn)
		if ok != (want != "") || ok && (id != want || kind != apiType) {
			t.Errorf("%s: %s %s %v", arn, kind, id, ok)
		}
	}
}

func TestCheck(t *testing.T) {
	route := func(props obj) obj { return obj{"routes": obj{"$default": props}} }
	by := func(props obj) obj { return obj{"authorizers": obj{"who": props}} }
	long := strings.Repeat("x", 129)
	kindtest.Refuses(t, quick(), kindtest.Refusals{
		{obj{"name": long}, "at most 128"},
		{obj{"routes": obj{"get /items": obj{"lambda": "f"}}}, "a method and a path"},
		{obj{"routes": obj{"/items": obj{"lambda": "f"}}}, "a method and a path"},
		{obj{"routes": obj{"$default": obj{"lambda": "f"}}, "bindings": obj{"$default": obj{"lambda": "f"}}}, "with this key too"},
		{route(obj{}), "leads nowhere"},
		{route(obj{"lambda": "f", "url": "u"}), "want one of"},
		{route(obj{"listener": "l"}), "it counts with vpcLink alone"},
		{route(obj{"vpcLink": "l"}), "it counts with listener alone"},
		{route(obj{"lambda": "f", "method": "GET"}), "it goes with url or listener"},
		{route(obj{"url": "u", "tlsServerName": "n"}), "it counts with listener alone"},
		{route(obj{"url": "u", "payloadFormat": "2.0"}), "it counts with lambda alone"},
		{route(obj{"url": "u", "credentials": "r"}), "it goes with lambda or service"},
		{route(obj{"service": "SQS-SendMessage"}), "needs a role"},
		{route(obj{"lambda": "f", "timeout": "50500us"}), "whole milliseconds"},
		{route(obj{"lambda": "f", "timeout": "31s"}), "30s"},
		{route(obj{"lambda": "f", "authorizer": "who"}), "none of this name"},
		{route(obj{"lambda": "f", "scopes": list{"a"}}), "it counts with authorizer alone"},
		{by(obj{}), "either an issuer or lambda"},
		{by(obj{"issuer": "i", "lambda": "f"}), "either an issuer or lambda"},
		{by(obj{"issuer": "i", "cacheTtl": "1m"}), "it counts with lambda alone"},
		{by(obj{"lambda": "f", "audience": list{"a"}}), "it counts with issuer alone"},
		{by(obj{"lambda": "f", "cacheTtl": "1500ms"}), "whole seconds"},
		{by(obj{"lambda": "f", "cacheTtl": "1m", "identitySources": list{}}), "there are none"},
		{by(obj{"lambda": "f", "payloadFormat": "1.0", "simpleResponses": true}), "payloadFormat 2.0"},
		{by(obj{"issuer": "i", "identitySources": list{"a", "b"}}), "in one place"},
		{obj{"routes": obj{"$default": obj{"lambda": "f", "authorizer": "who", "iam": true}}, "authorizers": obj{"who": obj{"lambda": "f"}}}, "want either iam or authorizer"},
		{obj{"routes": obj{"$default": obj{"lambda": "f", "authorizer": "who", "scopes": list{"a"}}}, "authorizers": obj{"who": obj{"lambda": "f"}}}, "only tokens have scopes"},
		{obj{"stages": obj{"a b": obj{}}}, "letters, digits"},
		{obj{"stages": obj{"a": obj{"accessLog": obj{"destination": "d", "format": "a\nb"}}}}, "one line"},
		{obj{"stages": obj{"a": obj{"variables": obj{"x": ""}}}}, "not empty"},
		{obj{"stages": obj{"a": obj{"routes": obj{"GET /": obj{}}}}}, "no such route"},
		{obj{"stages": obj{"a": obj{"throttle": obj{"rate": int64(1)}}}}, "is required"},
		{obj{"cors": obj{"allowOrigins": list{"*"}, "maxAge": "1500ms"}}, "whole seconds"},
		{obj{"cors": obj{"allowOrigins": list{}}}, "at least one"},
		{obj{"tags": obj{"athanor:stack": "x"}}, "not for authors"},
		{tuned(), ""},
	})
}
