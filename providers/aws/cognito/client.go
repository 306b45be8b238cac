package cognito

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// NewUserPoolClient declares a client of a user pool.
func NewUserPoolClient(s *athanor.Stack, name string, p UserPoolClientProps, opts ...athanor.Option) UserPoolClient {
	return athanor.Declare(s, clientKind, name, p, opts...)
}

// ReadUserPoolClient uses a client that the stack does not own: by POOL/CLIENT, the ids of both, or by UserPoolClientProps that name the
// pool and the client.
func ReadUserPoolClient(s *athanor.Stack, name string, by any) UserPoolClient {
	return athanor.Read(s, clientKind, name, by)
}

// UserPoolClientProps declare a client of a user pool: an application that signs users in. Defaults and limits are those of
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPoolClient.html
type UserPoolClientProps struct {
	// UserPool is the id of the pool.
	UserPool string `prop:"required,immutable,maxlen=55" wire:"UserPoolId"`
	// Name of the client: up to 128 letters, digits, spaces and _ + = , . @ - characters. Default: none, a name is generated. A change
	// renames the client in place.
	Name string
	// GenerateSecret makes a secret that the client proves itself with: for servers, and not for what runs in the hands of users.
	GenerateSecret bool `prop:"default=false,immutable" wire:"GenerateSecret"`
	// AuthFlows are the ways to sign in by the API: ALLOW_USER_AUTH, ALLOW_USER_SRP_AUTH, ALLOW_USER_PASSWORD_AUTH,
	// ALLOW_ADMIN_USER_PASSWORD_AUTH, ALLOW_CUSTOM_AUTH, ALLOW_REFRESH_TOKEN_AUTH. Default: ALLOW_REFRESH_TOKEN_AUTH, ALLOW_USER_SRP_AUTH and
	// ALLOW_CUSTOM_AUTH.
	AuthFlows []string `prop:"set" wire:"ExplicitAuthFlows"`
	// OAuth lets users sign in on the pages of the pool's domain, and gives tokens as OAuth 2.0 does.
	OAuth bool `prop:"default=false" wire:"AllowedOAuthFlowsUserPoolClient"`
	// OAuthFlows are the grants of OAuth 2.0: code, implicit, or client_credentials alone, with oAuth. Default: none.
	OAuthFlows []string `prop:"set,maxitems=3" wire:"AllowedOAuthFlows"`
	// OAuthScopes are what tokens are good for: openid, email, phone, profile, aws.cognito.signin.user.admin, and those of resource
	// servers, with oAuth. Default: none.
	OAuthScopes []string `prop:"set,maxitems=50" wire:"AllowedOAuthScopes"`
	// CallbackURLs are where users may be sent once they are signed in, with oAuth. Default: none.
	CallbackURLs []string `prop:"set,maxitems=100" wire:"CallbackURLs"`
	// LogoutURLs are where users may be sent once they are signed out, with oAuth. Default: none.
	LogoutURLs []string `prop:"set,maxitems=100" wire:"LogoutURLs"`
	// DefaultRedirectURI is the one of callbackUrls that is taken where a request names none. Default: none.
	DefaultRedirectURI string `prop:"maxlen=1024" wire:"DefaultRedirectURI"`
	// IdentityProviders are those that users can choose: COGNITO for the pool itself, Google and others by their names. Default: none.
	IdentityProviders []string `prop:"set" wire:"SupportedIdentityProviders"`
	// AccessTokenValidity is how long access tokens count, in whole seconds.
	AccessTokenValidity *time.Duration `prop:"min=5m,max=24h,default=1h" wire:"-"`
	// IDTokenValidity is how long identity tokens count, in whole seconds.
	IDTokenValidity *time.Duration `prop:"min=5m,max=24h,default=1h" wire:"-"`
	// RefreshTokenValidity is how long users stay signed in, in whole seconds.
	RefreshTokenValidity *time.Duration `prop:"min=1h,max=3650d,default=30d" wire:"-"`
	// AuthSessionValidity is how long a user has for each step of signing in, in whole minutes.
	AuthSessionValidity *time.Duration `prop:"min=3m,max=15m,default=3m,unit=1m" wire:"AuthSessionValidity"`
	// TokenRevocation lets refresh tokens be revoked.
	TokenRevocation *bool `prop:"default=true" wire:"EnableTokenRevocation"`
	// PreventUserExistenceErrors answers alike whether a user exists (ENABLED), or says that there is none (LEGACY).
	PreventUserExistenceErrors *string `prop:"enum=LEGACY|ENABLED,default=LEGACY" wire:"PreventUserExistenceErrors"`
	// PropagateUserContext takes the address of a user's device from the client, for threat protection. It needs a secret.
	PropagateUserContext bool `prop:"default=false" wire:"EnablePropagateAdditionalUserContextData"`
	// ReadAttributes are the attributes of users that the client may read, custom ones as custom:NAME. Default: none, the standard ones.
	ReadAttributes []string `prop:"set" wire:"ReadAttributes"`
	// WriteAttributes are those that it may write. Default: none, the standard ones.
	WriteAttributes []string `prop:"set" wire:"WriteAttributes"`
}

