// Package cognito offers user pools of Amazon Cognito and the clients of applications that sign users in.
//
// It knows a pool's settings, the attributes of its users and how they prove who they are, and a client's settings and secret. It does not
// know users, groups, domains, identity providers, resource servers and the look of login pages; how calls are made and judged is the
// business of package aws.
package cognito

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed pool.go client.go
var source embed.FS

const (
	poolType   = "aws.cognito.UserPool"
	clientType = "aws.cognito.UserPoolClient"
)

// Service is what this package offers. Pools and clients through Cloud Control, AWS::Cognito::UserPool and AWS::Cognito::UserPoolClient,
// stay usable.
func Service() aws.Service {
	return aws.Service{
		Kinds:   []reconcile.Any{poolKind.Erase(), clientKind.Erase()},
		Filters: []string{"cognito-idp:userpool"},
		Also:    map[string]string{"AWS::Cognito::UserPool": poolType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			id, ok := strings.CutPrefix(p.Resource, "userpool/")
			return poolType, id, "", ok && p.Service == "cognito-idp"
		},
	}
}

// NewUserPool declares a user pool.
func NewUserPool(s *athanor.Stack, name string, p UserPoolProps, opts ...athanor.Option) UserPool {
	return athanor.Declare(s, poolKind, name, p, opts...)
}

// ReadUserPool uses a user pool that the stack does not own: by its id or ARN, or by UserPoolProps that name it.
//
//	users := cognito.ReadUserPool(s, "users", "eu-north-1_aB3dE5fG7")
func ReadUserPool(s *athanor.Stack, name string, by any) UserPool {
	return athanor.Read(s, poolKind, name, by)
}

// UserPoolProps declare a user pool. Defaults and limits are those of
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_CreateUserPool.html
type UserPoolProps struct {
	// Name of the pool: up to 128 letters, digits, spaces and _ + = , . @ - characters. Default: none, a name is generated. A change renames
	// the pool in place.
	Name string
	// UsernameAttributes are what users sign in with instead of a user name: email, phone_number. Default: none, a user name.
	UsernameAttributes []string `prop:"set,immutable,maxitems=2" wire:"UsernameAttributes"`
	// AliasAttributes are what users can sign in with beside their user name: email, phone_number, preferred_username. Default: none.
	AliasAttributes []string `prop:"set,immutable,maxitems=3" wire:"AliasAttributes"`
	// CaseSensitive: users sign in as they once wrote their name or address, in the same case. AWS advises against it.
	CaseSensitive *bool `prop:"default=true,immutable" wire:"UsernameConfiguration.CaseSensitive"`
	// RequiredAttributes are standard attributes that each user must have, such as email or given_name. Default: none.
	RequiredAttributes []string `prop:"set,immutable" wire:"-"`
	// Attributes are custom attributes of users, by their names without custom:, up to 20 characters each. Default: none. One can be
	// added at any time, and one that is changed replaces the pool. One that is no longer declared stays, since Cognito removes none, and
	// those that others add are left alone.
	Attributes map[string]Attribute `prop:"maxitems=50"`
	// PasswordPolicy says what passwords must be.
	PasswordPolicy PasswordPolicy `prop:"each" wire:"Policies.PasswordPolicy"`
	// MFA says whether users prove who they are by a second factor: OFF, OPTIONAL for each user, or ON for all.
	MFA *string `prop:"enum=OFF|OPTIONAL|ON,default=OFF" wire:"-,call=SetUserPoolMfaConfig"`
	// Factors are the second factors that users can have: totp, a code of an authenticator app, and sms. Default: none, with the MFA OFF
	// alone.
	Factors []string `prop:"set,maxitems=2" wire:"-,call=SetUserPoolMfaConfig"`
	// AutoVerify are the addresses to which a new user is sent a code that verifies them: email, phone_number. Default: none.
	AutoVerify []string `prop:"set,maxitems=2" wire:"AutoVerifiedAttributes"`
	// VerifyBeforeUpdate are the addresses of which a changed one counts once it is verified: email, phone_number. Default: none, it counts
	// at once.
	VerifyBeforeUpdate []string `prop:"set,maxitems=2" wire:"UserAttributeUpdateSettings.AttributesRequireVerificationBeforeUpdate"`
	// Recovery are the ways back for a user who forgot the password, the preferred one first: verified_email, verified_phone_number, or
	// admin_only alone. Default: verified_phone_number, verified_email, as Cognito does it where nothing is set.
	Recovery []string `prop:"maxitems=2" wire:"-"`
	// AdminCreateOnly: users cannot sign themselves up.
	AdminCreateOnly bool `prop:"default=false" wire:"AdminCreateUserConfig.AllowAdminCreateUserOnly"`
	// Devices says whether the devices of users are remembered: NONE, ALWAYS, or PROMPT, where the user says so.
	Devices *string `prop:"enum=NONE|ALWAYS|PROMPT,default=NONE" wire:"-"`
	// DeviceChallenge: a remembered device stands for the second factor.
	DeviceChallenge bool `prop:"default=false" wire:"-"`
	// Tier is the plan of features, by which users are paid for: LITE, ESSENTIALS or PLUS.
	Tier *string `prop:"enum=LITE|ESSENTIALS|PLUS,default=ESSENTIALS" wire:"UserPoolTier"`
	// ThreatProtection looks for stolen passwords and takeovers, with the tier PLUS: it reports them (AUDIT), or acts on them (ENFORCED).
	ThreatProtection *string `prop:"enum=OFF|AUDIT|ENFORCED,default=OFF" wire:"UserPoolAddOns.AdvancedSecurityMode"`
	// Email says how mail is sent.
	Email Email `prop:"each" wire:"EmailConfiguration"`
	// SMS says how text messages are sent.
	SMS SMS `prop:"each" wire:"SmsConfiguration"`
	// Verification is what a user who signs up is sent.
	Verification Verification `prop:"each" wire:"VerificationMessageTemplate"`
	// Invitation is what a user is sent whom an administrator makes.
	Invitation Invitation `prop:"each" wire:"AdminCreateUserConfig.InviteMessageTemplate"`
	// Triggers are functions of Lambda that Cognito calls on the way. Each needs a permission for cognito-idp.amazonaws.com.
	Triggers Triggers `prop:"each" wire:"LambdaConfig"`
	// DeletionProtection refuses the deletion of the pool, to anybody. Deleting or replacing it here needs permission, as for a pool with
	// users in it, and takes the protection away first.
	DeletionProtection bool `prop:"default=false" wire:"DeletionProtection,active"`
	// Tags of the pool, beside the owner tags. Default: none.
	Tags map[string]string
}

