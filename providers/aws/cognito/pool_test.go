package cognito

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const (
	sender, texter = "arn:aws:ses:us-east-1:111122223333:identity/shop.example", "arn:aws:iam::111122223333:role/texter"
	function       = "arn:aws:lambda:us-east-1:111122223333:function:"
)

// tuned are props of a pool that are all set.
func tuned(more obj) obj {
	all := obj{
		"usernameAttributes": list{"phone_number", "email"}, "caseSensitive": false, "requiredAttributes": list{"phone_number", "email"},
		"passwordPolicy": obj{
			"minimumLength": int64(12), "requireLowercase": false, "requireUppercase": false, "requireNumbers": false, "requireSymbols": false,
			"historySize": int64(5), "temporaryValidity": "3d",
		},
		"mfa": "ON", "factors": list{"totp", "sms"}, "sms": obj{"role": texter + "2", "externalId": "shop"}, "autoVerify": list{"email", "phone_number"},
		"verifyBeforeUpdate": list{"phone_number", "email"}, "recovery": list{"verified_email"}, "adminCreateOnly": true, "devices": "PROMPT", "deviceChallenge": true,
		"tier": "PLUS", "threatProtection": "AUDIT", "deletionProtection": true,
		"email": obj{"account": "DEVELOPER", "source": sender, "from": "Shop <post@shop.example>", "replyTo": "help@shop.example", "configurationSet": "shop"},
		"verification": obj{
			"by": "CONFIRM_WITH_LINK", "emailSubject": "Your code", "emailMessage": "It is {####}", "linkSubject": "Welcome", "linkMessage": "{##Verify##} it",
			"smsMessage": "Code: {####}",
		},
		"invitation": obj{"emailSubject": "Come in", "emailMessage": "{username}, {####}", "smsMessage": "{username} {####}"},
		"triggers": obj{
			"preSignUp": function + "one", "postConfirmation": function + "two", "preAuthentication": function + "three", "postAuthentication": function + "four",
			"customMessage": function + "five", "defineAuthChallenge": function + "six", "createAuthChallenge": function + "seven",
			"verifyAuthChallenge": function + "eight", "userMigration": function + "nine", "preToken": function + "ten", "preTokenVersion": "V2_0",
		},
		"tags": obj{"team": "web", "cost center": "42"},
	}
	maps.Copy(all, more)
	return all
}

func base() obj {
	return obj{
		"requiredAttributes": list{"name"}, "autoVerify": list{"email"}, "tier": "PLUS", "mfa": "OPTIONAL", "factors": list{"totp"}, "sms": obj{"role": texter}, "devices": "ALWAYS",
		"tags": obj{"team": "shop"},
	}
}

// poolSuite is what is checked of a pool whose users have custom attributes.
func poolSuite(attributes obj) kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	with := func(props obj) obj {
		if props = maps.Clone(props); attributes != nil {
			props["attributes"] = attributes
		}
		return props
	}
	return kindtest.Derive(poolTable, kindtest.Suite{
		Kind:  poolKind.Erase(),
		World: ws.Make(newPoolWorld, (*world).pools),
		Base:  with(base()),
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: with(tuned(nil))},
			{Name: "named", Props: with(obj{"name": "Users of the shop", "aliasAttributes": list{"preferred_username", "email"}, "recovery": list{"admin_only"}})},
		},
		Hands: poolHands(ws),
		Others: map[tree.Path][]any{
			"passwordPolicy.temporaryValidity": {"10d"}, "autoVerify": {list{"phone_number"}}, "recovery": {list{"verified_email", "verified_phone_number"}},
			"verifyBeforeUpdate": {list{"phone_number"}},
		},
		Ordered: map[tree.Path]string{"recovery": "the first that a user has counts"},
		Open:    map[tree.Path]string{"attributes": "Cognito removes none: those that others add are left alone, and one that is no longer declared stays"},
		Steady: map[tree.Path]string{
			"attributes": "an attribute keeps its type for life", "requiredAttributes": "they are for life",
		},
	})
}

func TestUserPool(t *testing.T) {
	t.Parallel()
	for _, c := range kindtest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			attributes := obj{"plan": obj{"type": "String", "max": int64(20)}, "age": obj{"type": "Number", "min": int64(0), "immutable": true}}
			if c.Name == kindtest.Unset { // one that is no longer declared stays: see TestAttributes
				attributes = nil
			}
			c.Do(t, poolSuite(attributes))
		})
	}
}