// UserPoolClient is what others may refer to of a client of a user pool.
type UserPoolClient struct {
	// ID of the client: what signs users in names itself by it, and authorizers name it as the audience of tokens.
	ID string `attr:"early"`
	// UserPool is the id of the pool.
	UserPool string `attr:"early"`
	// Name of the client.
	Name string `attr:"early,mutable=name"`
	// Secret of the client, empty without one. It is secret, and kept sealed in state.
	Secret token.Secret `attr:"early"`
}

// liveClient is an observed client.
type liveClient struct {
	attrs UserPoolClient
	have  UserPoolClientProps
}

type (
	clientSite = kind.Site[UserPoolClientProps, UserPoolClient]
	clientOn   = kind.Update[liveClient]
)

var clientTable = kind.TableOf[UserPoolClientProps]()

var clientKind = &kind.Kind[UserPoolClientProps, liveClient, UserPoolClient]{
	Type: clientType,
	Doc: "A client of a user pool of Amazon Cognito: an application that signs users in, with its flows, addresses, the life of its tokens and its " +
		"secret. It has no tags: its name alone says whose it is in its pool. The rotation of refresh tokens and analytics are not managed, and stay.",

	Observe:    observeClient,
	Create:     createClient,
	Compare:    compareClient,
	Attributes: func(live liveClient) UserPoolClient { return live.attrs },
	Delete:     deleteClient,
	Identity:   func(c UserPoolClient) string { return c.UserPool + "/" + c.ID },

	Props:   clientTable,
	Default: withFlows,
	Check:   checkClient,
	Unique: func(want UserPoolClientProps) []string {
		return aws.Declares("AWS::Cognito::UserPoolClient", want.UserPool, want.Name)
	},
	Named: &kind.Named[UserPoolClientProps, liveClient]{
		Given: func(want UserPoolClientProps) string { return want.Name },
		Rule:  func(UserPoolClientProps) kind.NameRule { return kind.NameRule{Max: 128, Marks: "-_.+=,@ "} },
	},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Cognito", "cognito-idp", aws.Source(source), kind.Permissions{
		Observe: []string{"DescribeUserPoolClient", "ListUserPoolClients"},
		Create:  []string{"CreateUserPoolClient"},
		Update:  []string{"UpdateUserPoolClient"},
		Delete:  []string{"DeleteUserPoolClient"},
		Of:      "userPool",
		Resource: func(location kind.Location, pool string) []string {
			return []string{string(arnOf(location, pool))}
		},
	}),
}

var (
	errNoClient    = errors.New("a client is found by POOL/CLIENT, or by its pool and its name")
	errTwoClients  = fmt.Errorf("%w: several clients of the pool have this name", reconcile.ErrAmbiguous)
	errNoneOfNames = fmt.Errorf("%w: no client of the pool has this name", reconcile.ErrAbsent)
)

// standardFlows are those of a client that names none.
func standardFlows() []string {
	return []string{"ALLOW_CUSTOM_AUTH", "ALLOW_REFRESH_TOKEN_AUTH", "ALLOW_USER_SRP_AUTH"}
}

func withFlows(p UserPoolClientProps) UserPoolClientProps {
	if len(p.AuthFlows) == 0 {
		p.AuthFlows = standardFlows()
	}
	return p
}

