package apigatewayv2

import (
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// quick is the kind with a short bound of visibility, for faults after which it must be waited for.
func quick() reconcile.Any { return kindtest.Quick(apiKind, 300*time.Millisecond) }

// leading is a route of each sort, with all that it can have.
func leading() obj {
	return obj{
		"$default": obj{"lambda": function("items")},
		"GET /items": obj{
			"lambda": function("old"), "payloadFormat": "1.0", "credentials": "arn:aws:iam::*:user/*", "timeout": "10s",
			"authorizer": "people", "scopes": list{"read", "admin"}, "operationName": "ListItems", "description": "the old one",
		},
		"POST /items": obj{
			"service": "SQS-SendMessage", "credentials": role("sender"), "iam": true,
			"parameters": obj{"QueueUrl": "https://sqs.us-east-1.amazonaws.com/" + account + "/items", "MessageBody": "$request.body"},
		},
		"ANY /web/{proxy+}": obj{
			"url": "https://example.com/{proxy}", "method": "GET", "authorizer": "asked",
			"parameters":         obj{"append:header.x-stage": "$context.stage"},
			"responseParameters": obj{"404": obj{"overwrite:statuscode": "200"}, "500": obj{"remove:header.server": "''"}},
		},
		"ANY /inside": obj{
			"listener": "arn:aws:elasticloadbalancing:us-east-1:" + account + ":listener/app/web/1/2", "vpcLink": "l1nk",
			"tlsServerName": "inside.example.com",
		},
	}
}

func authorizing() obj {
	return obj{
		"people": obj{"issuer": "https://login.example.com/", "audience": list{"web", "app"}, "identitySources": list{"$request.querystring.token"}},
		"asked": obj{
			"lambda": function("ask"), "identitySources": list{"$request.header.A", "$request.header.B"}, "simpleResponses": true,
			"cacheTtl": "5m", "credentials": role("asker"),
		},
		"plain": obj{"lambda": function("ask"), "payloadFormat": "1.0", "identitySources": list{}},
	}
}

func staging() obj {
	return obj{
		"$default": obj{
			"variables": obj{"color": "blue"}, "detailedMetrics": true, "throttle": obj{"rate": int64(100), "burst": int64(200)},
			"accessLog": obj{"destination": group("access"), "format": "$context.requestId $context.status"},
			"routes": obj{
				"GET /items":  obj{"throttle": obj{"rate": int64(10), "burst": int64(20)}, "detailedMetrics": true},
				"POST /items": obj{"detailedMetrics": true},
			},
		},
		"beta": obj{"description": "what comes", "autoDeploy": false},
	}
}

// tuned has everything that an HTTP API can have.
func tuned() obj {
	return obj{
		"name": "items", "description": "Items for all", "version": "v1", "disableExecuteApiEndpoint": true, "ipAddressType": "dualstack",
		"routes": leading(), "authorizers": authorizing(), "stages": staging(), "bindings": obj{"PUT /bound": obj{"lambda": function("items")}},
		"cors": obj{
			"allowOrigins": list{"https://b.example.com", "https://a.example.com"}, "allowMethods": list{"get", "PUT"}, "allowHeaders": list{"X-B", "X-A"},
			"exposeHeaders": list{"X-C", "X-D"}, "allowCredentials": true, "maxAge": "1h",
		},
		"mappings": obj{"api.example.com": obj{}, "api.example.com/v1/items": obj{"stage": "beta"}, "*.example.org": obj{"stage": "beta"}},
		"tags":     obj{"team": "web", "cost center": "42"},
	}
}

// turned leads elsewhere than the base, and has no stage.
func turned() obj {
	return obj{
		"routes": obj{"GET /items": obj{"lambda": function("new"), "iam": true}},
		"cors":   obj{"allowOrigins": list{"*"}}, "stages": obj{}, "authorizers": obj{"people": obj{"issuer": "https://other.example.com/", "audience": list{"web"}}},
	}
}

// some has one of everything that takes a call of its own.
func some() obj {
	return obj{
		"description": "some", "cors": obj{"allowOrigins": list{"https://a.example.com"}, "maxAge": "1h"},
		"routes": obj{
			"GET /items":  obj{"lambda": function("items"), "timeout": "5s", "authorizer": "people", "scopes": list{"read"}},
			"POST /items": obj{"lambda": function("items"), "timeout": "5s"},
		},
		"bindings":    obj{"PUT /bound": obj{"url": "https://example.com"}},
		"authorizers": obj{"people": obj{"issuer": "https://login.example.com/", "audience": list{"web"}}},
		"stages": obj{
			"$default": obj{
				"variables": obj{"color": "blue"}, "accessLog": obj{"destination": group("access"), "format": "$context.requestId"},
				"routes": obj{"GET /items": obj{"throttle": obj{"rate": int64(10), "burst": int64(20)}}},
			},
			"beta": obj{},
		},
		"mappings": obj{"api.example.com/some": obj{"stage": "beta"}},
	}
}

func apiSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	const masked = "a value may be a secret, and is masked where it is not declared"
	return kindtest.Derive(apiTable, kindtest.Suite{
		Kind:  quick(),
		World: ws.Make(newServedWorld, (*world).apis),
		Base:  obj{"routes": obj{"GET /items": obj{"lambda": function("items")}}, "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "bound", Props: obj{"bindings": leading(), "authorizers": authorizing(), "mappings": obj{"api.example.com/bound": obj{}}}},
			{Name: "tuned", Props: tuned()},
			{Name: "turned", Props: turned()},
		},
		Hands:   hands(ws),
		Secrets: []tree.Path{`routes["ANY /web/{proxy+}"].parameters["append:header.x-stage"]`, `stages["$default"].variables.color`},
		Others:  map[tree.Path][]any{"mappings.*.stage": {"beta", "$default"}},
		Open: map[tree.Path]string{
			"mappings":    "domains that are neither declared nor in state are not looked through",
			"authorizers": "an API that declares none, and had none, is asked for those alone that its routes use",
		},
		Alias:      map[tree.Path]tree.Path{"routes": "integrations", "bindings": "routes"}, // who adds a route binds none
		Unreadable: map[tree.Path]string{"routes.*.parameters": masked, "stages.*.variables": masked},
	})
}

func TestHTTPAPI(t *testing.T) {
	whole := apiSuite().Shared()
	for _, c := range kindtest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			s := whole
			if c.Name == kindtest.Crashes { // one of each call: each of the tuned one's would take minutes
				s.Variants = []kindtest.Variant{{Name: "some", Props: some()}, {Name: "turned", Props: turned()}}
			}
			c.Do(t, s)
		})
	}
}