// TestFaults breaks each call of a creation: there is one pool in the end, with its second factors.
func TestFaults(t *testing.T) {
	t.Parallel()
	declared := obj{"mfa": "ON", "factors": list{"totp"}, "tags": obj{"team": "shop"}}
	awstest.Faults(t, newPoolWorld, kindtest.Quick(poolKind, 300*time.Millisecond), declared, (*world).pools, awstest.Broken{
		{Name: "the creation is not answered", Fault: awstest.Fault{Op: "Cognito.CreateUserPool", Kind: awstest.DropAnswer}, Wrote: 2},
		{Name: "the creation fails", Fault: awstest.Fault{Op: "Cognito.CreateUserPool", Kind: awstest.ServerError}, Wrote: 3},
		{Name: "the factors are not answered", Fault: awstest.Fault{Op: "Cognito.SetUserPoolMfaConfig", Kind: awstest.DropAnswer}, Wrote: 2},
		{Name: "a read is throttled", Fault: awstest.Fault{Op: "Cognito.DescribeUserPool", Kind: awstest.Throttle}, Wrote: 2},
		{Name: "the list fails", Fault: awstest.Fault{Op: "Cognito.ListUserPools", Kind: awstest.ServerError}, Wrote: 2},
	})
}

// TestDenied fails at once, in the words of the service.
func TestDenied(t *testing.T) {
	t.Parallel()
	awstest.Denied(t, newPoolWorld, obj{"mfa": "ON", "factors": list{"totp"}}, "Cognito.CreateUserPool", "Cognito.DescribeUserPool", "Cognito.GetUserPoolMfaConfig",
		"Cognito.SetUserPoolMfaConfig")
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	awstest.Elsewhere(t, newPoolWorld, base(), "arn:aws:cognito-idp:eu-west-9:111122223333:userpool/eu-west-9_1", func(arn string) []string {
		return []string{arn[strings.LastIndexByte(arn, '/')+1:]}
	})
}

// TestMatch knows pools by their ARNs, and no identity pools.
func TestMatch(t *testing.T) {
	if kind, id, _, ok := Service().Match("arn:aws:cognito-idp:eu-west-1:111122223333:userpool/eu-west-1_a"); !ok || kind != poolType || id != "eu-west-1_a" {
		t.Errorf("%s %s %v", kind, id, ok)
	}
	if _, _, _, ok := Service().Match("arn:aws:cognito-identity:eu-west-1:111122223333:identitypool/eu-west-1:a"); ok {
		t.Error("an identity pool is none")
	}
}

// TestAttributes: custom ones are added to the pool; one that is changed replaces it; and those that others add, or that are no longer
// declared, are left alone.
func TestAttributes(t *testing.T) {
	t.Parallel()
	w := newPoolWorld(t)
	plan := obj{"plan": obj{"max": int64(20)}}
	out := w.Settled(t, obj{"attributes": plan}, nil)
	w.Server.Reset()
	next := w.Settled(t, obj{"attributes": obj{"plan": obj{"max": int64(20)}, "since": obj{"type": "DateTime"}, "points": obj{"type": "Number", "min": int64(-5), "max": int64(5)}}}, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"Cognito.AddCustomAttributes"}) || next.Identity != out.Identity {
		t.Errorf("it makes %v, and is %s", have, next.Identity)
	}
	w.ask(t, "AddCustomAttributes", obj{"UserPoolId": out.Identity, "CustomAttributes": list{obj{"Name": "theirs", "AttributeDataType": "String"}}})
	look, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, obj{"attributes": plan}, &next))
	if err != nil || len(look.Steps) > 0 {
		t.Errorf("%+v, %v", look.Steps, err)
	}
	look, err = w.Kind.Look(t.Context(), w.Job(t, w.Kind, obj{"attributes": obj{"plan": obj{"max": int64(30)}}}, &next))
	if err != nil || len(look.Steps) != 1 || !look.Steps[0].Replaces || look.Steps[0].Path != "attributes.plan" {
		t.Errorf("%+v, %v", look.Steps, err)
	}
}

