package cognito

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// inPool are props of a client in the pool of others.
func inPool(more obj) obj {
	all := obj{"userPool": anyPool}
	maps.Copy(all, more)
	return all
}

// web are props of a client whose users sign in on pages.
func web(more obj) obj {
	all := obj{
		"userPool": anyPool, "generateSecret": true, "oAuth": true, "oAuthFlows": list{"code"}, "oAuthScopes": list{"openid"}, "callbackUrls": list{"https://shop.example/in"},
	}
	maps.Copy(all, more)
	return all
}

func clientSuite(base obj, variants ...kindtest.Variant) kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(clientTable, kindtest.Suite{
		Kind:     clientKind.Erase(),
		World:    ws.Make(newClientWorld, (*world).clients),
		Base:     base,
		Fault:    fault,
		Variants: variants,
		Hands:    clientHands(ws),
		Others: map[tree.Path][]any{
			"accessTokenValidity": {"20m"}, "idTokenValidity": {"20m"}, "refreshTokenValidity": {"72h"}, "authSessionValidity": {"7m"},
			"authFlows": {list{"ALLOW_USER_PASSWORD_AUTH"}}, "oAuthFlows": {list{"implicit"}}, "callbackUrls": {list{"https://shop.example/other"}},
			"logoutUrls": {list{"https://shop.example/other"}}, "defaultRedirectUri": {"https://shop.example/also"}, "identityProviders": {list{"COGNITO"}},
			"writeAttributes": {list{"email"}},
		},
		Steady: map[tree.Path]string{
			"userPool": "a client keeps its pool for life", "generateSecret": "a client keeps its secret for life",
		},
	})
}

func TestUserPoolClient(t *testing.T) {
	t.Parallel()
	tuned := kindtest.Variant{Name: "tuned", Props: web(obj{
		"oAuthFlows": list{"code", "implicit"}, "oAuthScopes": list{"openid", "email"}, "callbackUrls": list{"https://shop.example/in", "https://shop.example/also"},
		"logoutUrls": list{"https://shop.example/out", "https://shop.example/away"}, "defaultRedirectUri": "https://shop.example/in", "identityProviders": list{"Google", "COGNITO"},
		"authFlows": list{"ALLOW_USER_SRP_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"}, "accessTokenValidity": "15m", "idTokenValidity": "30m", "refreshTokenValidity": "48h",
		"authSessionValidity": "5m", "tokenRevocation": false, "preventUserExistenceErrors": "ENABLED", "propagateUserContext": true,
		"readAttributes": list{"email", "name"}, "writeAttributes": list{"name", "email"},
	})}
	named := kindtest.Variant{Name: "named", Props: obj{"userPool": anyPool, "name": "The app", "oAuth": true}}
	plain := kindtest.Variant{Name: "plain", Props: obj{"userPool": anyPool, "generateSecret": true}}
	for _, c := range kindtest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Name == kindtest.PropAlone { // what is for pages alone keeps oAuth from changing alone
				c.Do(t, clientSuite(web(nil), tuned, named))
				c.Do(t, clientSuite(obj{"userPool": anyPool, "generateSecret": true, "oAuth": true}, plain))
				return
			}
			c.Do(t, clientSuite(web(nil), tuned, named, plain))
		})
	}
}

// TestClientFaults breaks each call of a creation: there is one client in the end.
func TestClientFaults(t *testing.T) {
	t.Parallel()
	awstest.Faults(t, newClientWorld, kindtest.Quick(clientKind, 300*time.Millisecond), obj{"userPool": anyPool, "generateSecret": true}, (*world).clients, awstest.Broken{
		{Name: "the creation is not answered", Fault: awstest.Fault{Op: "Cognito.CreateUserPoolClient", Kind: awstest.DropAnswer}, Wrote: 1},
		{Name: "the creation fails", Fault: awstest.Fault{Op: "Cognito.CreateUserPoolClient", Kind: awstest.ServerError}, Wrote: 2},
		{Name: "the list is throttled", Fault: awstest.Fault{Op: "Cognito.ListUserPoolClients", Kind: awstest.Throttle}, Wrote: 1},
		{Name: "a read fails", Fault: awstest.Fault{Op: "Cognito.DescribeUserPoolClient", Kind: awstest.ServerError}, Wrote: 1},
	})
}