// checkClient finds what Cognito would refuse, beyond what the table says.
func checkClient(want UserPoolClientProps) error {
	var problems props.Errors
	for i, flow := range want.AuthFlows {
		if !token.Has(flow) && !strings.HasPrefix(flow, "ALLOW_") {
			problems.Wrong(tree.Path("authFlows").Index(i), "want a flow such as ALLOW_USER_SRP_AUTH: those without ALLOW_ are no longer taken")
		}
	}
	for i, flow := range want.OAuthFlows {
		switch {
		case token.Has(flow):
		case !slices.Contains([]string{"code", "implicit", "client_credentials"}, flow):
			problems.Wrong(tree.Path("oAuthFlows").Index(i), "want one of code, implicit, client_credentials")
		case flow == "client_credentials" && len(want.OAuthFlows) > 1:
			problems.Wrong(tree.Path("oAuthFlows").Index(i), "client_credentials stands alone")
		case flow == "client_credentials" && !want.GenerateSecret:
			problems.Wrong("generateSecret", "client_credentials need a secret")
		}
	}
	if !want.OAuth {
		for path, list := range map[tree.Path][]string{
			"oAuthFlows": want.OAuthFlows, "oAuthScopes": want.OAuthScopes, "callbackUrls": want.CallbackURLs, "logoutUrls": want.LogoutURLs,
		} {
			if len(list) > 0 {
				problems.Wrong(path, "it counts with oAuth alone")
			}
		}
	}
	if uri := want.DefaultRedirectURI; uri != "" && !token.Has(uri) && !slices.Contains(want.CallbackURLs, uri) && !slices.ContainsFunc(want.CallbackURLs, token.Has) {
		problems.Wrong("defaultRedirectUri", "want one of callbackUrls")
	}
	if want.PropagateUserContext && !want.GenerateSecret {
		problems.Wrong("propagateUserContext", "it needs a secret: generateSecret")
	}
	for path, d := range map[tree.Path]*time.Duration{
		"accessTokenValidity": want.AccessTokenValidity, "idTokenValidity": want.IDTokenValidity, "refreshTokenValidity": want.RefreshTokenValidity,
	} {
		if d != nil && *d%time.Second != 0 {
			problems.Wrong(path, "want whole seconds")
		}
	}
	return problems.OrNil()
}

// observeClient reads a client by its id, or finds it by its name in the list of its pool.
func observeClient(ctx context.Context, s clientSite) (live liveClient, err error) {
	pool, id := s.Want.UserPool, ""
	switch {
	case s.Last != nil:
		pool, id = s.Last.UserPool, s.Last.ID
	case s.ID != "":
		var ok bool
		if pool, id, ok = strings.Cut(s.ID, "/"); !ok {
			return live, fmt.Errorf("%w: %q", errNoClient, s.ID)
		}
		if pool, err = poolID(pool, s.Location); err != nil {
			return live, err
		}
	case pool == "" || s.Name == "":
		return live, errNoClient
	case token.Has(pool):
		return live, reconcile.ErrAbsent // what is not known yet has none
	default:
		err := eachClient(ctx, s.Cloud, pool, func(found, name string) error {
			if name != s.Name {
				return nil
			}
			if id != "" {
				return errTwoClients
			}
			id = found
			return nil
		})
		if err != nil {
			return live, aws.Absent(err)
		}
		if id == "" {
			return live, errNoneOfNames
		}
	}
	shown, err := describeClient(ctx, s.Cloud, pool, id)
	if err != nil {
		return live, aws.Absent(err)
	}
	if live.have, err = clientTable.Read(shown); err != nil {
		return live, err
	}
	secret, _ := shown["ClientSecret"].(string)
	name, _ := shown["ClientName"].(string)
	live.attrs = UserPoolClient{ID: id, UserPool: pool, Name: name, Secret: token.Secret(secret)}
	live.have = withFlows(live.have)
	live.have.GenerateSecret = secret != ""
	live.have.AccessTokenValidity = validity(shown, "Access", time.Hour, time.Hour)
	live.have.IDTokenValidity = validity(shown, "Id", time.Hour, time.Hour)
	live.have.RefreshTokenValidity = validity(shown, "Refresh", day, 30*day)
	return live, nil
}

const day = 24 * time.Hour