// TestUsersAreData does not delete a pool with users or protection until that is permitted, even where Cognito's estimate is late.
func TestUsersAreData(t *testing.T) {
	t.Parallel()
	w := newPoolWorld(t)
	out := w.Settled(t, obj{}, nil)
	w.ask(t, "AdminCreateUser", obj{"UserPoolId": out.Identity, "Username": "one"})
	job := w.Job(t, w.Kind, nil, &out)
	live := livePool{attrs: UserPool{ID: out.Identity}}
	if poolKind.HoldsData.Now(live) {
		t.Error("no users are estimated")
	}
	site := poolSite{Last: &live.attrs}
	site.Cloud = w.Cloud
	if err := deletePool(t.Context(), site); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Errorf("deleted: %v", err)
	}
	if err := w.Kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Errorf("deleted: %v", err)
	}
	if len(w.pools(t)) != 1 {
		t.Error("it is deleted")
	}
	w.Settled(t, obj{"deletionProtection": true}, &out)
	job.MayDelete = true
	if err := w.Kind.Delete(t.Context(), job); err != nil || len(w.pools(t)) != 0 {
		t.Errorf("%v, left %v", err, w.pools(t))
	}
}

// TestRestStays: what is not managed is kept when the rest is changed, since an update sets to its default what it does not name.
func TestRestStays(t *testing.T) {
	t.Parallel()
	w := newPoolWorld(t)
	out := w.Settled(t, obj{"mfa": "OPTIONAL", "factors": list{"totp"}, "tags": obj{"team": "shop"}}, nil)
	shown := w.described(t, out.Identity)
	w.ask(t, "UpdateUserPool", obj{
		"UserPoolId": out.Identity, "UserPoolTags": shown["UserPoolTags"], "Policies": shown["Policies"], "MfaConfiguration": "OPTIONAL",
		"LambdaConfig": obj{"KMSKeyID": "key", "PreTokenGeneration": function + "old"}, "SmsAuthenticationMessage": "Code: {####}", "UserPoolTier": "ESSENTIALS",
	})
	w.ask(t, "SetUserPoolMfaConfig", obj{
		"UserPoolId": out.Identity, "MfaConfiguration": "OPTIONAL", "EmailMfaConfiguration": obj{"Subject": "Code"}, "SoftwareTokenMfaConfiguration": obj{"Enabled": true},
	})
	declared := obj{
		"mfa": "ON", "factors": list{"totp"}, "tags": obj{"team": "shop"}, "adminCreateOnly": true, "triggers": obj{"preToken": function + "old"},
	}
	w.Settled(t, declared, &out)
	shown = w.described(t, out.Identity)
	mfa := w.ask(t, "GetUserPoolMfaConfig", obj{"UserPoolId": out.Identity})
	subject, _ := tree.Get(mfa, "EmailMfaConfiguration.Subject")
	key, _ := tree.Get(shown, "LambdaConfig.KMSKeyID")
	trigger, _ := tree.Get(shown, "LambdaConfig.PreTokenGenerationConfig.LambdaArn")
	if key != "key" || trigger != function+"old" || shown["SmsAuthenticationMessage"] != "Code: {####}" || subject != "Code" || shown["MfaConfiguration"] != "ON" {
		t.Errorf("%v, %v", shown, mfa)
	}
	if tags := shown["UserPoolTags"].(obj); tags["team"] != "shop" || len(tags) < 3 {
		t.Errorf("tags %v", tags)
	}
}

// TestRename: a pool and a client that are renamed keep their ids, and so their users and what signs them in.
func TestRename(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		w     *world
		props obj
		calls string
	}{{newPoolWorld(t), obj{}, "Cognito.UpdateUserPool"}, {newClientWorld(t), obj{"userPool": anyPool}, "Cognito.UpdateUserPoolClient"}} {
		before := c.w.Settled(t, c.props, nil)
		c.props["name"] = "The shop"
		c.w.Server.Reset()
		after := c.w.Settled(t, c.props, &before)
		if after.Created || after.Attrs["id"] != before.Attrs["id"] || after.Attrs["name"] != "The shop" || !slices.Equal(c.w.Wrote(), []string{c.calls}) {
			t.Errorf("%v was renamed to %v by %v", before.Attrs, after.Attrs, c.w.Wrote())
		}
	}
}

