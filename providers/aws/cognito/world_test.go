package cognito

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

// world is ministack, which keeps what moto forgets with each update. It keeps too what an update does not name, where Cognito sets
// that to its default: the amendments say so to it.
type world struct{ awstest.World[aws.Cloud] }

// anyPool stands for the id of a pool of others, which ministack makes up, so that props can name it.
const anyPool = "POOL"

const account = "111122223333"

// resets are the defaults of what an update of a pool does not name, and refusals are those of updates that Cognito does not take.
var resets = map[string]any{
	"AutoVerifiedAttributes": list{}, "DeviceConfiguration": obj{}, "EmailConfiguration": obj{}, "SmsConfiguration": obj{}, "UserPoolTags": obj{},
	"AdminCreateUserConfig": obj{}, "UserPoolAddOns": obj{}, "VerificationMessageTemplate": obj{}, "AccountRecoverySetting": obj{}, "LambdaConfig": obj{},
	"UserAttributeUpdateSettings": obj{}, "DeletionProtection": "INACTIVE", "MfaConfiguration": "OFF", "Policies": obj{}, "SmsAuthenticationMessage": "",
}

func amendments(pool *string) awstest.Amendments {
	renamed := map[any]any{} // names that UpdateUserPool was told, which ministack does not take, by pool
	a := awstest.Amendments{
		Account: account,
		Refuse: map[string]func(awstest.Fields) string{
			"SetUserPoolMfaConfig": func(in awstest.Fields) string {
				isOff := in["MfaConfiguration"] == "OFF"
				if has := in["SmsMfaConfiguration"] != nil || in["SoftwareTokenMfaConfiguration"] != nil; has == isOff {
					return "InvalidParameterException"
				}
				return ""
			},
			"UpdateUserPool": func(in awstest.Fields) string {
				if admin, ok := in["AdminCreateUserConfig"].(obj); ok && admin["UnusedAccountValidityDays"] != nil {
					return "InvalidParameterException"
				}
				return ""
			},
		},
		Edit: map[string]func(awstest.Fields){
			"UpdateUserPool": func(in awstest.Fields) {
				for name, v := range resets {
					if in[name] == nil {
						in[name] = v
					}
				}
			},
			"SetUserPoolMfaConfig": func(in awstest.Fields) {
				for _, name := range []string{"SmsMfaConfiguration", "SoftwareTokenMfaConfiguration", "EmailMfaConfiguration", "WebAuthnConfiguration"} {
					if in[name] == nil {
						in[name] = obj{}
					}
				}
			},
			"UpdateUserPoolClient": func(in awstest.Fields) {
				for _, name := range []string{
					"ReadAttributes", "WriteAttributes", "ExplicitAuthFlows", "SupportedIdentityProviders", "CallbackURLs", "LogoutURLs", "AllowedOAuthFlows", "AllowedOAuthScopes",
				} {
					if in[name] == nil {
						in[name] = list{}
					}
				}
				for name, v := range (obj{
					"DefaultRedirectURI": "", "AllowedOAuthFlowsUserPoolClient": false, "PreventUserExistenceErrors": "LEGACY", "EnableTokenRevocation": true,
					"EnablePropagateAdditionalUserContextData": false, "AuthSessionValidity": 3, "RefreshTokenValidity": 30, "TokenValidityUnits": obj{},
				}) {
					if in[name] == nil {
						in[name] = v
					}
				}
			},
		},
		Show: map[string]func(in, out awstest.Fields){
			"DescribeUserPoolClient": func(_, out awstest.Fields) {
				if shown, ok := out["UserPoolClient"].(obj); ok {
					shown["UserPoolId"] = anyPool
				}
			},
			"UpdateUserPool": func(in, _ awstest.Fields) {
				if name := in["PoolName"]; name != nil {
					renamed[in["UserPoolId"]] = name
				}
			},
			"DescribeUserPool": func(_, out awstest.Fields) { showRenamed(out["UserPool"], renamed) },
			"ListUserPools": func(_, out awstest.Fields) {
				pools, _ := out["UserPools"].(list)
				for _, pool := range pools {
					showRenamed(pool, renamed)
				}
			},
		},
	}
	for _, name := range []string{"CreateUserPoolClient", "DescribeUserPoolClient", "UpdateUserPoolClient", "DeleteUserPoolClient", "ListUserPoolClients"} {
		before := a.Edit[name]
		a.Edit[name] = func(in awstest.Fields) {
			if in["UserPoolId"] == anyPool {
				in["UserPoolId"] = *pool
			}
			if before != nil {
				before(in)
			}
		}
	}
	return a
}