// validity is how long a client's tokens count. Cognito counts in the unit that was named, and shows nothing or zero for its default.
func validity(shown kind.Document, of string, unit, standard time.Duration) *time.Duration {
	count, _ := shown[of+"TokenValidity"].(int64)
	name, _ := shown.Get("TokenValidityUnits." + of + "Token").(string)
	if named := map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour, "days": day}[name]; named != 0 {
		unit = named
	}
	if count == 0 {
		return &standard
	}
	return new(time.Duration(count) * unit)
}

// eachClient lists the clients of a pool, 60 by one call, until yield has an error.
func eachClient(ctx context.Context, cloud kind.Cloud, pool string, yield func(id, name string) error) error {
	in := kind.Document{"UserPoolId": pool, "MaxResults": 60}
	for {
		var page struct {
			UserPoolClients []struct {
				ID   string `json:"ClientId"`
				Name string `json:"ClientName"`
			}
			NextToken string
		}
		if err := call(ctx, cloud, "ListUserPoolClients", in, &page); err != nil {
			return err
		}
		for _, c := range page.UserPoolClients {
			if err := yield(c.ID, c.Name); err != nil {
				return err
			}
		}
		if in["NextToken"] = page.NextToken; page.NextToken == "" {
			return nil
		}
	}
}

func describeClient(ctx context.Context, cloud kind.Cloud, pool, id string) (kind.Document, error) {
	return described(ctx, cloud, "DescribeUserPoolClient", kind.Document{"UserPoolId": pool, "ClientId": id}, "UserPoolClient")
}

// setValidity says how long tokens count, in seconds.
func setValidity(p UserPoolClientProps, body kind.Document) {
	units := map[string]any{}
	for of, d := range map[string]*time.Duration{"Access": p.AccessTokenValidity, "Id": p.IDTokenValidity, "Refresh": p.RefreshTokenValidity} {
		body[of+"TokenValidity"], units[of+"Token"] = int64(*d/time.Second), "seconds"
	}
	body["TokenValidityUnits"] = units
}

func createClient(ctx context.Context, s clientSite) (UserPoolClient, error) {
	body := kind.Document{"ClientName": s.Name}
	if err := clientTable.Created(s.Want, body); err != nil {
		return UserPoolClient{}, err
	}
	setValidity(s.Want, body)
	var out struct {
		UserPoolClient struct{ ClientID, ClientSecret string }
	}
	err := call(ctx, s.Cloud, "CreateUserPoolClient", compact(body), &out)
	made := out.UserPoolClient
	return UserPoolClient{ID: made.ClientID, UserPool: s.Want.UserPool, Name: s.Name, Secret: token.Secret(made.ClientSecret)}, err
}

// unsent are members of a client that UpdateUserPoolClient does not take. It sets to their defaults those that it is not told:
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_UpdateUserPoolClient.html
func unsent() []string {
	return []string{"ClientSecret", "ClientType", "CreationDate", "LastModifiedDate"}
}

// compareClient states every aspect; one call sets all.
func compareClient(d *kind.Diff[liveClient], want UserPoolClientProps, live liveClient) {
	set := kind.Set("UpdateUserPoolClient", func(ctx context.Context, u clientOn) error {
		body, err := describeClient(ctx, u.Cloud, u.Live.attrs.UserPool, u.Live.attrs.ID)
		if err != nil {
			return aws.NotYet(err)
		}
		for _, name := range unsent() {
			delete(body, name)
		}
		if err := clientTable.Changed(want, u.Live.have, u.Changed, body); err != nil {
			return err
		}
		if slices.Contains(u.Changed, "name") {
			body["ClientName"] = u.Name
		}
		setValidity(clientTable.Merged(want, u.Live.have, u.Changed), body)
		return aws.NotYet(call(ctx, u.Cloud, "UpdateUserPoolClient", compact(body), nil))
	})
	kind.CompareName(d, "name", live.attrs.Name, set)
	kind.Compare(d, clientTable, want, live.have, set)
}

func deleteClient(ctx context.Context, s clientSite) error {
	return call(ctx, s.Cloud, "DeleteUserPoolClient", kind.Document{"UserPoolId": s.Last.UserPool, "ClientId": s.Last.ID}, nil)
}