// Attribute is a custom attribute of users.
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_SchemaAttributeType.html
type Attribute struct {
	// Type of its values: String, Number, DateTime or Boolean. Default: String.
	Type *string `prop:"enum=String|Number|DateTime|Boolean"`
	// Immutable: a user keeps the value that the user begins with. Default: false.
	Immutable bool
	// Min is the least length of a String, or the least Number. Default: none.
	Min *int
	// Max is the greatest length of a String, or the greatest Number. Default: none.
	Max *int
}

// PasswordPolicy says what passwords must be.
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_PasswordPolicyType.html
type PasswordPolicy struct {
	// MinimumLength in characters.
	MinimumLength *int `prop:"min=6,max=99,default=8" wire:"MinimumLength"`
	// RequireLowercase wants a lower case letter.
	RequireLowercase *bool `prop:"default=true" wire:"RequireLowercase"`
	// RequireUppercase wants an upper case letter.
	RequireUppercase *bool `prop:"default=true" wire:"RequireUppercase"`
	// RequireNumbers wants a digit.
	RequireNumbers *bool `prop:"default=true" wire:"RequireNumbers"`
	// RequireSymbols wants another character.
	RequireSymbols *bool `prop:"default=true" wire:"RequireSymbols"`
	// HistorySize is how many earlier passwords of a user are refused, not with the tier LITE. 0 is none.
	HistorySize int `prop:"min=0,max=24,default=0" wire:"PasswordHistorySize,omitzero"`
	// TemporaryValidity is how long a temporary password counts, in whole days.
	TemporaryValidity *time.Duration `prop:"min=1d,max=365d,default=7d,unit=24h" wire:"TemporaryPasswordValidityDays"`
}

// Email says how mail is sent.
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_EmailConfigurationType.html
type Email struct {
	// Account that sends it: that of Cognito, for at most 50 mails a day, or SES of this account (DEVELOPER).
	Account *string `prop:"enum=COGNITO_DEFAULT|DEVELOPER,default=COGNITO_DEFAULT" wire:"EmailSendingAccount"`
	// Source is the ARN of the identity of SES that sends it, with the account DEVELOPER. Default: none.
	Source aws.ARN `prop:"maxlen=2048" wire:"SourceArn"`
	// From is the sender, an address or a name with an address. Default: none, the address of the identity.
	From string `wire:"From"`
	// ReplyTo is the address that answers go to. Default: none.
	ReplyTo string `wire:"ReplyToEmailAddress"`
	// ConfigurationSet of SES. Default: none.
	ConfigurationSet string `prop:"maxlen=64" wire:"ConfigurationSet"`
}

// SMS says how text messages are sent: by SNS, as a role. The region of SNS is not managed.
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_SmsConfigurationType.html
type SMS struct {
	// Role is the ARN of a role that may publish with SNS, and that cognito-idp.amazonaws.com may assume. Who sets it needs
	// iam:PassRole on it. Default: none, no text messages are sent.
	Role aws.ARN `prop:"maxlen=2048" wire:"SnsCallerArn"`
	// ExternalID is a word that the trust policy of the role asks for. Default: none.
	ExternalID string `wire:"ExternalId"`
}

// Verification is what a user who signs up is sent. A text without its code, {####}, is refused. Default of each text: that of the service.
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_VerificationMessageTemplateType.html
type Verification struct {
	// By says how mail verifies: a code that is entered, or a link that is followed.
	By *string `prop:"enum=CONFIRM_WITH_CODE|CONFIRM_WITH_LINK,default=CONFIRM_WITH_CODE" wire:"DefaultEmailOption"`
	// EmailSubject of mail with a code.
	EmailSubject string `prop:"maxlen=140" wire:"EmailSubject"`
	// EmailMessage with a code, {####}.
	EmailMessage string `prop:"maxlen=20000" wire:"EmailMessage"`
	// LinkSubject of mail with a link.
	LinkSubject string `prop:"maxlen=140" wire:"EmailSubjectByLink"`
	// LinkMessage with a link: {##Verify##} is its text.
	LinkMessage string `prop:"maxlen=20000" wire:"EmailMessageByLink"`
	// SMSMessage with a code, {####}.
	SMSMessage string `prop:"maxlen=140" wire:"SmsMessage"`
}