func showRenamed(pool any, names map[any]any) {
	if pool, ok := pool.(obj); ok {
		if name := names[pool["Id"]]; name != nil {
			pool["Name"] = name
		}
		delete(pool, "PoolName")
	}
}

func worldOf(k reconcile.Any, address string) func(t *testing.T) *world {
	return func(t *testing.T) *world {
		t.Helper()
		server := awstest.StartMinistack(t)
		connect := func(cfg sdkaws.Config, _ ...func(*struct{})) *aws.Cloud { return aws.FromConfig(cfg).AtAnyRate() }
		var pool string
		w := &world{awstest.NewWorld(t, server, awstest.Amend(t, server, amendments(&pool)), connect, k, address)}
		w.Located(t, account)
		if address == "web" {
			pool = w.ask(t, "CreateUserPool", obj{"PoolName": "theirs"})["UserPool"].(obj)["Id"].(string)
			server.Reset()
		}
		return w
	}
}

var (
	newPoolWorld   = worldOf(poolKind.Erase(), "users")
	newClientWorld = worldOf(clientKind.Erase(), "web")
)

// ask makes a call as somebody else.
func (w *world) ask(t kindtest.T, operation string, in obj) obj {
	t.Helper()
	out := obj{}
	if err := service().Call(context.Background(), w.Others, operation, in, &out); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return out
}

func (w *world) described(t kindtest.T, id any) obj {
	t.Helper()
	return w.ask(t, "DescribeUserPool", obj{"UserPoolId": id})["UserPool"].(obj)
}

// pools are all as others see them.
func (w *world) pools(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, item := range w.ask(t, "ListUserPools", obj{"MaxResults": 60})["UserPools"].([]any) {
		id := item.(obj)["Id"]
		shown := w.described(t, id)
		tags := map[string]string{}
		for k, v := range shown["UserPoolTags"].(obj) {
			tags[k] = v.(string)
		}
		shown["UserPoolTags"] = awstest.Owned(tags)
		for _, name := range []string{"Id", "Arn", "Name", "CreationDate", "LastModifiedDate", "SmsVerificationMessage", "EmailVerificationMessage", "EmailVerificationSubject"} {
			delete(shown, name)
		}
		for _, name := range []string{"SmsMfaConfiguration", "SoftwareTokenMfaConfiguration", "MfaConfiguration"} {
			delete(shown, name) // they are shown by themselves
		}
		mfa := w.ask(t, "GetUserPoolMfaConfig", obj{"UserPoolId": id})
		if mfa["MfaConfiguration"] == "OFF" {
			mfa = obj{"MfaConfiguration": "OFF"}
		}
		shown["mfa"] = mfa
		if password, ok := shown["Policies"].(obj)["PasswordPolicy"].(obj); ok && password["PasswordHistorySize"] == 0.0 {
			delete(password, "PasswordHistorySize")
		}
		shown["SchemaAttributes"] = slices.DeleteFunc(shown["SchemaAttributes"].([]any), func(a any) bool {
			return a.(obj)["Required"] != true && !strings.HasPrefix(a.(obj)["Name"].(string), "custom:")
		})
		for name, v := range shown {
			if isEmpty, ok := v.([]any); ok && len(isEmpty) == 0 {
				delete(shown, name)
			}
		}
		compact(shown)
		all = append(all, shown)
	}
	return all
}

// clients are all of the pool of others, as others see them.
func (w *world) clients(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, item := range w.ask(t, "ListUserPoolClients", obj{"UserPoolId": anyPool, "MaxResults": 60})["UserPoolClients"].([]any) {
		shown := w.ask(t, "DescribeUserPoolClient", obj{"UserPoolId": anyPool, "ClientId": item.(obj)["ClientId"]})["UserPoolClient"].(obj)
		for _, name := range []string{"ClientId", "ClientName", "CreationDate", "LastModifiedDate", "UserPoolId"} {
			delete(shown, name)
		}
		if shown["ClientSecret"] != nil {
			shown["ClientSecret"] = "a secret"
		}
		for name, v := range shown {
			if isEmpty, ok := v.([]any); ok && len(isEmpty) == 0 {
				delete(shown, name)
			}
		}
		compact(shown)
		all = append(all, shown)
	}
	return all
}

func fault(class reconcile.Class) error {
	return awstest.Errors("NotAuthorizedException", "TooManyRequestsException", "InternalErrorException")(class)
}

