// Package secretsmanager offers secrets of AWS Secrets Manager.
//
// It knows a secret's value, how one is made up, its rotation, copies and policy, and that a deleted secret can be
// restored for a while. It does not know rotation functions, nor older versions of a value; how calls are made and
// judged is the business of package aws.
package secretsmanager

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed secret.go
var source embed.FS

const secretType = "aws.secretsmanager.Secret"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{secretKind.Erase()},
		Constructs: map[string]athanor.Construct{
			secretType: aws.Usable(Secret.declaredWith, Secret.Grant, map[string]Access{"read": Read, "write": Write}),
		},
		Filters: []string{"secretsmanager:secret"},
		Registry: map[string]string{
			"AWS::SecretsManager::Secret": secretType, "AWS::SecretsManager::ResourcePolicy": secretType,
			"AWS::SecretsManager::RotationSchedule": secretType,
		},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			return secretType, string(arn), nameOf(arn), p.Service == "secretsmanager" && strings.HasPrefix(p.Resource, "secret:")
		},
	}
}

// NewSecret declares a secret.
func NewSecret(s *athanor.Stack, name string, p SecretProps, opts ...athanor.Option) Secret {
	return athanor.Declare(s, secretKind, name, p, opts...).declaredWith(p)
}

// ReadSecret uses a secret that the stack does not own: by its name or ARN, or by SecretProps that name it. Its value is
// not read.
func ReadSecret(s *athanor.Stack, name string, by any) Secret {
	return athanor.Read(s, secretKind, name, by)
}

// SecretProps declare a secret, with one of value, generate and external. Defaults and limits are those of
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html
type SecretProps struct {
	// Name of the secret: up to 512 letters, digits and / _ + = . @ -. Default: none, a name is generated. Changing it
	// replaces the secret.
	Name string
	// Value of the secret: text, often JSON, up to 64 KiB. Another value that is there is seen and put right, unless
	// there is a rotation, which makes its own: then it is the first value only. Default: none.
	Value token.Secret
	// Generate has Secrets Manager make up a value when the secret is made, or when it has none. It is never made up
	// again, whatever else changes or is lost, and never read. Default: none.
	Generate *Generate
	// External leaves the value to somebody else: the secret is made without one.
	External bool `prop:"default=false"`
	// Description, up to 2048 characters. It is not for secrets. Default: none.
	Description string `prop:"maxlen=2048" wire:"Description"`
	// KMSKeyID is the key of KMS that encrypts the value: its id, ARN or alias. Default: none, aws/secretsmanager.
	KMSKeyID string `prop:"maxlen=2048" wire:"KmsKeyId"`
	// Rotation has a function make new values on a schedule. Default: none.
	Rotation *Rotation `prop:"deferrable" wire:"-,rotation"`
	// Replicas are copies of the secret in other regions. Default: none.
	Replicas []Replica `wire:"-,copies"`
	// Policy says who may use the secret: a document (see aws.Policy), or JSON text. Default: none, the account alone.
	Policy any `prop:"deferrable" wire:"-,policy"`
	// BlockPublicPolicy refuses a policy that is open to many. It is write-only: it counts when the policy is put.
	BlockPublicPolicy bool `prop:"default=false"`
	// RecoveryWindow is how long a deleted secret can be restored, in whole days from 7 to 30; declaring it again does that. It
	// is kept as a tag.
	RecoveryWindow *time.Duration `prop:"min=7d,max=30d,default=30d,unit=24h" wire:"-"`
	// ForceDelete deletes the secret for good, with nothing left to restore. It is the permission to delete.
	ForceDelete bool `prop:"default=false"`
	// Tags of the secret, beside the owner tags. Default: none.
	Tags map[string]string
}

// Generate says how a value is made up. It counts when that is done: changing it later changes no value.
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetRandomPassword.html
type Generate struct {
	// Length of the password in characters, from 4 to 4096. Default: 32.
	Length *int `prop:"min=4,max=4096"`
	// ExcludeCharacters are not in the password. Default: none.
	ExcludeCharacters string
	// ExcludeLowercase leaves out lower case letters. Default: false.
	ExcludeLowercase bool
	// ExcludeUppercase leaves out upper case letters. Default: false.
	ExcludeUppercase bool
	// ExcludeNumbers leaves out digits. Default: false.
	ExcludeNumbers bool
	// ExcludePunctuation leaves out ! " # $ % & ' ( ) * + , - . / : ; < = > ? @ [ \ ] ^ _ ` { | } ~. Default: false.
	ExcludePunctuation bool
	// IncludeSpace lets the password have spaces. Default: false.
	IncludeSpace bool
	// RequireEachIncludedType has at least one character of each type. Default: true.
	RequireEachIncludedType *bool
	// Template is an object that gets the password under key, such as {"username": "app"}: a document, or JSON text.
	// Default: none, the password alone is the value.
	Template any
	// Key is where the password stands in template. Default: none.
	Key string
}