// Invitation is what a user is sent whom an administrator makes: {username} and {####} stand for the name and the temporary password.
// Default of each text: that of the service.
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_MessageTemplateType.html
type Invitation struct {
	// EmailSubject of the mail.
	EmailSubject string `prop:"maxlen=140" wire:"EmailSubject"`
	// EmailMessage is the mail.
	EmailMessage string `prop:"maxlen=20000" wire:"EmailMessage"`
	// SMSMessage is the text message.
	SMSMessage string `prop:"maxlen=140" wire:"SMSMessage"`
}

// Triggers are functions of Lambda, by their ARNs, that Cognito calls. Default of each: none.
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_LambdaConfigType.html
type Triggers struct {
	// PreSignUp is called before a user is made.
	PreSignUp aws.ARN `prop:"deferrable,maxlen=2048" wire:"PreSignUp"`
	// PostConfirmation is called after a user was confirmed, or reset the password.
	PostConfirmation aws.ARN `prop:"deferrable,maxlen=2048" wire:"PostConfirmation"`
	// PreAuthentication is called before a user signs in.
	PreAuthentication aws.ARN `prop:"deferrable,maxlen=2048" wire:"PreAuthentication"`
	// PostAuthentication is called after a user has signed in.
	PostAuthentication aws.ARN `prop:"deferrable,maxlen=2048" wire:"PostAuthentication"`
	// CustomMessage writes what users are sent.
	CustomMessage aws.ARN `prop:"deferrable,maxlen=2048" wire:"CustomMessage"`
	// DefineAuthChallenge says which challenge of your own comes next.
	DefineAuthChallenge aws.ARN `prop:"deferrable,maxlen=2048" wire:"DefineAuthChallenge"`
	// CreateAuthChallenge makes a challenge of your own.
	CreateAuthChallenge aws.ARN `prop:"deferrable,maxlen=2048" wire:"CreateAuthChallenge"`
	// VerifyAuthChallenge judges the answer to a challenge of your own.
	VerifyAuthChallenge aws.ARN `prop:"deferrable,maxlen=2048" wire:"VerifyAuthChallengeResponse"`
	// UserMigration finds users of an older directory.
	UserMigration aws.ARN `prop:"deferrable,maxlen=2048" wire:"UserMigration"`
	// PreToken changes what is in tokens.
	PreToken aws.ARN `prop:"deferrable,maxlen=2048" wire:"PreTokenGenerationConfig.LambdaArn"`
	// PreTokenVersion is the form of the event: V1_0 changes the identity token alone, V2_0 the access token too, and V3_0 those of machines.
	PreTokenVersion *string `prop:"enum=V1_0|V2_0|V3_0,default=V1_0,with=preToken" wire:"PreTokenGenerationConfig.LambdaVersion"`
}

// UserPool is what others may refer to of a user pool.
type UserPool struct {
	// ARN of the pool, for policies and authorizers.
	ARN aws.ARN `attr:"early"`
	// ID of the pool, such as eu-north-1_aB3dE5fG7.
	ID string `attr:"early"`
	// Name of the pool.
	Name string `attr:"early,mutable=name"`
	// Issuer is the URL that tokens of the pool name as their issuer, for authorizers of HTTP APIs.
	Issuer string `attr:"early"`
	// ProviderName is the issuer without https://, as identity pools name it.
	ProviderName string `attr:"early"`
}

// livePool is an observed user pool.
type livePool struct {
	attrs UserPool
	have  UserPoolProps
	tags  map[string]string
	// users is how many there are, as Cognito estimates it.
	users int64
	// mfa is how the second factors are set: what is not managed of it is sent back.
	mfa kind.Document
}

type (
	poolSite = kind.Site[UserPoolProps, UserPool]
	poolOn   = kind.Update[livePool]
)

var poolTable = kind.TableOf[UserPoolProps](kind.Codec{
	Name: "active",
	Write: func(prop any) (any, error) {
		if prop == true {
			return "ACTIVE", nil
		}
		return "INACTIVE", nil
	},
	Read: func(wire any) (any, error) { return wire == "ACTIVE", nil },
})