// poolHands write a pool as somebody else would: everything that an update takes, at once.
func poolHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	whole := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		w.ask(t, "UpdateUserPool", written(t, w.described(t, to.Attrs["id"]), to))
		return nil
	})
	rename := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		in := written(t, w.described(t, to.Attrs["id"]), to)
		in["PoolName"] = cmp.Or(to.Text(), "by-hand")
		w.ask(t, "UpdateUserPool", in)
		return nil
	})
	factors := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		p := kindtest.PropsOf(t, poolTable, to.Props)
		in := obj{"UserPoolId": to.Attrs["id"], "MfaConfiguration": *p.MFA}
		if *p.MFA != "OFF" {
			in["SoftwareTokenMfaConfiguration"] = obj{"Enabled": slices.Contains(p.Factors, "totp")}
			if in["SmsMfaConfiguration"] = (obj{}); slices.Contains(p.Factors, "sms") {
				in["SmsMfaConfiguration"] = obj{"SmsConfiguration": filled("SnsCallerArn", string(p.SMS.Role), "ExternalId", p.SMS.ExternalID)}
			}
		}
		w.ask(t, "SetUserPoolMfaConfig", in)
		return nil
	})
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			w.ask(t, "DeleteUserPool", obj{"UserPoolId": to.Attrs["id"]})
			return nil
		}),
		"name": rename, "mfa": factors, "factors": factors,
		"attributes": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			have := UserPoolProps{}
			have.readSchema(w.described(t, to.Attrs["id"]))
			var more list
			for name, a := range kindtest.PropsOf(t, poolTable, to.Props).Attributes {
				if _, ok := have.Attributes[name]; !ok {
					more = append(more, a.sent(name))
				}
			}
			if len(more) > 0 {
				w.ask(t, "AddCustomAttributes", obj{"UserPoolId": to.Attrs["id"], "CustomAttributes": more})
			}
			return nil
		}),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			arn, have := to.Attrs["arn"], map[string]string{}
			for k, v := range w.described(t, to.Attrs["id"])["UserPoolTags"].(obj) {
				have[k] = v.(string)
			}
			return awstest.Retag(have, to, func(keys []string) error {
				w.ask(t, "UntagResource", obj{"ResourceArn": arn, "TagKeys": keys})
				return nil
			}, func(tags map[string]string) error {
				w.ask(t, "TagResource", obj{"ResourceArn": arn, "Tags": tags})
				return nil
			})
		}),
	}
	for _, path := range []tree.Path{
		"passwordPolicy", "autoVerify", "verifyBeforeUpdate", "recovery", "adminCreateOnly", "devices", "deviceChallenge", "tier", "threatProtection", "email",
		"sms", "verification", "invitation", "triggers", "deletionProtection",
	} {
		hands[path] = whole
	}
	return hands
}

// written is a whole update of a pool, written down by the API's own names.
func written(t kindtest.T, shown obj, to kindtest.Edited) obj {
	t.Helper()
	p := withRecovery(kindtest.PropsOf(t, poolTable, to.Props))
	password, mail, v, inv, tr := p.PasswordPolicy, p.Email, p.Verification, p.Invitation, p.Triggers
	in := obj{
		"UserPoolId": to.Attrs["id"], "UserPoolTags": shown["UserPoolTags"], "MfaConfiguration": shown["MfaConfiguration"], "UserPoolTier": *p.Tier,
		"Policies": obj{"PasswordPolicy": obj{
			"MinimumLength": *password.MinimumLength, "RequireLowercase": *password.RequireLowercase, "RequireUppercase": *password.RequireUppercase,
			"RequireNumbers": *password.RequireNumbers, "RequireSymbols": *password.RequireSymbols, "PasswordHistorySize": password.HistorySize,
			"TemporaryPasswordValidityDays": int(*password.TemporaryValidity / (24 * time.Hour)),
		}},
		"AutoVerifiedAttributes": p.AutoVerify, "UserAttributeUpdateSettings": obj{"AttributesRequireVerificationBeforeUpdate": p.VerifyBeforeUpdate},
		"UserPoolAddOns": obj{"AdvancedSecurityMode": *p.ThreatProtection}, "DeletionProtection": map[bool]string{true: "ACTIVE", false: "INACTIVE"}[p.DeletionProtection],
		"AdminCreateUserConfig": obj{"AllowAdminCreateUserOnly": p.AdminCreateOnly, "InviteMessageTemplate": filled(
			"EmailSubject", inv.EmailSubject, "EmailMessage", inv.EmailMessage, "SMSMessage", inv.SMSMessage)},
		"EmailConfiguration": filled("EmailSendingAccount", *mail.Account, "SourceArn", string(mail.Source), "From", mail.From, "ReplyToEmailAddress", mail.ReplyTo,
			"ConfigurationSet", mail.ConfigurationSet),
		"SmsConfiguration": filled("SnsCallerArn", string(p.SMS.Role), "ExternalId", p.SMS.ExternalID),
		"VerificationMessageTemplate": filled("DefaultEmailOption", *v.By, "EmailSubject", v.EmailSubject, "EmailMessage", v.EmailMessage, "EmailSubjectByLink", v.LinkSubject,
			"EmailMessageByLink", v.LinkMessage, "SmsMessage", v.SMSMessage),
	}
	ways := list{}
	for i, name := range p.Recovery {
		ways = append(ways, obj{"Priority": i + 1, "Name": name})
	}
	in["AccountRecoverySetting"] = obj{"RecoveryMechanisms": ways}
	if *p.Devices != "NONE" {
		in["DeviceConfiguration"] = obj{"ChallengeRequiredOnNewDevice": p.DeviceChallenge, "DeviceOnlyRememberedOnUserPrompt": *p.Devices == "PROMPT"}
	}
	triggers := filled("PreSignUp", string(tr.PreSignUp), "PostConfirmation", string(tr.PostConfirmation), "PreAuthentication", string(tr.PreAuthentication),
		"PostAuthentication", string(tr.PostAuthentication), "CustomMessage", string(tr.CustomMessage), "DefineAuthChallenge", string(tr.DefineAuthChallenge),
		"CreateAuthChallenge", string(tr.CreateAuthChallenge), "VerifyAuthChallengeResponse", string(tr.VerifyAuthChallenge), "UserMigration", string(tr.UserMigration))
	if tr.PreToken != "" {
		triggers["PreTokenGenerationConfig"] = obj{"LambdaArn": tr.PreToken, "LambdaVersion": *tr.PreTokenVersion}
	}
	in["LambdaConfig"] = triggers
	return in
}