// TestSameName: names of pools are not unique. A stranger's is not taken, and of several strangers' none is chosen.
func TestSameName(t *testing.T) {
	t.Parallel()
	w := newPoolWorld(t)
	theirs := w.ask(t, "CreateUserPool", obj{"PoolName": "people"})["UserPool"].(obj)["Id"]
	look, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, obj{"name": "people"}, nil))
	if err != nil || look.Identity != theirs || look.Absent {
		t.Errorf("%+v, %v", look, err)
	}
	w.ask(t, "CreateUserPool", obj{"PoolName": "people"})
	if _, err = w.Kind.Look(t.Context(), w.Job(t, w.Kind, obj{"name": "people"}, nil)); !errors.Is(err, reconcile.ErrAmbiguous) {
		t.Errorf("%v", err)
	}
}

// TestRefused finds what Cognito would refuse, before any call.
func TestRefused(t *testing.T) {
	kindtest.Refuses(t, poolKind.Erase(), kindtest.Refusals{
		{obj{"usernameAttributes": list{"name"}}, "email, phone_number"},
		{obj{"usernameAttributes": list{"email"}, "aliasAttributes": list{"phone_number"}}, "aliasAttributes"},
		{obj{"mfa": "ON"}, "it needs a factor"},
		{obj{"factors": list{"totp"}}, "OPTIONAL or ON"},
		{obj{"mfa": "ON", "factors": list{"sms"}}, "need a role"},
		{obj{"sms": obj{"externalId": "x"}}, "with a role"},
		{obj{"recovery": list{"admin_only", "verified_email"}}, "stands alone"},
		{obj{"recovery": list{"mail"}}, "verified_email"},
		{obj{"email": obj{"account": "DEVELOPER"}}, "identity of SES"},
		{obj{"deviceChallenge": true}, "remembered devices"},
		{obj{"threatProtection": "ENFORCED"}, "tier PLUS"},
		{obj{"tier": "LITE", "passwordPolicy": obj{"historySize": int64(2)}}, "tier LITE"},
		{obj{"attributes": obj{"custom:plan": obj{}}}, "without custom:"},
		{obj{"attributes": obj{"a name that is much too long": obj{}}}, "20 characters"},
		{obj{"attributes": obj{"when": obj{"type": "DateTime", "min": int64(1)}}}, "String or a Number"},
		{obj{"attributes": obj{"n": obj{"type": "Number", "min": int64(2), "max": int64(1)}}}, "no less than min"},
		{obj{"requiredAttributes": list{"plan"}}, "given_name"},
		{obj{"passwordPolicy": obj{"temporaryValidity": "36h"}}, "temporaryValidity"},
		{tuned(nil), ""},
	})
}