// Rotation says who makes new values, and when.
// https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_RotateSecret.html
type Rotation struct {
	// LambdaARN is the function that makes and sets a new value; Secrets Manager must be allowed to call it.
	LambdaARN aws.ARN `prop:"required"`
	// ScheduleExpression says when: rate(30 days), rate(4 hours) at the most often, or cron(…) in UTC.
	ScheduleExpression string `prop:"required"`
	// Duration is how long after the scheduled time the rotation may begin, in hours such as 3h. Default: none, one hour
	// for schedules in hours, the rest of the day for others.
	Duration string
	// RotateImmediately makes a new value as soon as the rotation is set or changed. It is write-only.
	RotateImmediately *bool `prop:"default=true"`
}

// Replica is a copy of a secret in another region.
type Replica struct {
	// Region of the copy.
	Region string `prop:"required"`
	// KMSKeyID is the key there that encrypts it. Default: none, aws/secretsmanager of that region.
	KMSKeyID string `prop:"maxlen=2048"`
}

// Secret is what others may refer to of a secret.
type Secret struct {
	// ARN of the secret, with the six characters that Secrets Manager adds to the name.
	ARN aws.ARN `attr:"early"`
	// Name of the secret.
	Name string `attr:"early"`
	// VersionID names the current value, "" while there is none.
	VersionID string `attr:"mutable"`

	key string // that encrypts it, as declared: grants allow its use
}

// declaredWith is the secret with what grants need of its props.
func (s Secret) declaredWith(p SecretProps) Secret {
	s.key = p.KMSKeyID
	return s
}

var (
	errNoName    = errors.New("a secret is found by its name, and there is none")
	errScheduled = errors.New("a secret of this name that is not ours is scheduled for deletion")
	errNotFree   = errors.New("the name of a deleted secret is not free yet")
	errCopy      = errors.New("there is a copy of a secret of another region under this name")
	errCopies    = errors.New("copies of the secret are still there")
	errNotCopied = errors.New("the secret was not copied")
)

// liveSecret is an observed secret.
type liveSecret struct {
	*sdk.DescribeSecretOutput
	have SecretProps // its value is read when it is compared, and at no other time
	tags map[string]string
}

type site = kind.Site[SecretProps, Secret]

var secretTable = kind.TableOf[SecretProps](aws.PolicyCodec(), kind.Codec{Name: "copies", Form: copiesOf}, kind.Codec{
	Name: "rotation",
	Form: func(rotation any) any {
		m, ok := rotation.(map[string]any)
		if !ok {
			return rotation
		}
		m = maps.Clone(m)
		delete(m, "rotateImmediately") // nobody shows it
		return m
	},
}).For(kind.In(sdk.CreateSecretInput{}), kind.In(sdk.UpdateSecretInput{}), kind.Out(sdk.DescribeSecretOutput{}))