var poolKind = &kind.Kind[UserPoolProps, livePool, UserPool]{
	Type: poolType,
	Doc: "A user pool of Amazon Cognito with its attributes, password policy, second factors, messages, triggers and tags. Its users are not managed: " +
		"a pool that Cognito counts users in, or with deletion protection, holds data. Second factors by mail and passkeys, own senders of messages, " +
		"keys, first factors other than the password and developers' attributes are not managed, and stay. Domains, groups and identity " +
		"providers are resources of their own, AWS::Cognito::UserPoolDomain among them.",

	Observe:    observePool,
	Create:     createPool,
	Compare:    comparePool,
	Attributes: func(live livePool) UserPool { return live.attrs },
	Delete:     deletePool,
	Identity:   func(p UserPool) string { return p.ID },

	Props:   poolTable,
	Default: withRecovery,
	Check:   checkPool,
	Named: &kind.Named[UserPoolProps, livePool]{
		Given: func(want UserPoolProps) string { return want.Name },
		Rule:  func(UserPoolProps) kind.NameRule { return kind.NameRule{Max: 128, Marks: "-_.+=,@ "} },
	},
	Owner: aws.Tagged(
		func(want UserPoolProps) map[string]string { return want.Tags },
		func(live livePool) map[string]string { return live.tags }, "TagResource", putTags, dropTags),
	HoldsData: &kind.HoldsData[UserPoolProps, livePool]{
		Now: func(live livePool) bool { return live.users > 0 || live.have.DeletionProtection },
		What: func(live livePool) string {
			if live.have.DeletionProtection {
				return "it has deletion protection"
			}
			return "users"
		},
	},
	List: listPools,

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Cognito", "cognito-idp", aws.Source(source), kind.Permissions{
		Observe: []string{"DescribeUserPool", "GetUserPoolMfaConfig", "ListUserPools"},
		List:    []string{"ListUserPools"},
		Create:  []string{"CreateUserPool", "SetUserPoolMfaConfig", "UpdateUserPool"},
		Update:  []string{"UpdateUserPool", "SetUserPoolMfaConfig", "AddCustomAttributes", "TagResource", "UntagResource"},
		Delete:  []string{"DeleteUserPool", "ListUsers", "UpdateUserPool"},
		Only: map[string][]tree.Path{
			"SetUserPoolMfaConfig": {"factors"}, "UpdateUserPool": {"deletionProtection", "triggers"},
		},
		Resource: func(location kind.Location, _ string) []string { return []string{string(arnOf(location, "*"))} },
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncognitouserpools.html
		Anywhere: []string{"ListUserPools", "CreateUserPool"},
		Depends:  []kind.Dependence{passTexter()},
	}),
}

// passTexter is the permission to hand over the role that sends text messages, which each update carries, that before a deletion too.
func passTexter() kind.Dependence {
	d := aws.PassRole("cognito-idp.amazonaws.com", false, []string{"CreateUserPool", "UpdateUserPool", "SetUserPoolMfaConfig"}, "sms.role")
	d.Phase = reconcile.Creating | reconcile.Updating | reconcile.Deleting
	return d
}

// service returns user pools of Cognito as calls reach them.
func service() aws.JSONService {
	return aws.JSONService{Name: "Cognito", Signing: "cognito-idp", Host: "cognito-idp", Target: "AWSCognitoIdentityProviderService", Version: "1.1", Env: "COGNITO_IDENTITY_PROVIDER"}
}

func call(ctx context.Context, cloud kind.Cloud, operation string, in kind.Document, out any) error {
	return service().Call(ctx, cloud, operation, in, out)
}

func arnOf(location kind.Location, id string) aws.ARN {
	return aws.ARNIn(location, "cognito-idp", "userpool/"+id)
}

func poolOf(location kind.Location, id, name string) UserPool {
	provider := "cognito-idp." + location.Region + "." + aws.Domain(location.Region) + "/" + id
	return UserPool{ARN: arnOf(location, id), ID: id, Name: name, Issuer: "https://" + provider, ProviderName: provider}
}

var (
	errNoPool    = fmt.Errorf("%w: no user pool has its owner tag or its name", reconcile.ErrAbsent)
	errSameName  = fmt.Errorf("%w: several user pools have this name: give the id of one", reconcile.ErrAmbiguous)
	errNoPoolKey = errors.New("a user pool is found by its id or its name, and there is neither")

	attributeForm = props.Pattern(`^[\p{L}\p{M}\p{S}\p{N}\p{P}]{1,20}$`)
)

// checkPool finds what Cognito would refuse, beyond what the table says.
func checkPool(want UserPoolProps) error {
	var problems props.Errors
	among := func(path tree.Path, have []string, allowed ...string) {
		for i, v := range have {
			if !token.Has(v) && !slices.Contains(allowed, v) {
				problems.Wrong(path.Index(i), "want one of "+strings.Join(allowed, ", "))
			}
		}
	}
	among("usernameAttributes", want.UsernameAttributes, "email", "phone_number")
	among("aliasAttributes", want.AliasAttributes, "email", "phone_number", "preferred_username")
	among("autoVerify", want.AutoVerify, "email", "phone_number")
	among("verifyBeforeUpdate", want.VerifyBeforeUpdate, "email", "phone_number")
	among("recovery", want.Recovery, "verified_email", "verified_phone_number", "admin_only")
	among("factors", want.Factors, "totp", "sms")
	among("requiredAttributes", want.RequiredAttributes, standardAttributes()...)
	mfa := "OFF"
	if want.MFA != nil {
		mfa = *want.MFA
	}
	switch {
	case token.Has(mfa):
	case mfa == "OFF" && len(want.Factors) > 0:
		problems.Wrong("factors", "they count with the mfa OPTIONAL or ON alone")
	case mfa != "OFF" && len(want.Factors) == 0:
		problems.Wrong("mfa", "it needs a factor: totp, sms")
	}
	if slices.Contains(want.Factors, "sms") && want.SMS.Role == "" {
		problems.Wrong("sms.role", "text messages need a role")
	}
	if want.SMS.ExternalID != "" && want.SMS.Role == "" {
		problems.Wrong("sms.externalId", "it counts with a role alone")
	}
	if len(want.UsernameAttributes) > 0 && len(want.AliasAttributes) > 0 {
		problems.Wrong("aliasAttributes", "they are for users with a user name, and usernameAttributes stand instead of one")
	}
	if len(want.Recovery) > 1 && slices.Contains(want.Recovery, "admin_only") {
		problems.Wrong("recovery", "admin_only stands alone")
	}
	if want.Email.Account != nil && *want.Email.Account == "DEVELOPER" && want.Email.Source == "" {
		problems.Wrong("email.source", "the account DEVELOPER needs an identity of SES")
	}
	tier, threats := "ESSENTIALS", "OFF"
	if want.Tier != nil {
		tier = *want.Tier
	}
	if want.ThreatProtection != nil {
		threats = *want.ThreatProtection
	}
	if threats != "OFF" && tier == "ESSENTIALS" {
		problems.Wrong("threatProtection", "it needs the tier PLUS")
	}
	if want.PasswordPolicy.HistorySize > 0 && tier == "LITE" {
		problems.Wrong("passwordPolicy.historySize", "the tier LITE keeps no earlier passwords")
	}
	if want.DeviceChallenge && (want.Devices == nil || *want.Devices == "NONE") {
		problems.Wrong("deviceChallenge", "it counts with remembered devices alone")
	}
	for name, a := range want.Attributes {
		at := tree.Path("attributes").Key(name)
		if !token.Has(name) && (!attributeForm().MatchString(name) || strings.HasPrefix(name, "custom:") || strings.HasPrefix(name, "dev:")) {
			problems.Wrong(at, "want a name of up to 20 characters without spaces, without custom: before it")
		}
		if kind := *a.normal().Type; (a.Min != nil || a.Max != nil) && kind != "String" && kind != "Number" && !token.Has(kind) {
			problems.Wrong(at, "a String or a Number has limits")
		} else if a.Min != nil && a.Max != nil && *a.Min > *a.Max {
			problems.Wrong(at.Key("max"), "want no less than min")
		}
	}
	return problems.OrNil()
}