func TestClientDenied(t *testing.T) {
	t.Parallel()
	awstest.Denied(t, newClientWorld, obj{"userPool": anyPool}, "Cognito.CreateUserPoolClient", "Cognito.DescribeUserPoolClient", "Cognito.ListUserPoolClients")
}

// TestClientSecret: it comes with the creation, and with each read, in state alone.
func TestClientSecret(t *testing.T) {
	t.Parallel()
	w := newClientWorld(t)
	out := w.Settled(t, inPool(obj{"generateSecret": true}), nil)
	shown := w.ask(t, "DescribeUserPoolClient", obj{"UserPoolId": anyPool, "ClientId": out.Attrs["id"]})["UserPoolClient"].(obj)
	if out.Attrs["secret"] == "" || out.Attrs["secret"] != shown["ClientSecret"] {
		t.Errorf("%v, %v", out.Attrs["secret"] != "", out.Attrs["secret"] == shown["ClientSecret"])
	}
	if out.Identity != fmt.Sprint(anyPool, "/", out.Attrs["id"]) || !slices.Contains(fmtPaths(clientKind.Erase().Spec().SecretAttrs), "secret") {
		t.Errorf("%s, %v", out.Identity, clientKind.Erase().Spec().SecretAttrs)
	}
	found := w.Settled(t, inPool(obj{"generateSecret": true}), nil)
	if found.Created || found.Attrs["secret"] != out.Attrs["secret"] {
		t.Error("it is found without state, with its secret")
	}
}

func fmtPaths(paths []tree.Path) (all []string) {
	for _, p := range paths {
		all = append(all, string(p))
	}
	return all
}

// TestClientRestStays: an update keeps what is not managed.
func TestClientRestStays(t *testing.T) {
	t.Parallel()
	w := newClientWorld(t)
	out := w.Settled(t, inPool(nil), nil)
	w.ask(t, "UpdateUserPoolClient", obj{"UserPoolId": anyPool, "ClientId": out.Attrs["id"], "ClientName": out.Attrs["name"], "AnalyticsConfiguration": obj{"ApplicationId": "a1"}})
	w.Settled(t, inPool(obj{"preventUserExistenceErrors": "ENABLED"}), &out)
	shown := w.ask(t, "DescribeUserPoolClient", obj{"UserPoolId": anyPool, "ClientId": out.Attrs["id"]})["UserPoolClient"].(obj)
	if id, _ := tree.Get(shown, "AnalyticsConfiguration.ApplicationId"); id != "a1" || shown["PreventUserExistenceErrors"] != "ENABLED" {
		t.Errorf("%v", shown)
	}
}

// TestValidity reads the time of tokens in each unit that Cognito has, and its default where it shows none.
func TestValidity(t *testing.T) {
	for unit, want := range map[string]time.Duration{"": 2 * time.Hour, "seconds": 2 * time.Second, "minutes": 2 * time.Minute, "hours": 2 * time.Hour, "days": 48 * time.Hour} {
		shown := kind.Document{"AccessTokenValidity": int64(2), "TokenValidityUnits": map[string]any{"AccessToken": unit}}
		if have := validity(shown, "Access", time.Hour, time.Hour); *have != want {
			t.Errorf("2 %s are %s", unit, *have)
		}
	}
	if have := validity(kind.Document{"RefreshTokenValidity": int64(0)}, "Refresh", day, 30*day); *have != 30*day {
		t.Errorf("0 are %s", *have)
	}
}