var secretKind = &kind.Kind[SecretProps, liveSecret, Secret]{
	Type: secretType,
	Doc: "A secret of AWS Secrets Manager. Its value is given, made up once, or somebody else's; state keeps no value. " +
		"Deleting it schedules that: for its recovery window it can be restored, and is when it is declared again. With permission " +
		"to delete it is deleted at once. Binary values and secrets that other services manage are not offered.",

	Observe:    observeSecret,
	Create:     createSecret,
	Compare:    compareSecret,
	Attributes: liveSecret.attrs,
	Delete:     deleteSecret,
	Identity:   func(s Secret) string { return string(s.ARN) },

	Props: secretTable,
	Check: checkSecret,
	Named: &kind.Named[SecretProps, liveSecret]{
		Given: func(want SecretProps) string { return want.Name },
		Rule:  func(SecretProps) kind.NameRule { return kind.NameRule{Max: 512, Marks: "/_+=.@-"} },
		Live:  func(live liveSecret) string { return sdkaws.ToString(live.Name) },
	},
	Owner: aws.Tagged(
		func(want SecretProps) map[string]string { return want.Tags },
		func(live liveSecret) map[string]string { return live.tags }, "TagResource", putTags, dropTags),
	// Copies that are under way are waited for.
	Status: func(live liveSecret) kind.Status {
		for _, r := range live.ReplicationStatus {
			if r.Status == types.StatusTypeInProgress {
				return kind.Busy("it is being copied to " + sdkaws.ToString(r.Region))
			}
		}
		return kind.Ready()
	},
	// Deleting one without permission loses nothing: it can be restored.
	HoldsData: &kind.HoldsData[SecretProps, liveSecret]{
		Now:       func(liveSecret) bool { return false },
		MayDelete: func(want SecretProps) bool { return want.ForceDelete },
	},
	List: listSecrets,

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("SecretsManager", "secretsmanager", source, kind.Permissions{
		Observe: []string{"DescribeSecret", "GetResourcePolicy", "GetSecretValue"},
		List:    []string{"ListSecrets"},
		Create: []string{
			"CreateSecret", "TagResource", "GetRandomPassword", "RestoreSecret", "ReplicateSecretToRegions", "PutResourcePolicy", "RotateSecret",
		},
		Only: map[string][]tree.Path{
			"GetSecretValue": {"value"}, "GetRandomPassword": {"generate"}, "ReplicateSecretToRegions": {"replicas"}, "RemoveRegionsFromReplication": {"replicas"},
			"PutResourcePolicy": {"policy"}, "RotateSecret": {"rotation"},
		},
		Update: []string{
			"UpdateSecret", "PutSecretValue", "GetRandomPassword", "RotateSecret", "CancelRotateSecret", "ReplicateSecretToRegions",
			"RemoveRegionsFromReplication", "PutResourcePolicy", "DeleteResourcePolicy", "TagResource", "UntagResource",
		},
		Delete: []string{"DeleteSecret", "RemoveRegionsFromReplication"},
		// Secrets Manager adds six characters to the name, which nobody knows before.
		Resource: func(location kind.Location, name string) []string {
			return []string{string(aws.ARNIn(location, "secretsmanager", "secret:"+name+"-??????"))}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecretsmanager.html
		Anywhere: []string{"GetRandomPassword", "ListSecrets"},
		Depends: []kind.Dependence{
			// https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html#security-encryption-authz
			aws.UseKey(0, []string{"UpdateSecret", "PutSecretValue", "ReplicateSecretToRegions"}, []string{"kms:Decrypt", "kms:GenerateDataKey"}, "kmsKeyId"),
			aws.UseKey(reconcile.Observing, nil, []string{"kms:Decrypt"}, "kmsKeyId"),
			// https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotating-secrets-required-permissions-function.html
			{
				Actions: []string{"lambda:InvokeFunction"}, Calls: []string{"RotateSecret"}, Props: []tree.Path{"rotation.lambdaArn"},
				Resource: aws.On("lambda", "function:"),
			},
		},
	}),
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

// nameOf is the name in an ARN, without what Secrets Manager adds to it.
func nameOf(arn aws.ARN) string {
	p, _ := arn.Parse()
	name := strings.TrimPrefix(p.Resource, "secret:")
	if at := len(name) - 7; at > 0 && name[at] == '-' {
		return name[:at]
	}
	return name
}

func (l liveSecret) attrs() Secret {
	return Secret{ARN: aws.ARN(sdkaws.ToString(l.ARN)), Name: sdkaws.ToString(l.Name), VersionID: l.current()}
}

// current is the version of the value that counts, "" while there is none.
func (l liveSecret) current() string {
	for id, stages := range l.VersionIdsToStages {
		if slices.Contains(stages, "AWSCURRENT") {
			return id
		}
	}
	return ""
}

const (
	day = 24 * time.Hour
	// tagWindow keeps how long a deleted secret can be restored: who deletes it may know nothing of its declaration.
	tagWindow     = "athanor:recovery-days"
	defaultWindow = 30 * day
)

// checkSecret finds what Secrets Manager would refuse, beyond what the table says.
func checkSecret(want SecretProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	ways := 0
	for _, way := range []bool{want.Value != "", want.Generate != nil, want.External} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		wrong("value", "want one of value, generate and external")
	}
	if g := want.Generate; g != nil && (g.Template == nil) != (g.Key == "") {
		wrong("generate.template", "template and key go together")
	}
	seen := map[string]bool{}
	for i, r := range want.Replicas {
		if seen[r.Region] && !token.Has(r.Region) {
			wrong(tree.Path("replicas").Index(i).Key("region"), "there is a copy in this region already")
		}
		seen[r.Region] = true
	}
	return problems.OrNil()
}

// ownKey is the key of KMS that every account has for secrets.
const ownKey = "alias/aws/secretsmanager"

// keyOf is a key in one form: its id or alias where it is of the same place, "" for the account's own.
func keyOf(place reconcile.Place, key string) string {
	if p, ok := aws.ARN(key).Parse(); ok && p.Region == place.Region && p.Account == place.Account {
		key = strings.TrimPrefix(p.Resource, "key/")
	}
	if key == ownKey {
		return ""
	}
	return key
}

// copiesOf are copies in one form, in the order of their regions; nil for none. Their keys are of other regions.
func copiesOf(replicas any) any {
	list, _ := replicas.([]any)
	list = slices.Clone(list)
	for i, r := range list {
		if m, ok := r.(map[string]any); ok {
			m = maps.Clone(m)
			if key, _ := m["kmsKeyId"].(string); keyOf(reconcile.Place{}, key) == "" {
				delete(m, "kmsKeyId")
			}
			list[i] = m
		}
	}
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(regionOf(a), regionOf(b)) })
	if len(list) == 0 {
		return nil
	}
	return list
}