// filled is an object of pairs, without those that are empty.
func filled(pairs ...string) obj {
	out := obj{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			out[pair[0]] = pair[1]
		}
	}
	return out
}

// clientHands write a client as somebody else would, in the units of the console.
func clientHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	whole := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		p := withFlows(kindtest.PropsOf(t, clientTable, to.Props))
		in := obj{
			"UserPoolId": anyPool, "ClientId": to.Attrs["id"], "ClientName": to.Attrs["name"], "ExplicitAuthFlows": p.AuthFlows, "AllowedOAuthFlowsUserPoolClient": p.OAuth,
			"AllowedOAuthFlows": p.OAuthFlows, "AllowedOAuthScopes": p.OAuthScopes, "CallbackURLs": p.CallbackURLs, "LogoutURLs": p.LogoutURLs,
			"DefaultRedirectURI": p.DefaultRedirectURI, "SupportedIdentityProviders": p.IdentityProviders, "AuthSessionValidity": int(p.AuthSessionValidity.Minutes()),
			"EnableTokenRevocation": *p.TokenRevocation, "PreventUserExistenceErrors": *p.PreventUserExistenceErrors,
			"EnablePropagateAdditionalUserContextData": p.PropagateUserContext, "ReadAttributes": p.ReadAttributes, "WriteAttributes": p.WriteAttributes,
			"AccessTokenValidity": int(p.AccessTokenValidity.Minutes()), "IdTokenValidity": int(p.IDTokenValidity.Minutes()),
			"RefreshTokenValidity": int(p.RefreshTokenValidity.Hours()), "TokenValidityUnits": obj{"AccessToken": "minutes", "IdToken": "minutes", "RefreshToken": "hours"},
		}
		maps.DeleteFunc(in, func(_ string, v any) bool { s, isList := v.([]string); return isList && s == nil || v == "" })
		w.ask(t, "UpdateUserPoolClient", in)
		return nil
	})
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			w.ask(t, "DeleteUserPoolClient", obj{"UserPoolId": anyPool, "ClientId": to.Attrs["id"]})
			return nil
		}),
	}
	hands["name"] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		in := w.ask(t, "DescribeUserPoolClient", obj{"UserPoolId": anyPool, "ClientId": to.Attrs["id"]})["UserPoolClient"].(obj)
		for _, name := range unsent() {
			delete(in, name)
		}
		in["ClientName"] = cmp.Or(to.Text(), "by-hand")
		w.ask(t, "UpdateUserPoolClient", in)
		return nil
	})
	for path := range strings.FieldsSeq(`authFlows oAuth oAuthFlows oAuthScopes callbackUrls logoutUrls defaultRedirectUri identityProviders accessTokenValidity
		idTokenValidity refreshTokenValidity authSessionValidity tokenRevocation preventUserExistenceErrors propagateUserContext readAttributes writeAttributes`) {
		hands[tree.Path(path)] = whole
	}
	return hands
}