func TestClientRefused(t *testing.T) {
	kindtest.Refuses(t, clientKind.Erase(), kindtest.Refusals{
		{obj{"userPool": "p", "authFlows": list{"ADMIN_NO_SRP_AUTH"}}, "ALLOW_"},
		{obj{"userPool": "p", "oAuth": true, "oAuthFlows": list{"password"}}, "code, implicit"},
		{obj{"userPool": "p", "oAuth": true, "generateSecret": true, "oAuthFlows": list{"client_credentials", "code"}}, "stands alone"},
		{obj{"userPool": "p", "oAuth": true, "oAuthFlows": list{"client_credentials"}}, "need a secret"},
		{obj{"userPool": "p", "callbackUrls": list{"https://a.example"}}, "with oAuth alone"},
		{obj{"userPool": "p", "defaultRedirectUri": "https://a.example"}, "callbackUrls"},
		{obj{"userPool": "p", "propagateUserContext": true}, "needs a secret"},
		{obj{"userPool": "p", "accessTokenValidity": "300500ms"}, "whole seconds"},
		{obj{"userPool": "p", "accessTokenValidity": "1m"}, "accessTokenValidity"},
		{obj{}, "userPool"},
		{obj{"userPool": "p"}, ""},
	})
}

// TestGoldenClient has the members of
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPoolClient.html as it shows them.
func TestGoldenClient(t *testing.T) {
	declared := obj{
		"userPool": "us-east-1_a", "generateSecret": true, "authFlows": list{"ALLOW_USER_SRP_AUTH"}, "oAuth": true, "oAuthFlows": list{"code"}, "oAuthScopes": list{"openid"},
		"callbackUrls": list{"https://shop.example/in"}, "logoutUrls": list{"https://shop.example/out"}, "defaultRedirectUri": "https://shop.example/in",
		"identityProviders": list{"COGNITO"}, "authSessionValidity": "5m", "tokenRevocation": false, "preventUserExistenceErrors": "ENABLED",
		"propagateUserContext": true, "readAttributes": list{"email"}, "writeAttributes": list{"name"},
	}
	body := kind.Document{
		"UserPoolId": "us-east-1_a", "GenerateSecret": true, "ExplicitAuthFlows": list{"ALLOW_USER_SRP_AUTH"}, "AllowedOAuthFlowsUserPoolClient": true,
		"AllowedOAuthFlows": list{"code"}, "AllowedOAuthScopes": list{"openid"}, "CallbackURLs": list{"https://shop.example/in"}, "LogoutURLs": list{"https://shop.example/out"},
		"DefaultRedirectURI": "https://shop.example/in", "SupportedIdentityProviders": list{"COGNITO"}, "AuthSessionValidity": int64(5), "EnableTokenRevocation": false,
		"PreventUserExistenceErrors": "ENABLED", "EnablePropagateAdditionalUserContextData": true, "ReadAttributes": list{"email"}, "WriteAttributes": list{"name"},
	}
	kindtest.Golden(t, clientTable, declared, kind.Document{}, body)
	sent := kind.Document{"ClientName": "web"}
	p := kindtest.PropsOf(t, clientTable, declared)
	if err := clientTable.Created(p, sent); err != nil {
		t.Fatal(err)
	}
	setValidity(p, sent)
	if sent["AccessTokenValidity"] != int64(3600) || sent["RefreshTokenValidity"] != int64(2592000) || sent.Get("TokenValidityUnits.IdToken") != "seconds" {
		t.Errorf("%v", sent)
	}
	awstest.ConformTree(t, "cognito-idp", "CreateUserPoolClient", plain(sent))
	awstest.ConformTree(t, "cognito-idp", "ListUserPoolClients", obj{"UserPoolId": "us-east-1_a", "MaxResults": int64(60)})
	// Each member of an answer but a few can be sent back with an update.
	m := awstest.LoadModel(t, "cognito-idp")
	takes := m.Shapes[m.Operations["UpdateUserPoolClient"].Input.Shape].Members
	for name := range m.Shapes["UserPoolClientType"].Members {
		if _, ok := takes[name]; ok == slices.Contains(unsent(), name) {
			t.Errorf("%s is taken: %v", name, ok)
		}
	}
}