// TestGolden has the members of https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPool.html
// as it shows them, and each is one of the call by the service's own description.
func TestGolden(t *testing.T) {
	mail := obj{
		"EmailSendingAccount": "DEVELOPER", "SourceArn": sender, "From": "Shop <post@shop.example>", "ReplyToEmailAddress": "help@shop.example", "ConfigurationSet": "shop",
	}
	password := obj{
		"MinimumLength": int64(12), "RequireLowercase": false, "RequireUppercase": false, "RequireNumbers": false, "RequireSymbols": false, "PasswordHistorySize": int64(5),
		"TemporaryPasswordValidityDays": int64(3),
	}
	body := kind.Document{
		"UsernameAttributes": list{"phone_number", "email"}, "UsernameConfiguration": obj{"CaseSensitive": false}, "Policies": obj{"PasswordPolicy": password},
		"AutoVerifiedAttributes": list{"email", "phone_number"}, "UserAttributeUpdateSettings": obj{"AttributesRequireVerificationBeforeUpdate": list{"phone_number", "email"}},
		"AdminCreateUserConfig": obj{
			"AllowAdminCreateUserOnly": true,
			"InviteMessageTemplate":    obj{"EmailSubject": "Come in", "EmailMessage": "{username}, {####}", "SMSMessage": "{username} {####}"},
		},
		"UserPoolTier": "PLUS", "UserPoolAddOns": obj{"AdvancedSecurityMode": "AUDIT"}, "EmailConfiguration": mail,
		"SmsConfiguration": obj{"SnsCallerArn": texter + "2", "ExternalId": "shop"}, "DeletionProtection": "ACTIVE",
		"VerificationMessageTemplate": obj{
			"DefaultEmailOption": "CONFIRM_WITH_LINK", "EmailSubject": "Your code", "EmailMessage": "It is {####}", "EmailSubjectByLink": "Welcome",
			"EmailMessageByLink": "{##Verify##} it", "SmsMessage": "Code: {####}",
		},
		"LambdaConfig": obj{
			"PreSignUp": function + "one", "PostConfirmation": function + "two", "PreAuthentication": function + "three", "PostAuthentication": function + "four",
			"CustomMessage": function + "five", "DefineAuthChallenge": function + "six", "CreateAuthChallenge": function + "seven",
			"VerifyAuthChallengeResponse": function + "eight", "UserMigration": function + "nine",
			"PreTokenGenerationConfig": obj{"LambdaArn": function + "ten", "LambdaVersion": "V2_0"},
		},
	}
	kindtest.Golden(t, poolTable, tuned(nil), kind.Document{}, body)
	other := tuned(nil) // neighbours of one type are told apart by their values
	policy, _ := other["passwordPolicy"].(obj)
	for _, required := range []obj{policy, password} {
		for _, name := range []string{"requireUppercase", "RequireUppercase", "requireSymbols", "RequireSymbols"} {
			if _, there := required[name]; there {
				required[name] = true
			}
		}
	}
	kindtest.Golden(t, poolTable, other, kind.Document{}, body)
	whole := obj{"PoolName": "users", "UserPoolTags": obj{"team": "shop"}}
	maps.Copy(whole, body)
	p := kindtest.PropsOf(t, poolTable, tuned(nil))
	extra := kind.Document{}
	setRecovery(p, extra)
	setDevices(p, extra)
	maps.Copy(whole, extra)
	whole["Schema"] = list{map[string]any(Attribute{Max: new(20)}.sent("plan")), map[string]any(Attribute{Type: new("Number"), Min: new(1)}.sent("age"))}
	awstest.ConformTree(t, "cognito-idp", "CreateUserPool", plain(whole))
	for operation, body := range map[string]obj{
		"SetUserPoolMfaConfig": {
			"UserPoolId": "us-east-1_a", "MfaConfiguration": "ON", "SoftwareTokenMfaConfiguration": obj{"Enabled": true},
			"SmsMfaConfiguration": obj{"SmsConfiguration": obj{"SnsCallerArn": texter}},
		},
		"TagResource":   {"ResourceArn": "arn:aws:cognito-idp:us-east-1:111122223333:userpool/us-east-1_a", "Tags": obj{"team": "shop"}},
		"UntagResource": {"ResourceArn": "arn:aws:cognito-idp:us-east-1:111122223333:userpool/us-east-1_a", "TagKeys": list{"team"}},
		"ListUserPools": {"MaxResults": int64(60)},
		"ListUsers":     {"UserPoolId": "us-east-1_a", "Limit": int64(1), "AttributesToGet": list{"sub"}},
	} {
		awstest.ConformTree(t, "cognito-idp", operation, body)
	}
	m := awstest.LoadModel(t, "cognito-idp")
	for _, name := range updatable() {
		if _, ok := m.Shapes[m.Operations["UpdateUserPool"].Input.Shape].Members[name]; !ok {
			t.Errorf("UpdateUserPool takes no %s", name)
		}
	}
	left := []string{"UserPoolId", "PoolName", "SmsVerificationMessage", "EmailVerificationMessage", "EmailVerificationSubject"}
	for name := range m.Shapes[m.Operations["UpdateUserPool"].Input.Shape].Members {
		if !slices.Contains(updatable(), name) && !slices.Contains(left, name) {
			t.Errorf("UpdateUserPool takes %s too, and sets it to its default", name)
		}
	}
}

// plain is a body as JSON has it.
func plain(v any) obj {
	var walk func(v any) any
	walk = func(v any) any {
		switch x := v.(type) {
		case kind.Document:
			return walk(obj(x))
		case obj:
			out := obj{}
			for k, e := range x {
				out[k] = walk(e)
			}
			return out
		case list:
			out := list{}
			for _, e := range x {
				out = append(out, walk(e))
			}
			return out
		case int:
			return int64(x)
		}
		return v
	}
	return walk(v).(obj)
}