// standardAttributes are those that every user can have and a pool can require:
// https://docs.aws.amazon.com/cognito/latest/developerguide/user-pool-settings-attributes.html
func standardAttributes() []string {
	return []string{
		"address", "birthdate", "email", "family_name", "gender", "given_name", "locale", "middle_name", "name", "nickname", "phone_number", "picture",
		"preferred_username", "profile", "updated_at", "website", "zoneinfo",
	}
}

// observePool reads a pool by its id, or finds it.
func observePool(ctx context.Context, s poolSite) (livePool, error) {
	switch {
	case s.Last != nil:
		return readPool(ctx, s, s.Last.ID)
	case s.ID != "":
		id, err := poolID(s.ID, s.Location)
		if err != nil {
			return livePool{}, err
		}
		return readPool(ctx, s, id)
	case s.Name == "":
		return livePool{}, errNoPoolKey
	}
	return findPool(ctx, s)
}

// poolID takes an ARN for what it names, since that is what people paste. A pool's id begins with its region.
func poolID(id string, location kind.Location) (string, error) {
	bare := id
	if p, ok := aws.ARN(id).Parse(); ok {
		bare = strings.TrimPrefix(p.Resource, "userpool/")
		if aws.ARN(id) != arnOf(location, bare) {
			return "", aws.Foreign(id, location)
		}
	}
	if region, _, ok := strings.Cut(bare, "_"); ok && region != location.Region {
		return "", aws.Foreign(id, location)
	}
	return bare, nil
}

// findPool looks through the pools of the name, which is no pool's alone: for that of the owner, else for the only one. While a
// generation is being made, the others are what it replaces.
func findPool(ctx context.Context, s poolSite) (livePool, error) {
	var ids []string
	err := eachPool(ctx, s.Cloud, func(id, name string) {
		if name == s.Name {
			ids = append(ids, id)
		}
	})
	if err != nil {
		return livePool{}, err
	}
	ours, others, err := adopt.Find(s.Facts, ids, func(id string) (livePool, error) { return readPool(ctx, s, id) },
		func(live livePool) (kind.OwnerTag, string) { return adopt.MarkOf(live.tags), live.attrs.ID })
	switch {
	case err != nil:
		return livePool{}, err
	case ours != nil:
		return *ours, nil
	case len(others) == 1:
		return others[0], nil
	case len(others) > 1:
		return livePool{}, errSameName
	}
	return livePool{}, errNoPool
}

// eachPool lists the pools of a region, 60 by one call.
func eachPool(ctx context.Context, cloud kind.Cloud, yield func(id, name string)) error {
	in := kind.Document{"MaxResults": 60}
	for {
		var page struct {
			UserPools []struct {
				ID   string `json:"Id"`
				Name string
			}
			NextToken string
		}
		if err := call(ctx, cloud, "ListUserPools", in, &page); err != nil {
			return err
		}
		for _, p := range page.UserPools {
			yield(p.ID, p.Name)
		}
		if in["NextToken"] = page.NextToken; page.NextToken == "" {
			return nil
		}
	}
}

func describePool(ctx context.Context, cloud kind.Cloud, id string) (kind.Document, error) {
	return described(ctx, cloud, "DescribeUserPool", kind.Document{"UserPoolId": id}, "UserPool")
}

// described is the object that an answer has as a member. Its whole numbers are integers, as the table reads them.
func described(ctx context.Context, cloud kind.Cloud, operation string, in kind.Document, member string) (kind.Document, error) {
	var out map[string]json.RawMessage
	if err := call(ctx, cloud, operation, in, &out); err != nil {
		return nil, err
	}
	v, err := tree.Decode(out[member])
	object, _ := v.(map[string]any)
	return object, err
}