func regionOf(replica any) string {
	m, _ := replica.(map[string]any)
	region, _ := m["region"].(string)
	return region
}

// idOf is the name, or the ARN, by which a secret is looked for.
func idOf(s site) (string, error) {
	switch {
	case s.Last != nil:
		return string(s.Last.ARN), nil
	case s.ID != "":
		if p, ok := aws.ARN(s.ID).Parse(); ok && (p.Region != s.Location.Region || p.Account != s.Location.Account || p.Service != "secretsmanager") {
			return "", aws.Foreign(s.ID, s.Location)
		}
		return s.ID, nil
	case s.Name != "":
		return s.Name, nil
	}
	return "", errNoName
}

// observeSecret takes a secret that is scheduled for deletion, and the copy of one of another region, for none.
func observeSecret(ctx context.Context, s site) (liveSecret, error) {
	id, err := idOf(s)
	if err != nil {
		return liveSecret{}, err
	}
	live, err := described(ctx, s.Facts, id)
	if err != nil {
		return live, err
	}
	if live.DeletedDate != nil || live.copied(s.Location) {
		return live, reconcile.ErrAbsent
	}
	client := clientOf(s.Cloud)
	policy, err := client.GetResourcePolicy(ctx, &sdk.GetResourcePolicyInput{SecretId: live.ARN})
	if err != nil {
		return live, aws.Absent(err)
	}
	live.have.Policy = sdkaws.ToString(policy.ResourcePolicy)
	if comparesValue(s.Want) && live.current() != "" {
		out, err := client.GetSecretValue(ctx, &sdk.GetSecretValueInput{SecretId: live.ARN})
		if err != nil {
			return live, aws.Absent(err)
		}
		live.have.Value = valueIn(out)
	}
	return live, nil
}

// comparesValue: what a rotation makes is not for the program to put right.
func comparesValue(want SecretProps) bool { return want.Value != "" && want.Rotation == nil }

func described(ctx context.Context, s kind.Facts, id string) (live liveSecret, err error) {
	out, err := clientOf(s.Cloud).DescribeSecret(ctx, &sdk.DescribeSecretInput{SecretId: &id})
	if err != nil {
		return live, aws.Absent(err)
	}
	live = liveSecret{DescribeSecretOutput: out, tags: aws.TagMap(out.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })}
	if live.have, err = secretTable.Read(kind.Struct(out)); err != nil {
		return live, err
	}
	live.have.KMSKeyID = keyOf(s.Location, live.have.KMSKeyID)
	live.have.Rotation = rotationIn(out)
	for _, r := range out.ReplicationStatus {
		if r.Status != types.StatusTypeFailed { // else it did not come about
			live.have.Replicas = append(live.have.Replicas, Replica{Region: sdkaws.ToString(r.Region), KMSKeyID: sdkaws.ToString(r.KmsKeyId)})
		}
	}
	if days, err := strconv.Atoi(live.tags[tagWindow]); err == nil {
		live.have.RecoveryWindow = new(time.Duration(days) * day)
	}
	delete(live.tags, tagWindow)
	return live, nil
}

