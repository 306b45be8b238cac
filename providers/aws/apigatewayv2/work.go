package apigatewayv2

import (
	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// work is one comparison, and what its calls learn for those that follow: the identities of what they made.
type work struct {
	live                        liveAPI
	routes, authorizers, stages children
	mappings                    children

	integrations map[string]Route  // by identity
	targets      map[string]string // of routes, by their key: identities of integrations
	routeIDs     map[string]string
	names        map[string]string // of authorizers: their identities
}

// compared is what is declared beside what is there. What has no target yet, since it is left out for now, is not looked at.
func compared(want HTTPAPIProps, live liveAPI) *work {
	w := &work{
		live: live, integrations: map[string]Route{}, targets: map[string]string{}, routeIDs: map[string]string{}, names: map[string]string{},
		routes:      children{at: "routes", elsewhere: map[string]tree.Path{}, want: object{}, have: object{}, hidden: []string{"parameters"}},
		authorizers: children{at: "authorizers", want: object{}, have: object{}},
		stages:      children{at: "stages", noneIsSaid: true, want: object{}, have: object{}, hidden: []string{"variables"}},
		mappings:    children{at: "mappings", want: object{}, have: object{}},
	}
	w.seen()
	w.declared(want)
	w.routes.create, w.routes.update, w.routes.remove = w.createRoutes(), w.updateRoutes(), w.deleteRoutes()
	w.authorizers.create, w.authorizers.update, w.authorizers.remove = w.createAuthorizers(), w.updateAuthorizers(), w.deleteAuthorizers()
	w.stages.create, w.stages.update, w.stages.remove = w.createStages(), w.updateStages(), w.deleteStages()
	w.mappings.create, w.mappings.update, w.mappings.remove = w.createMappings(), w.updateMappings(), w.deleteMappings()
	return w
}

// declared fills in what is declared. What has no target is left out for now, and what is there in its place stays.
func (w *work) declared(want HTTPAPIProps) {
	for key, r := range want.Routes {
		w.routes.want[key] = unless(!r.targeted(), treeOf(&r))
	}
	for key, r := range want.Bindings {
		w.routes.want[key], w.routes.elsewhere[key] = unless(!r.targeted(), treeOf(&r)), tree.Path("bindings").Key(key)
	}
	for name, a := range want.Authorizers {
		w.authorizers.want[name] = unless(a.Issuer == "" && a.Lambda == "", treeOf(&a))
	}
	for at, m := range want.Mappings {
		w.mappings.want[at] = treeOf(&m)
	}
	for name, s := range want.Stages {
		w.stages.want[name] = treeOf(&s)
		if s.AccessLog != nil && s.AccessLog.Destination == "" {
			log, _ := tree.Get(w.stages.have[name], "accessLog")
			w.stages.want[name] = tree.With(w.stages.want[name], "accessLog", log)
		}
	}
}

func unless(later bool, v any) any {
	if later {
		return nil
	}
	return v
}

// seen fills in what is there.
func (w *work) seen() {
	for _, i := range w.live.integrations {
		w.integrations[sdkaws.ToString(i.IntegrationId)] = integrationOf(i)
	}
	for _, r := range w.live.routes {
		key := sdkaws.ToString(r.RouteKey)
		w.routes.have[key] = treeOf(new(w.live.route(r)))
		w.targets[key], w.routeIDs[key] = target(r), sdkaws.ToString(r.RouteId)
	}
	for _, a := range w.live.authorizers {
		name := sdkaws.ToString(a.Name)
		w.authorizers.have[name], w.names[name] = treeOf(new(authorizerOf(a))), sdkaws.ToString(a.AuthorizerId)
	}
	for at, m := range w.live.mappings {
		w.mappings.have[at] = m.shown(w.live.id)
	}
	for _, s := range w.live.stages {
		all, err := stageOf(s)
		if err != nil {
			panic("apigatewayv2: " + err.Error()) // see treeOf
		}
		w.stages.have[sdkaws.ToString(s.StageName)] = all
	}
}