// readPool reads a pool and how its second factors are set.
func readPool(ctx context.Context, s poolSite, id string) (live livePool, err error) {
	var shown kind.Document
	err = aws.AtOnce(ctx, func(ctx context.Context) (err error) {
		shown, err = describePool(ctx, s.Cloud, id)
		return err
	}, func(ctx context.Context) error {
		return call(ctx, s.Cloud, "GetUserPoolMfaConfig", kind.Document{"UserPoolId": id}, &live.mfa)
	})
	if err != nil {
		return live, err
	}
	name, _ := shown["Name"].(string)
	live.attrs = poolOf(s.Location, id, name)
	live.users, _ = shown["EstimatedNumberOfUsers"].(int64)
	live.tags = map[string]string{}
	tags, _ := shown["UserPoolTags"].(map[string]any)
	for k, v := range tags {
		live.tags[k], _ = v.(string)
	}
	if arn, ok := shown.Get("LambdaConfig.PreTokenGeneration").(string); ok && shown.Get("LambdaConfig.PreTokenGenerationConfig") == nil && arn != "" {
		shown.Set("LambdaConfig.PreTokenGenerationConfig.LambdaArn", arn)
	}
	if live.have, err = poolTable.Read(shown); err != nil {
		return live, err
	}
	live.have.readSchema(shown)
	live.have.readRecovery(shown)
	live.have.readDevices(shown)
	live.have.MFA, live.have.Factors = factorsIn(live.mfa)
	return live, nil
}

// readSchema takes the attributes of users apart: custom ones, and standard ones that each user must have. Every user has a sub.
func (p *UserPoolProps) readSchema(shown kind.Document) {
	all, _ := shown["SchemaAttributes"].([]any)
	for _, item := range all {
		a, _ := item.(map[string]any)
		name, _ := a["Name"].(string)
		custom, isCustom := strings.CutPrefix(name, "custom:")
		switch {
		case isCustom:
			if p.Attributes == nil {
				p.Attributes = map[string]Attribute{}
			}
			p.Attributes[custom] = attributeIn(a)
		case a["Required"] == true && name != "sub":
			p.RequiredAttributes = append(p.RequiredAttributes, name)
		}
	}
	slices.Sort(p.RequiredAttributes)
}

func attributeIn(shown kind.Document) Attribute {
	a := Attribute{Immutable: shown["Mutable"] != true}
	if kind, ok := shown["AttributeDataType"].(string); ok {
		a.Type = &kind
	}
	limit := func(names ...string) *int {
		for _, name := range names {
			var n int
			text, _ := shown.Get(name).(string)
			if _, err := fmt.Sscanf(text, "%d", &n); err == nil {
				return &n
			}
		}
		return nil
	}
	switch a = a.normal(); *a.Type {
	case "String":
		a.Min, a.Max = limit("StringAttributeConstraints.MinLength"), limit("StringAttributeConstraints.MaxLength")
	case "Number":
		a.Min, a.Max = limit("NumberAttributeConstraints.MinValue"), limit("NumberAttributeConstraints.MaxValue")
	}
	return a
}

// sent is a custom attribute as Cognito takes it.
func (a Attribute) sent(name string) kind.Document {
	a = a.normal()
	body := kind.Document{"Name": name, "AttributeDataType": *a.Type, "Mutable": !a.Immutable}
	least, greatest := "StringAttributeConstraints.MinLength", "StringAttributeConstraints.MaxLength"
	if *a.Type == "Number" {
		least, greatest = "NumberAttributeConstraints.MinValue", "NumberAttributeConstraints.MaxValue"
	}
	if a.Min != nil {
		body.Set(least, fmt.Sprint(*a.Min))
	}
	if a.Max != nil {
		body.Set(greatest, fmt.Sprint(*a.Max))
	}
	return body
}

func (a Attribute) normal() Attribute {
	if a.Type == nil {
		a.Type = new("String")
	}
	return a
}

func (p *UserPoolProps) readRecovery(shown kind.Document) {
	ways, _ := shown.Get("AccountRecoverySetting.RecoveryMechanisms").([]any)
	slices.SortFunc(ways, func(a, b any) int { return int(priority(a) - priority(b)) })
	for _, way := range ways {
		name, _ := way.(map[string]any)["Name"].(string)
		p.Recovery = append(p.Recovery, name)
	}
	*p = withRecovery(*p)
}

// withRecovery fills in the ways back that a pool has where nothing is set.
func withRecovery(p UserPoolProps) UserPoolProps {
	if p.Recovery == nil {
		p.Recovery = []string{"verified_phone_number", "verified_email"}
	}
	return p
}

func priority(way any) int64 {
	m, _ := way.(map[string]any)
	n, _ := m["Priority"].(int64)
	return n
}

func (p *UserPoolProps) readDevices(shown kind.Document) {
	devices, _ := shown["DeviceConfiguration"].(map[string]any)
	switch {
	case len(devices) == 0:
	case devices["DeviceOnlyRememberedOnUserPrompt"] == true:
		p.Devices = new("PROMPT")
	default:
		p.Devices = new("ALWAYS")
	}
	p.DeviceChallenge = devices["ChallengeRequiredOnNewDevice"] == true
}

// factorsIn are the second factors. Without MFA there are none, whatever was set before.
func factorsIn(mfa kind.Document) (state *string, factors []string) {
	text, _ := mfa["MfaConfiguration"].(string)
	if text == "" || text == "OFF" {
		return new("OFF"), nil
	}
	if mfa.Get("SmsMfaConfiguration.SmsConfiguration") != nil {
		factors = append(factors, "sms")
	}
	if mfa.Get("SoftwareTokenMfaConfiguration.Enabled") == true {
		factors = append(factors, "totp")
	}
	return &text, factors
}