// rotationIn is nil where a rotation was taken off: Secrets Manager goes on showing what it was.
func rotationIn(out *sdk.DescribeSecretOutput) *Rotation {
	if !sdkaws.ToBool(out.RotationEnabled) {
		return nil
	}
	r := &Rotation{LambdaARN: aws.ARN(sdkaws.ToString(out.RotationLambdaARN))}
	if rules := out.RotationRules; rules != nil {
		r.ScheduleExpression, r.Duration = sdkaws.ToString(rules.ScheduleExpression), sdkaws.ToString(rules.Duration)
		if days := sdkaws.ToInt64(rules.AutomaticallyAfterDays); r.ScheduleExpression == "" && days > 0 {
			r.ScheduleExpression = fmt.Sprintf("rate(%d days)", days)
		}
	}
	return r
}

func (l liveSecret) copied(location kind.Location) bool {
	primary := sdkaws.ToString(l.PrimaryRegion)
	return primary != "" && primary != location.Region
}

// createSecret carries all but rotation and policy in one call. Its token is the intent's: a repeated call is the same
// creation. A secret of ours that is scheduled for deletion is restored instead, with the value that it had.
func createSecret(ctx context.Context, s site) (Secret, error) {
	client, value := clientOf(s.Cloud), string(s.Want.Value)
	in := &sdk.CreateSecretInput{
		Name:               &s.Name,
		ClientRequestToken: new(tokenOf("create", s.Owner.Stack, s.Owner.Stage, s.Owner.Address, s.Name, s.Nonce, s.New.Deleted)),
		AddReplicaRegions:  replicaList(s.Want.Replicas),
		Tags:               tagList(withWindow(aws.Tags(s.Cloud, s.Want.Tags, s.Owner), s.Want)),
	}
	err := secretTable.Created(s.Want, kind.Struct(in))
	if g := s.Want.Generate; g != nil && err == nil {
		value, err = g.value(ctx, client)
	}
	if err != nil {
		return Secret{}, err
	}
	in.SecretString = aws.OrNil(value)
	out, err := client.CreateSecret(ctx, in)
	switch {
	case is[*types.InvalidRequestException](err):
		return restored(ctx, s, err)
	case aws.IsExists(err):
		return Secret{}, taken(ctx, s, err)
	case err != nil:
		return Secret{}, err
	}
	return Secret{ARN: aws.ARN(sdkaws.ToString(out.ARN)), Name: s.Name, VersionID: sdkaws.ToString(out.VersionId)}, nil
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// restored brings back a secret of ours that stands in the way of a creation. One that was deleted for good keeps its
// name for a moment longer.
func restored(ctx context.Context, s site, cause error) (Secret, error) {
	live, err := described(ctx, s.Facts, s.Name)
	switch {
	case errors.Is(err, reconcile.ErrAbsent):
		return Secret{}, aws.Busy(fmt.Errorf("%w: %w", errNotFree, cause))
	case err != nil:
		return Secret{}, err
	case live.DeletedDate == nil:
		return Secret{}, cause
	}
	if !adopt.MarkOf(live.tags).SameResource(s.Owner) {
		return Secret{}, reconcile.WithHint(fmt.Errorf("%w: %w", errScheduled, cause),
			"`aws secretsmanager restore-secret --secret-id %s` brings it back, and --adopt then takes it; `delete-secret --force-delete-without-recovery` frees the name", s.Name)
	}
	if _, err := clientOf(s.Cloud).RestoreSecret(ctx, &sdk.RestoreSecretInput{SecretId: live.ARN}); err != nil {
		return Secret{}, err
	}
	return live.attrs(), nil
}

// taken tells the copy of a secret of another region, which no observation here will ever show as ours, from a secret that came
// between the observation and the creation.
func taken(ctx context.Context, s site, cause error) error {
	live, err := described(ctx, s.Facts, s.Name)
	if err == nil && live.copied(s.Location) {
		return fmt.Errorf("%w: that of %s", errCopy, sdkaws.ToString(live.PrimaryRegion))
	}
	return cause
}

// deleteSecret schedules the deletion, for as long as the secret itself says; with permission it deletes for good. Copies go
// first, since Secrets Manager deletes none that has some.
func deleteSecret(ctx context.Context, s site) error {
	client, id := clientOf(s.Cloud), new(string(s.Last.ARN))
	live, err := described(ctx, s.Facts, *id)
	if err != nil {
		return err
	}
	if len(live.ReplicationStatus) > 0 {
		var regions []string
		for _, r := range live.ReplicationStatus {
			regions = append(regions, sdkaws.ToString(r.Region))
		}
		if _, err := client.RemoveRegionsFromReplication(ctx, &sdk.RemoveRegionsFromReplicationInput{SecretId: id, RemoveReplicaRegions: regions}); err != nil {
			return err
		}
		if live, err = described(ctx, s.Facts, *id); err != nil {
			return err
		}
		if len(live.ReplicationStatus) > 0 {
			return aws.Busy(errCopies)
		}
	}
	in := &sdk.DeleteSecretInput{SecretId: id, ForceDeleteWithoutRecovery: aws.OrNil(s.MayDelete)}
	if !s.MayDelete {
		in.RecoveryWindowInDays = new(int64(*live.have.RecoveryWindow / day))
	}
	_, err = client.DeleteSecret(ctx, in)
	return err
}

func listSecrets(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	in := &sdk.ListSecretsInput{MaxResults: new(int32(100))}
	if scope.Prefix != "" {
		in.Filters = []types.Filter{{Key: types.FilterNameStringTypeName, Values: []string{scope.Prefix}}}
	}
	next := func(out *sdk.ListSecretsOutput) *string { return out.NextToken }
	for page, err := range aws.PagesByToken(ctx, clientOf(scope.Cloud).ListSecrets, in, &in.NextToken, next) {
		if err != nil {
			return nil, err
		}
		for _, s := range page.SecretList {
			name := sdkaws.ToString(s.Name)
			if primary := sdkaws.ToString(s.PrimaryRegion); primary != "" && primary != scope.Place.Region || !strings.HasPrefix(name, scope.Prefix) {
				continue
			}
			all = append(all, kind.Found{Kind: secretType, Place: scope.Place, Identity: sdkaws.ToString(s.ARN), Name: name})
		}
	}
	return all, nil
}

// compareSecret states every aspect that can be seen. One call updates description, key and value.
func compareSecret(d *kind.Diff[liveSecret], want SecretProps, live liveSecret) {
	update := kind.Set("UpdateSecret", func(ctx context.Context, u kind.Update[liveSecret]) error {
		in := &sdk.UpdateSecretInput{SecretId: u.Live.ARN}
		if err := secretTable.Changed(want, u.Live.have, u.Changed, kind.Struct(in)); err != nil {
			return err
		}
		if in.KmsKeyId != nil {
			in.KmsKeyId = new(cmp.Or(*in.KmsKeyId, ownKey))
		}
		if slices.Contains(u.Changed, "value") {
			in.SecretString, in.ClientRequestToken = new(string(want.Value)), new(u.Live.next("value"))
		}
		_, err := clientOf(u.Cloud).UpdateSecret(ctx, in)
		return aws.NotYet(err)
	})
	policy := set("DeleteResourcePolicy", aws.CallOf(clientOf, (*sdk.Client).DeleteResourcePolicy), &sdk.DeleteResourcePolicyInput{SecretId: live.ARN})
	if want.Policy != nil {
		policy = set("PutResourcePolicy", aws.CallOf(clientOf, (*sdk.Client).PutResourcePolicy), &sdk.PutResourcePolicyInput{
			SecretId: live.ARN, ResourcePolicy: aws.Text(want.Policy), BlockPublicPolicy: &want.BlockPublicPolicy,
		})
	}
	rotation := set("CancelRotateSecret", aws.CallOf(clientOf, (*sdk.Client).CancelRotateSecret), &sdk.CancelRotateSecretInput{SecretId: live.ARN})
	if r := want.Rotation; r != nil {
		rotation = set("RotateSecret", aws.CallOf(clientOf, (*sdk.Client).RotateSecret), &sdk.RotateSecretInput{
			SecretId: live.ARN, RotationLambdaARN: new(string(r.LambdaARN)), RotateImmediately: r.RotateImmediately,
			ClientRequestToken: new(live.next("rotation")),
			RotationRules:      &types.RotationRulesType{ScheduleExpression: &r.ScheduleExpression, Duration: aws.OrNil(r.Duration)},
		})
	}
	window := set("UntagResource", aws.CallOf(clientOf, (*sdk.Client).UntagResource), &sdk.UntagResourceInput{SecretId: live.ARN, TagKeys: []string{tagWindow}})
	if *want.RecoveryWindow != defaultWindow {
		window = set("TagResource", aws.CallOf(clientOf, (*sdk.Client).TagResource),
			&sdk.TagResourceInput{SecretId: live.ARN, Tags: tagList(withWindow(map[string]string{}, want))})
	}
	if comparesValue(want) {
		reconcile.Value(d, "value", want.Value, live.have.Value, update)
	}
	if want.Generate != nil && live.current() == "" {
		reconcile.Value(d, "generate", want.Generate, nil, generate(want))
	}
	inOneForm := want
	inOneForm.KMSKeyID = keyOf(d.Place(), want.KMSKeyID)
	kind.CompareEach(d, secretTable, inOneForm, live.have, map[tree.Path]*kind.Operation[liveSecret]{
		"description": update, "kmsKeyId": update, "policy": policy, "rotation": rotation, "recoveryWindow": window,
		"replicas": replicate(want, d.Made("replicas")),
	})
}

// set is an operation that is one call.
func set(name string, call aws.Call, in any) *kind.Operation[liveSecret] {
	return kind.Set(name, func(ctx context.Context, u kind.Update[liveSecret]) error {
		return aws.NotYet(call.Send(ctx, u.Cloud, in))
	})
}

// replicate removes what is not wanted, or wanted with another key, and copies what is missing. A copy that does not come
// about is tried once.
func replicate(want SecretProps, tried bool) *kind.Operation[liveSecret] {
	return kind.Set("ReplicateSecretToRegions", func(ctx context.Context, u kind.Update[liveSecret]) error {
		client := clientOf(u.Cloud)
		var unwanted []string
		missing := slices.Clone(want.Replicas)
		for _, r := range u.Live.ReplicationStatus {
			region := sdkaws.ToString(r.Region)
			if r.Status == types.StatusTypeFailed && tried {
				return fmt.Errorf("%w to %s: %s", errNotCopied, region, sdkaws.ToString(r.StatusMessage))
			}
			at := slices.IndexFunc(missing, func(w Replica) bool {
				return w.Region == region && r.Status != types.StatusTypeFailed && w.key() == Replica{KMSKeyID: sdkaws.ToString(r.KmsKeyId)}.key()
			})
			if at < 0 {
				unwanted = append(unwanted, region)
			} else {
				missing = slices.Delete(missing, at, at+1)
			}
		}
		if len(unwanted) > 0 {
			if _, err := client.RemoveRegionsFromReplication(ctx, &sdk.RemoveRegionsFromReplicationInput{SecretId: u.Live.ARN, RemoveReplicaRegions: unwanted}); err != nil {
				return aws.NotYet(err)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		_, err := client.ReplicateSecretToRegions(ctx, &sdk.ReplicateSecretToRegionsInput{SecretId: u.Live.ARN, AddReplicaRegions: replicaList(missing)})
		return aws.NotYet(err)
	})
}

// key is that of a copy as it was given: it is of another region.
func (r Replica) key() string { return keyOf(reconcile.Place{}, r.KMSKeyID) }

// withWindow adds the recovery window to tags, unless it is the service's own.
func withWindow(tags map[string]string, want SecretProps) map[string]string {
	if *want.RecoveryWindow != defaultWindow {
		tags[tagWindow] = strconv.Itoa(int(*want.RecoveryWindow / day))
	}
	return tags
}

func putTags(ctx context.Context, u kind.Update[liveSecret], tags map[string]string) error {
	_, err := clientOf(u.Cloud).TagResource(ctx, &sdk.TagResourceInput{SecretId: u.Live.ARN, Tags: tagList(tags)})
	return err
}

func dropTags(ctx context.Context, u kind.Update[liveSecret], keys []string) error {
	_, err := clientOf(u.Cloud).UntagResource(ctx, &sdk.UntagResourceInput{SecretId: u.Live.ARN, TagKeys: keys})
	return err
}

// tokenOf names one request: repeated, it is the same one. It becomes the id of the version that the request makes, so
// that nothing secret goes into it.
func tokenOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}

func replicaList(replicas []Replica) []types.ReplicaRegionType {
	var list []types.ReplicaRegionType
	for _, r := range replicas {
		list = append(list, types.ReplicaRegionType{Region: new(r.Region), KmsKeyId: aws.OrNil(r.KMSKeyID)})
	}
	return list
}
