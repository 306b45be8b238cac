package apigatewayv2

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	routeKey  = props.Pattern(`^(\$default|(ANY|GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) /.*)$`)
	stageName = props.Pattern(`^(\$default|[A-Za-z0-9_-]{1,128})$`)
)

// checking collects what is wrong with a declaration.
type checking struct {
	props.Errors
	want HTTPAPIProps
}

// checkAPI finds what API Gateway would refuse half way through, or would take without doing it, beyond what the table
// says.
func checkAPI(want HTTPAPIProps) error {
	c := &checking{want: want}
	for _, key := range slices.Sorted(maps.Keys(want.Routes)) {
		c.route(tree.Path("routes").Key(key), key, want.Routes[key])
	}
	for _, key := range slices.Sorted(maps.Keys(want.Bindings)) {
		if _, twice := want.Routes[key]; twice {
			c.Wrong(tree.Path("bindings").Key(key), "routes has one with this key too")
		}
		c.route(tree.Path("bindings").Key(key), key, want.Bindings[key])
	}
	for _, name := range slices.Sorted(maps.Keys(want.Authorizers)) {
		c.authorizer(tree.Path("authorizers").Key(name), want.Authorizers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(want.Stages)) {
		c.stage(tree.Path("stages").Key(name), name, want.Stages[name])
	}
	for _, at := range slices.Sorted(maps.Keys(want.Mappings)) {
		c.mapping(tree.Path("mappings").Key(at), at, want.Mappings[at])
	}
	if want.CORS.isLater() {
		c.Wrong("cors.allowOrigins", "want at least one")
	}
	return c.OrNil()
}

func (c *checking) route(at tree.Path, key string, r Route) {
	if !token.Has(key) && !routeKey().MatchString(key) {
		c.Wrong(at, `want a method and a path, such as "GET /items/{id}", or "$default"`)
	}
	private := r.Listener != "" || r.VPCLink != ""
	switch count(r.Lambda != "", r.URL != "", r.Service != "", private) {
	case 1:
	case 0:
		c.Wrong(at, "leads nowhere: want lambda, url, service, or listener with vpcLink")
		return
	default:
		c.Wrong(at, "want one of lambda, url, service, and listener with vpcLink")
		return
	}
	if r.Method != nil && r.URL == "" && !private {
		c.Wrong(at.Key("method"), "it goes with url or listener")
	}
	if r.Credentials != "" && r.Lambda == "" && r.Service == "" {
		c.Wrong(at.Key("credentials"), "it goes with lambda or service")
	}
	if r.Service != "" && r.Credentials == "" {
		c.Wrong(at.Key("credentials"), "a service needs a role")
	}
	if r.Authorizer == "" || token.Has(r.Authorizer) {
		return
	}
	by, ok := c.want.Authorizers[r.Authorizer]
	if !ok {
		c.Wrong(at.Key("authorizer"), "authorizers has none of this name")
	}
	if len(r.Scopes) > 0 && by.Lambda != "" {
		c.Wrong(at.Key("scopes"), "only tokens have scopes, and the authorizer is a function")
	}
}

func (c *checking) authorizer(at tree.Path, a Authorizer) {
	if count(a.Issuer != "", a.Lambda != "") != 1 {
		c.Wrong(at, "want either an issuer or lambda")
		return
	}
	if a.CacheTTL > 0 && a.IdentitySources != nil && len(a.IdentitySources) == 0 {
		c.Wrong(at.Key("cacheTtl"), "answers are kept by identitySources, and there are none")
	}
	if a.SimpleResponses && a.PayloadFormat != nil && *a.PayloadFormat == "1.0" {
		c.Wrong(at.Key("simpleResponses"), "it needs the payloadFormat 2.0")
	}
	if a.Issuer != "" && a.IdentitySources != nil && len(a.IdentitySources) != 1 {
		c.Wrong(at.Key("identitySources"), "a token is in one place")
	}
}

func (c *checking) stage(at tree.Path, name string, s Stage) {
	if !token.Has(name) && !stageName().MatchString(name) {
		c.Wrong(at, `want letters, digits, - and _, or "$default"`)
	}
	if s.AccessLog != nil && strings.ContainsAny(s.AccessLog.Format, "\r\n") {
		c.Wrong(at.Key("accessLog").Key("format"), "want one line")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Variables)) {
		if s.Variables[key] == "" {
			c.Wrong(at.Key("variables").Key(key), "a variable is not empty")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Routes)) {
		if _, ok := c.want.Routes[key]; ok || token.Has(key) {
			continue
		}
		if _, ok := c.want.Bindings[key]; !ok {
			c.Wrong(at.Key("routes").Key(key), "the API has no such route")
		}
	}
}

func count(booleans ...bool) int {
	n := 0
	for _, t := range booleans {
		if t {
			n++
		}
	}
	return n
}