// createPool carries everything but the second factors and the triggers that are known later, which the update that follows sets.
func createPool(ctx context.Context, s poolSite) (UserPool, error) {
	body := kind.Document{"PoolName": s.Name, "UserPoolTags": aws.Tags(s.Cloud, s.Want.Tags, s.Owner)}
	if err := poolTable.Created(s.Want, body); err != nil {
		return UserPool{}, err
	}
	var schema []any
	for _, name := range slices.Sorted(slices.Values(s.Want.RequiredAttributes)) {
		schema = append(schema, kind.Document{"Name": name, "Required": true, "Mutable": true})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Want.Attributes)) {
		schema = append(schema, s.Want.Attributes[name].sent(name))
	}
	if len(schema) > 0 {
		body["Schema"] = schema
	}
	setRecovery(s.Want, body)
	setDevices(s.Want, body)
	var out struct{ UserPool kind.Document }
	if err := call(ctx, s.Cloud, "CreateUserPool", compact(body), &out); err != nil {
		return UserPool{}, aws.Propagating(s.Cloud, err)
	}
	id, _ := out.UserPool["Id"].(string)
	return poolOf(s.Location, id, s.Name), nil
}

func setRecovery(p UserPoolProps, body kind.Document) {
	ways := []any{}
	for i, name := range p.Recovery {
		ways = append(ways, kind.Document{"Priority": i + 1, "Name": name})
	}
	body["AccountRecoverySetting"] = map[string]any{"RecoveryMechanisms": ways}
}

func setDevices(p UserPoolProps, body kind.Document) {
	if delete(body, "DeviceConfiguration"); *p.Devices != "NONE" {
		body["DeviceConfiguration"] = map[string]any{
			"ChallengeRequiredOnNewDevice": p.DeviceChallenge, "DeviceOnlyRememberedOnUserPrompt": *p.Devices == "PROMPT",
		}
	}
}

// compact leaves out what is set to nothing: what Cognito is not told has its default. A role alone makes a configuration of text messages.
func compact(body kind.Document) kind.Document {
	for k, v := range body {
		m, isObject := v.(map[string]any)
		if isObject {
			compact(m)
		}
		if v == nil || v == "" || isObject && len(m) == 0 {
			delete(body, k)
		}
	}
	if sms, ok := body["SmsConfiguration"].(map[string]any); ok && sms["SnsCallerArn"] == nil && sms["EumsSms"] == nil {
		delete(body, "SmsConfiguration")
	}
	return body
}

// updatable are the members of a pool that UpdateUserPool takes. Those that it is not told are set to their defaults:
// https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_UpdateUserPool.html
// The older members for the texts of verification are left out, since the template has them too.
func updatable() []string {
	return []string{
		"Policies", "DeletionProtection", "LambdaConfig", "AutoVerifiedAttributes", "VerificationMessageTemplate", "SmsAuthenticationMessage",
		"UserAttributeUpdateSettings", "MfaConfiguration", "DeviceConfiguration", "EmailConfiguration", "SmsConfiguration", "UserPoolTags", "AdminCreateUserConfig",
		"UserPoolAddOns", "DcrConfiguration", "AccountRecoverySetting", "UserPoolTier", "KeyConfiguration", "IssuerConfiguration", "AcrConfiguration",
	}
}

// asIs is what UpdateUserPool is told of a pool that is to stay as it is at this moment.
func asIs(ctx context.Context, cloud kind.Cloud, id string) (kind.Document, error) {
	shown, err := describePool(ctx, cloud, id)
	if err != nil {
		return nil, err
	}
	body := kind.Document{"UserPoolId": id}
	for _, name := range updatable() {
		if v := shown[name]; v != nil {
			body[name] = v
		}
	}
	// Days of the password policy stand instead of these.
	if admin, ok := body["AdminCreateUserConfig"].(map[string]any); ok {
		delete(admin, "UnusedAccountValidityDays")
	}
	if triggers, ok := body["LambdaConfig"].(map[string]any); ok { // the configuration of that trigger stands instead of it
		if arn := triggers["PreTokenGeneration"]; arn != nil && triggers["PreTokenGenerationConfig"] == nil {
			triggers["PreTokenGenerationConfig"] = map[string]any{"LambdaArn": arn, "LambdaVersion": "V1_0"}
		}
		delete(triggers, "PreTokenGeneration")
	}
	return body, nil
}

// comparePool states every aspect. One call sets all but the second factors and the attributes of users. Text messages are set up
// before they are a factor, and go after.
func comparePool(d *kind.Diff[livePool], want UserPoolProps, live livePool) {
	compareAttributes(d, want, live)
	update := kind.Set("UpdateUserPool", func(ctx context.Context, u poolOn) error { return updatePool(ctx, u, want) })
	factors := kind.Set("SetUserPoolMfaConfig", func(ctx context.Context, u poolOn) error { return setFactors(ctx, u, want) })
	if want.SMS.Role == "" {
		kind.CompareCall(d, poolTable, want, live.have, "SetUserPoolMfaConfig", factors)
	}
	kind.CompareName(d, "name", live.attrs.Name, update)
	kind.CompareCall(d, poolTable, want, live.have, "", update)
	if want.SMS.Role != "" {
		kind.CompareCall(d, poolTable, want, live.have, "SetUserPoolMfaConfig", factors)
	}
}

// compareAttributes states the declared custom attributes one by one: Cognito adds, and neither changes nor removes.
func compareAttributes(d *kind.Diff[livePool], want UserPoolProps, live livePool) {
	add := kind.Set("AddCustomAttributes", func(ctx context.Context, u poolOn) error {
		var all []any
		for _, name := range slices.Sorted(maps.Keys(want.Attributes)) {
			if slices.Contains(u.Changed, tree.Path("attributes").Key(name)) {
				all = append(all, want.Attributes[name].sent(name))
			}
		}
		return aws.NotYet(call(ctx, u.Cloud, "AddCustomAttributes", kind.Document{"UserPoolId": u.Live.attrs.ID, "CustomAttributes": all}, nil))
	})
	for _, name := range slices.Sorted(maps.Keys(want.Attributes)) {
		at, wanted := tree.Path("attributes").Key(name), want.Attributes[name].normal()
		if have, ok := live.have.Attributes[name]; ok {
			reconcile.Fixed(d, at, wanted, have)
		} else {
			reconcile.Value(d, at, any(wanted), nil, add)
		}
	}
}

// updatePool sends the pool as it is at this moment with what is to be changed.
func updatePool(ctx context.Context, u poolOn, want UserPoolProps) error {
	body, err := asIs(ctx, u.Cloud, u.Live.attrs.ID)
	if err != nil {
		return aws.NotYet(err)
	}
	if err := poolTable.Changed(want, u.Live.have, u.Changed, body); err != nil {
		return err
	}
	changes := func(path tree.Path) bool { return slices.ContainsFunc(u.Changed, path.Overlaps) }
	if changes("name") {
		body["PoolName"] = u.Name
	}
	merged := poolTable.Merged(want, u.Live.have, u.Changed)
	if changes("recovery") {
		setRecovery(merged, body)
	}
	if changes("devices") || changes("deviceChallenge") {
		setDevices(merged, body)
	}
	if changes("triggers.preToken") && want.Triggers.PreToken == "" {
		body.Set("LambdaConfig.PreTokenGenerationConfig", nil)
	}
	return aws.NotYet(aws.Propagating(u.Cloud, call(ctx, u.Cloud, "UpdateUserPool", compact(body), nil)))
}

// setFactors sets the second factors. Those that are not managed are sent as they were read, and without MFA none is, which Cognito
// would refuse.
func setFactors(ctx context.Context, u poolOn, want UserPoolProps) error {
	p := poolTable.Merged(want, u.Live.have, u.Changed)
	body := kind.Document{"UserPoolId": u.Live.attrs.ID, "MfaConfiguration": *p.MFA, "WebAuthnConfiguration": u.Live.mfa["WebAuthnConfiguration"]}
	if *p.MFA != "OFF" {
		body["EmailMfaConfiguration"] = u.Live.mfa["EmailMfaConfiguration"]
		body["SoftwareTokenMfaConfiguration"] = map[string]any{"Enabled": slices.Contains(p.Factors, "totp")}
		if slices.Contains(p.Factors, "sms") {
			sms := kind.Document{}
			if err := poolTable.Created(UserPoolProps{SMS: want.SMS}, sms); err != nil {
				return err
			}
			body["SmsMfaConfiguration"] = map[string]any{
				"SmsConfiguration": sms["SmsConfiguration"], "SmsAuthenticationMessage": u.Live.mfa.Get("SmsMfaConfiguration.SmsAuthenticationMessage"),
			}
		}
	}
	return aws.NotYet(aws.Propagating(u.Cloud, call(ctx, u.Cloud, "SetUserPoolMfaConfig", compact(body), nil)))
}

// deletePool takes the protection away first, where that is permitted. Where it is not, the pool must have no users: how many there are
// Cognito only estimates.
func deletePool(ctx context.Context, s poolSite) error {
	if !s.MayDelete {
		var out struct{ Users []any }
		in := kind.Document{"UserPoolId": s.Last.ID, "Limit": 1, "AttributesToGet": []string{"sub"}}
		if err := call(ctx, s.Cloud, "ListUsers", in, &out); err != nil {
			return err
		}
		if len(out.Users) > 0 {
			return fmt.Errorf("%w: users", reconcile.ErrHoldsData)
		}
	} else {
		body, err := asIs(ctx, s.Cloud, s.Last.ID)
		if err != nil {
			return err
		}
		if body["DeletionProtection"] == "ACTIVE" {
			body["DeletionProtection"] = "INACTIVE"
			if err := call(ctx, s.Cloud, "UpdateUserPool", compact(body), nil); err != nil {
				return err
			}
		}
	}
	return call(ctx, s.Cloud, "DeleteUserPool", kind.Document{"UserPoolId": s.Last.ID}, nil)
}

func listPools(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	err = eachPool(ctx, scope.Cloud, func(id, name string) {
		if strings.HasPrefix(name, scope.Prefix) {
			all = append(all, kind.Found{Kind: poolType, Place: scope.Place, Identity: id, Name: name})
		}
	})
	return all, err
}

func putTags(ctx context.Context, u poolOn, tags map[string]string) error {
	return call(ctx, u.Cloud, "TagResource", kind.Document{"ResourceArn": u.Live.attrs.ARN, "Tags": tags}, nil)
}

func dropTags(ctx context.Context, u poolOn, keys []string) error {
	return call(ctx, u.Cloud, "UntagResource", kind.Document{"ResourceArn": u.Live.attrs.ARN, "TagKeys": keys}, nil)
}
