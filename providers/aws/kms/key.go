// Package kms offers keys of AWS Key Management Service, and access to them.
//
// It knows a key's settings, its policy, its rotation, the aliases that lead to it and its deletion, which is scheduled. It does
// not know key material that is imported or kept elsewhere, replicas in other regions, nor KMS grants, which services make for
// themselves; how calls are made and judged is the business of package aws.
package kms

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed key.go
var source embed.FS

const keyType = "aws.kms.Key"

// Service is what this package offers. Keys through Cloud Control, AWS::KMS::Key, stay usable.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{keyKind.Erase()},
		Constructs: map[string]athanor.Construct{
			keyType: aws.Usable((func(Key, KeyProps) Key)(nil), Key.Grant, map[string]Access{"encrypt": Encrypt, "decrypt": Decrypt, "sign": Sign, "mac": MAC}),
		},
		Filters: []string{"kms:key"},
		Also:    map[string]string{"AWS::KMS::Key": keyType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			return keyType, string(arn), "", p.Service == "kms" && strings.HasPrefix(p.Resource, "key/")
		},
	}
}

// NewKey declares a key.
func NewKey(s *athanor.Stack, name string, p KeyProps, opts ...athanor.Option) Key {
	return athanor.Declare(s, keyKind, name, p, opts...)
}

// ReadKey uses a key that the stack does not own: by its id, its ARN or an alias, or by KeyProps with an alias.
//
//	key := kms.ReadKey(s, "key", "alias/shop")
func ReadKey(s *athanor.Stack, name string, by any) Key {
	return athanor.Read(s, keyKind, name, by)
}

// KeyProps declare a key. Defaults and limits are those of https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html
type KeyProps struct {
	// Aliases are names that lead to the key, such as alias/shop: up to 256 letters, digits and / _ - characters after alias/.
	// Default: none. An alias that leads to another key is not taken away from it.
	Aliases []string `prop:"set,maxitems=50" wire:"-"`
	// Description of the key. Default: none.
	Description string `prop:"maxlen=8192" wire:"Description"`
	// Usage is what the key is for.
	Usage *string `prop:"enum=ENCRYPT_DECRYPT|SIGN_VERIFY|GENERATE_VERIFY_MAC|KEY_AGREEMENT|ENCAPSULATE_DECAPSULATE,default=ENCRYPT_DECRYPT,immutable" wire:"KeyUsage"`
	// Spec is the form of the key material, such as SYMMETRIC_DEFAULT, RSA_4096, ECC_NIST_P256 or HMAC_256.
	Spec *string `prop:"default=SYMMETRIC_DEFAULT,maxlen=64,immutable" wire:"KeySpec"`
	// MultiRegion makes a primary key, of which replicas can be made in other regions.
	MultiRegion bool `prop:"default=false,immutable" wire:"MultiRegion"`
	// Rotation makes new key material from time to time. What older material encrypted can still be decrypted. It is for keys of
	// the spec SYMMETRIC_DEFAULT.
	Rotation bool `prop:"default=false" wire:"-"`
	// RotationPeriod is how often that is done, in whole days.
	RotationPeriod *time.Duration `prop:"min=90d,max=2560d,default=365d,unit=24h,with=rotation" wire:"-"`
	// Disabled: the key is kept, and nothing can be done with it.
	Disabled bool `prop:"default=false" wire:"-"`
	// Policy says who may use and manage the key: a document (see aws.Policy), or JSON text. Default: that of the service, which
	// lets the account's own IAM policies decide. A policy that does not let them makes grants of this stack mean nothing.
	Policy any `prop:"deferrable" wire:"-,policy"`
	// DeletionWindow is how long a deletion can be cancelled, in whole days. The key cannot be used meanwhile.
	DeletionWindow *time.Duration `prop:"min=7d,max=30d,default=30d,unit=24h" wire:"-"`
	// Tags of the key, beside the owner tags. Default: none.
	Tags map[string]string
}

// Key is what others may refer to of a key.
type Key struct {
	// ARN of the key: what is encrypted names it by this.
	ARN aws.ARN `attr:"early"`
	// ID of the key, the end of its ARN.
	ID string `attr:"early"`
}

// liveKey is an observed key.
type liveKey struct {
	attrs Key
	have  KeyProps
	tags  map[string]string
	// isPending: it is scheduled for deletion, and cannot be changed until that is cancelled.
	isPending bool
	state     string
}

type site = kind.Site[KeyProps, Key]

var keyTable = kind.TableOf[KeyProps](aws.PolicyCodec())

var keyKind = &kind.Kind[KeyProps, liveKey, Key]{
	Type: keyType,
	Doc: "A key of AWS KMS with its aliases, policy, rotation and tags. Deleting it schedules that, and counts as done: for its deletion " +
		"window it can be adopted by its id, which cancels the deletion. A key always holds data, since what it encrypted is lost with it. " +
		"Imported key material, custom key stores, replicas and KMS grants are not managed.",

	Observe:    aws.Together(keyType, observeKey, observeKeys),
	Create:     createKey,
	Compare:    compareKey,
	Attributes: func(live liveKey) Key { return live.attrs },
	Delete:     deleteKey,
	Identity:   func(k Key) string { return string(k.ARN) },

	Props: keyTable,
	Check: checkKey,
	Unique: func(want KeyProps) (all []string) {
		for _, alias := range want.Aliases {
			all = append(all, aws.Declares("AWS::KMS::Alias", alias)...)
		}
		return all
	},
	Owner: kind.Tagged[KeyProps, liveKey]{
		Tag:   func(live liveKey) kind.OwnerTag { return adopt.MarkOf(live.tags) },
		Check: func(want KeyProps) error { return aws.CheckTags(want.Tags).OrNil() },
		Compare: func(d *kind.Diff[liveKey], want KeyProps, live liveKey) {
			aws.CompareTags(d, want.Tags, live.tags, "TagResource", putTags, dropTags)
		},
	},
	Status: func(live liveKey) kind.Status {
		if live.state == "Creating" || live.state == "Updating" {
			return kind.Busy("it is " + strings.ToLower(live.state))
		}
		return kind.Ready()
	},
	HoldsData: &kind.HoldsData[KeyProps, liveKey]{
		Now:  func(liveKey) bool { return true },
		What: func(liveKey) string { return "what it encrypted" },
	},
	Bulk: aws.InBulk(observeKey, observeKeys),

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("KMS", "kms", aws.Source(source), kind.Permissions{
		Observe: []string{"DescribeKey", "GetKeyPolicy", "GetKeyRotationStatus", "ListAliases", "ListResourceTags", "tag:GetResources"},
		Create:  []string{"CreateKey", "TagResource", "CreateAlias", "UpdateAlias", "EnableKeyRotation", "DisableKey"},
		Only: map[string][]tree.Path{
			"CreateAlias": {"aliases"}, "UpdateAlias": {"aliases"}, "DeleteAlias": {"aliases"},
			"EnableKeyRotation": {"rotation"}, "DisableKey": {"disabled"},
		},
		Update: []string{
			"UpdateKeyDescription", "EnableKey", "DisableKey", "CancelKeyDeletion", "EnableKeyRotation", "DisableKeyRotation", "PutKeyPolicy",
			"CreateAlias", "UpdateAlias", "DeleteAlias", "TagResource", "UntagResource",
		},
		Calls: map[string][]string{
			"CreateAlias": {"CreateAlias", "UpdateAlias", "DeleteAlias"}, "EnableKey": {"EnableKey", "CancelKeyDeletion"},
		},
		Delete: []string{"ScheduleKeyDeletion", "DeleteAlias", "UntagResource"},
		Resource: func(location kind.Location, _ string) []string { // the id is the service's to choose
			return []string{string(aws.ARNIn(location, "kms", "key/*")), string(aws.ARNIn(location, "kms", "alias/*"))}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awskeymanagementservice.html
		Anywhere: []string{"CreateKey", "ListAliases"},
	}),
}

// service returns KMS as calls reach it.
func service() aws.JSONService {
	return aws.JSONService{Name: "KMS", Signing: "kms", Host: "kms", Target: "TrentService", Version: "1.1"}
}

func call(ctx context.Context, cloud kind.Cloud, operation string, in kind.Document, out any) error {
	return service().Call(ctx, cloud, operation, in, out)
}

// on begins every call on one key.
func on(k Key, more kind.Document) kind.Document {
	body := kind.Document{"KeyId": k.ID}
	maps.Copy(body, more)
	return body
}

const (
	day = 24 * time.Hour
	// tagWindow keeps how long the deletion can be cancelled: who deletes a key may know nothing of its declaration.
	tagWindow     = "athanor:deletion-days"
	defaultWindow = 30 * day
	aliasPrefix   = "alias/"
)

var (
	aliasForm = props.Pattern(`^alias/[a-zA-Z0-9/_-]{1,250}$`)
	errNoKey  = fmt.Errorf("%w: no key has its owner tag or its first alias", reconcile.ErrAbsent)
	errTaken  = errors.New("the alias leads to another key, which is not an earlier one of this resource")
)

// checkKey finds what KMS would refuse, beyond what the table says.
func checkKey(want KeyProps) error {
	var problems props.Errors
	for i, alias := range want.Aliases {
		at := tree.Path("aliases").Index(i)
		switch {
		case token.Has(alias):
		case strings.HasPrefix(alias, "alias/aws/"):
			problems.Wrong(at, "alias/aws/ is for the keys of AWS")
		case !aliasForm().MatchString(alias):
			problems.Wrong(at, "want alias/ and up to 250 letters, digits and / _ - characters")
		}
	}
	symmetric := want.Spec == nil || *want.Spec == "SYMMETRIC_DEFAULT"
	isMAC := want.Usage != nil && *want.Usage == "GENERATE_VERIFY_MAC"
	known := want.Spec != nil && !token.Has(*want.Spec) && (want.Usage == nil || !token.Has(*want.Usage))
	switch {
	case known && strings.HasPrefix(*want.Spec, "HMAC_") != isMAC:
		problems.Wrong("usage", "GENERATE_VERIFY_MAC goes with the specs HMAC_224 to HMAC_512 alone, and they with it")
	case !symmetric && want.Rotation && !token.Has(*want.Spec):
		problems.Wrong("rotation", "only a key of the spec SYMMETRIC_DEFAULT is rotated")
	case symmetric && want.Usage != nil && *want.Usage != "ENCRYPT_DECRYPT" && !token.Has(*want.Usage):
		problems.Wrong("usage", "a key of the spec SYMMETRIC_DEFAULT is for ENCRYPT_DECRYPT alone")
	}
	return problems.OrNil()
}

// keyIn is a key in the metadata that KMS shows.
func keyIn(shown kind.Document) Key {
	arn, _ := shown["Arn"].(string)
	id, _ := shown["KeyId"].(string)
	return Key{ARN: aws.ARN(arn), ID: id}
}

// observeKey reads a key. One that is scheduled for deletion counts as deleted, unless somebody names it who is no owner of it:
// it can be adopted.
func observeKey(ctx context.Context, s site) (liveKey, error) {
	switch {
	case s.Last != nil:
		return unlessPending(readKey(ctx, s, s.Last.ID, liveKey{}))
	case s.ID != "":
		if p, ok := aws.ARN(s.ID).Parse(); ok && (p.Service != "kms" || p.Region != s.Location.Region || p.Account != s.Location.Account) {
			return liveKey{}, aws.Foreign(s.ID, s.Location)
		}
		live, err := readKey(ctx, s, s.ID, liveKey{})
		if mark := adopt.MarkOf(live.tags); s.Owner.IsZero() || !mark.IsZero() {
			return unlessPending(live, err)
		}
		return live, err
	}
	return findKey(ctx, s)
}

func unlessPending(live liveKey, err error) (liveKey, error) {
	if err == nil && live.isPending {
		return liveKey{}, fmt.Errorf("%w: %s is scheduled for deletion", reconcile.ErrAbsent, live.attrs.ID)
	}
	return live, err
}

// findKey looks for a key of the owner, since KMS assigns its identity, and else for one that the first alias leads to. While a
// generation is being made, the others are what it replaces.
func findKey(ctx context.Context, s site) (liveKey, error) {
	var keys []string
	if !s.Owner.IsZero() {
		arns, err := aws.Marked(ctx, s.Cloud, s.Owner)
		if err != nil {
			return liveKey{}, err
		}
		for _, arn := range arns {
			if p, _ := arn.Parse(); p.Service == "kms" && strings.HasPrefix(p.Resource, "key/") {
				keys = append(keys, string(arn))
			}
		}
	}
	read := func(id string) (liveKey, error) { return unlessPending(readKey(ctx, s, id, liveKey{})) }
	of := func(live liveKey) (kind.OwnerTag, string) { return adopt.MarkOf(live.tags), live.attrs.ID }
	ours, _, err := adopt.Find(s.Facts, keys, read, of)
	if err == nil && ours == nil && len(s.Want.Aliases) > 0 && !token.Has(s.Want.Aliases[0]) {
		var others []liveKey
		if ours, others, err = adopt.Find(s.Facts, s.Want.Aliases[:1], read, of); len(others) > 0 {
			ours = &others[0]
		}
	}
	if ours == nil {
		return liveKey{}, cmp.Or(err, errNoKey)
	}
	return *ours, nil
}

// observeKeys reads the tags and the aliases of many keys together, and the rest of each that has the wanted ones. Others are left
// out, for KMS to show by themselves.
func observeKeys(ctx context.Context, all []site) ([]*aws.Answer[liveKey], error) {
	tags, err := aws.TagsTogether(ctx, all, func(k Key) aws.ARN { return k.ARN }, func(want KeyProps) map[string]string {
		declared := maps.Clone(want.Tags)
		if want.DeletionWindow != nil && *want.DeletionWindow != defaultWindow {
			if declared == nil {
				declared = map[string]string{}
			}
			declared[tagWindow] = windowTag(*want.DeletionWindow)
		}
		return declared
	})
	if err != nil {
		return nil, err
	}
	aliases := map[string][]string{}
	err = eachAlias(ctx, all[0].Cloud, kind.Document{}, func(name, key string) { aliases[key] = append(aliases[key], name) })
	if err != nil {
		return nil, err
	}
	isApart := func(i int) bool {
		return tags[i] == nil || !slices.Equal(slices.Sorted(slices.Values(aliases[all[i].Last.ID])), slices.Sorted(slices.Values(all[i].Want.Aliases)))
	}
	return aws.EachOf(ctx, all, isApart, func(ctx context.Context, i int, s site) (liveKey, error) {
		known := liveKey{tags: tags[i]}
		known.have.Aliases = slices.Sorted(slices.Values(aliases[s.Last.ID]))
		return unlessPending(readKey(ctx, s, s.Last.ID, known))
	}), nil
}

// readKey reads a key by its id, its ARN or an alias, and then at once all that hangs on it. Of a key whose tags are known the
// aliases are known too.
func readKey(ctx context.Context, s site, id string, known liveKey) (live liveKey, err error) {
	var out struct{ KeyMetadata kind.Document }
	if err := call(ctx, s.Cloud, "DescribeKey", kind.Document{"KeyId": id}, &out); err != nil {
		return live, aws.Absent(err)
	}
	shown := out.KeyMetadata
	live.attrs = keyIn(shown)
	live.state, _ = shown["KeyState"].(string)
	live.isPending = live.state == "PendingDeletion" || live.state == "PendingReplicaDeletion"
	if live.have, err = keyTable.Read(shown); err != nil {
		return live, err
	}
	live.have.Disabled = live.state == "Disabled"
	group, ctx := errgroup.WithContext(ctx)
	if live.tags, live.have.Aliases = maps.Clone(known.tags), known.have.Aliases; live.tags == nil {
		group.Go(func() (err error) {
			live.have.Aliases, err = aliasesOf(ctx, s.Cloud, live.attrs)
			return err
		})
		group.Go(func() (err error) {
			live.tags, err = tagsOf(ctx, s.Cloud, live.attrs)
			return aws.NotYet(err)
		})
	}
	group.Go(func() error {
		var out struct{ Policy string }
		if err := call(ctx, s.Cloud, "GetKeyPolicy", on(live.attrs, kind.Document{"PolicyName": "default"}), &out); err != nil {
			return aws.NotYet(err)
		}
		if !isStandard(out.Policy, s.Location) {
			live.have.Policy = out.Policy
		}
		return nil
	})
	if *live.have.Spec == "SYMMETRIC_DEFAULT" && !live.isPending { // of a key that is to be deleted KMS does not tell it
		group.Go(func() error {
			var out struct {
				KeyRotationEnabled   bool
				RotationPeriodInDays int
			}
			if err := call(ctx, s.Cloud, "GetKeyRotationStatus", on(live.attrs, nil), &out); err != nil {
				return aws.NotYet(err)
			}
			if live.have.Rotation = out.KeyRotationEnabled; out.RotationPeriodInDays > 0 {
				live.have.RotationPeriod = new(time.Duration(out.RotationPeriodInDays) * day)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return live, err
	}
	live.have.DeletionWindow = new(windowIn(live.tags))
	delete(live.tags, tagWindow)
	return live, nil
}

// standardPolicy is the policy of a key that was created without one:
// https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html
func standardPolicy(location kind.Location) map[string]any {
	root := aws.Parts{Partition: aws.Partition(location.Region), Service: "iam", Account: location.Account, Resource: "root"}.ARN()
	document := aws.Policy(aws.Statement{
		Sid: "Enable IAM User Permissions", Principals: map[string][]string{"AWS": {string(root)}}, Actions: []string{"kms:*"}, Resources: []string{"*"},
	})
	document["Id"] = "key-default-1"
	return document
}

func isStandard(policy string, location kind.Location) bool {
	return policy == "" || tree.Equal(aws.CanonicalPolicy(policy), aws.CanonicalPolicy(standardPolicy(location)))
}

// aliasesOf are the names that lead to a key, sorted.
func aliasesOf(ctx context.Context, cloud kind.Cloud, k Key) (all []string, err error) {
	err = eachAlias(ctx, cloud, on(k, nil), func(name, key string) {
		if key == k.ID {
			all = append(all, name)
		}
	})
	slices.Sort(all)
	return all, err
}

// eachAlias lists aliases, those of all keys or of one that the call names, with the ids of the keys that they lead to.
func eachAlias(ctx context.Context, cloud kind.Cloud, in kind.Document, yield func(name, key string)) error {
	in["Limit"] = 100
	for {
		var page struct {
			Aliases []struct {
				AliasName   string
				TargetKeyID string `json:"TargetKeyId"`
			}
			NextMarker string
		}
		if err := call(ctx, cloud, "ListAliases", in, &page); err != nil {
			return aws.NotYet(err)
		}
		for _, a := range page.Aliases {
			yield(a.AliasName, a.TargetKeyID)
		}
		if in["Marker"] = page.NextMarker; page.NextMarker == "" {
			return nil
		}
	}
}

func tagsOf(ctx context.Context, cloud kind.Cloud, k Key) (map[string]string, error) {
	tags, in := map[string]string{}, on(k, kind.Document{"Limit": 50})
	for {
		var page struct {
			Tags       []tag
			NextMarker string
		}
		if err := call(ctx, cloud, "ListResourceTags", in, &page); err != nil {
			return nil, err
		}
		for _, t := range page.Tags {
			tags[t.TagKey] = t.TagValue
		}
		if in["Marker"] = page.NextMarker; page.NextMarker == "" {
			return tags, nil
		}
	}
}

func windowTag(window time.Duration) string { return strconv.Itoa(int(window / day)) }

func windowIn(tags map[string]string) time.Duration {
	if days, err := strconv.Atoi(tags[tagWindow]); err == nil && days >= 7 && days <= 30 {
		return time.Duration(days) * day
	}
	return defaultWindow
}

// createKey carries the policy and the tags. Aliases, rotation and whether the key is disabled are the update's that follows.
func createKey(ctx context.Context, s site) (Key, error) {
	tags := aws.Tags(s.Cloud, s.Want.Tags, s.Owner)
	if window := *s.Want.DeletionWindow; window != defaultWindow {
		tags[tagWindow] = windowTag(window)
	}
	body := kind.Document{"Tags": tagList(tags)}
	if err := keyTable.Created(s.Want, body); err != nil {
		return Key{}, err
	}
	if s.Want.Policy != nil {
		text, err := aws.DocumentText(s.Want.Policy)
		if err != nil {
			return Key{}, err
		}
		body["Policy"] = text
	}
	var out struct{ KeyMetadata kind.Document }
	if err := call(ctx, s.Cloud, "CreateKey", body, &out); err != nil {
		return Key{}, propagating(s.Cloud, err)
	}
	return keyIn(out.KeyMetadata), nil
}

// propagating waits for a principal of the policy that was made a moment ago, which KMS does not know yet.
func propagating(cloud kind.Cloud, err error) error {
	if aws.HasCode(err, "MalformedPolicyDocumentException") && aws.PermissionsArrive(cloud) {
		return aws.Busy(err)
	}
	return aws.Propagating(cloud, err)
}

// compareKey states every aspect, each with the call that sets it.
func compareKey(d *kind.Diff[liveKey], want KeyProps, live liveKey) {
	set := func(operation string, more kind.Document) *kind.Operation[liveKey] {
		return kind.Set(operation, func(ctx context.Context, u kind.Update[liveKey]) error {
			return aws.NotYet(propagating(u.Cloud, call(ctx, u.Cloud, operation, on(u.Live.attrs, more), nil)))
		})
	}
	// A key that is scheduled for deletion takes no other change, and one that is disabled no rotation: the enabling comes first.
	if live.isPending || live.have.Disabled && !want.Disabled {
		have := any(live.have.Disabled)
		if live.isPending {
			have = live.state
		}
		reconcile.Value(d, "disabled", any(want.Disabled), have, enabling(want))
		live.have.Disabled = want.Disabled
	}
	policy := kind.Set("PutKeyPolicy", func(ctx context.Context, u kind.Update[liveKey]) error {
		document := want.Policy
		if document == nil {
			document = standardPolicy(u.Location)
		}
		text, err := aws.DocumentText(document)
		if err != nil {
			return err
		}
		body := on(u.Live.attrs, kind.Document{"PolicyName": "default", "Policy": text})
		return aws.NotYet(propagating(u.Cloud, call(ctx, u.Cloud, "PutKeyPolicy", body, nil)))
	})
	if want.Policy != nil && !d.Unknown("policy", want.Policy) && tree.Equal(aws.CanonicalPolicy(want.Policy), aws.CanonicalPolicy(standardPolicy(d.Place()))) {
		want.Policy = nil
	}
	rotation := set("DisableKeyRotation", nil)
	if want.Rotation {
		rotation = set("EnableKeyRotation", kind.Document{"RotationPeriodInDays": int64(*want.RotationPeriod / day)})
	}
	window := set("UntagResource", kind.Document{"TagKeys": []string{tagWindow}})
	if *want.DeletionWindow != defaultWindow {
		window = set("TagResource", kind.Document{"Tags": []tag{{tagWindow, windowTag(*want.DeletionWindow)}}})
	}
	kind.CompareEach(d, keyTable, want, live.have, map[tree.Path]*kind.Operation[liveKey]{
		"description": set("UpdateKeyDescription", kind.Document{"Description": want.Description}),
		"rotation":    rotation, "rotationPeriod": rotation, "policy": policy, "deletionWindow": window,
		"aliases": aliasing(want), "disabled": set("DisableKey", nil),
	})
}

// enabling cancels a deletion, which leaves a key disabled, and enables the key unless it is to stay so.
func enabling(want KeyProps) *kind.Operation[liveKey] {
	return kind.Set("EnableKey", func(ctx context.Context, u kind.Update[liveKey]) error {
		if u.Live.isPending {
			if err := call(ctx, u.Cloud, "CancelKeyDeletion", on(u.Live.attrs, nil), nil); err != nil {
				return aws.NotYet(err)
			}
		}
		if want.Disabled {
			return nil
		}
		return aws.NotYet(call(ctx, u.Cloud, "EnableKey", on(u.Live.attrs, nil), nil))
	})
}

// aliasing makes the aliases of a key those that are wanted. One that leads to an earlier key of the same resource is led here;
// one that leads to any other key is left alone, and is an error.
func aliasing(want KeyProps) *kind.Operation[liveKey] {
	return kind.Set("CreateAlias", func(ctx context.Context, u kind.Update[liveKey]) error {
		for _, alias := range want.Aliases {
			if slices.Contains(u.Live.have.Aliases, alias) {
				continue
			}
			err := call(ctx, u.Cloud, "CreateAlias", kind.Document{"AliasName": alias, "TargetKeyId": u.Live.attrs.ID}, nil)
			if aws.IsExists(err) {
				err = takeAlias(ctx, u, alias)
			}
			if err != nil {
				return aws.NotYet(err)
			}
		}
		for _, alias := range u.Live.have.Aliases {
			if slices.Contains(want.Aliases, alias) {
				continue
			}
			if err := call(ctx, u.Cloud, "DeleteAlias", kind.Document{"AliasName": alias}, nil); aws.OrNone(err) != nil {
				return err
			}
		}
		return nil
	})
}

func takeAlias(ctx context.Context, u kind.Update[liveKey], alias string) error {
	var out struct{ KeyMetadata kind.Document }
	if err := call(ctx, u.Cloud, "DescribeKey", kind.Document{"KeyId": alias}, &out); err != nil {
		return err
	}
	leads := keyIn(out.KeyMetadata)
	if leads.ID == u.Live.attrs.ID {
		return nil // an earlier answer was lost
	}
	tags, err := tagsOf(ctx, u.Cloud, leads)
	if err != nil {
		return err
	}
	mark := adopt.MarkOf(tags)
	if mark.IsZero() || !mark.SameResource(u.Owner) {
		return reconcile.WithClass(fmt.Errorf("%s: %w: %s", alias, errTaken, leads.ID), reconcile.Invalid)
	}
	return call(ctx, u.Cloud, "UpdateAlias", kind.Document{"AliasName": alias, "TargetKeyId": u.Live.attrs.ID}, nil)
}

// deleteKey frees the aliases, which would stay with a key that is to be deleted, and takes the owner tags away, so that nothing
// finds that key as this resource. Then it schedules the deletion.
func deleteKey(ctx context.Context, s site) error {
	var out struct{ KeyMetadata kind.Document }
	if err := call(ctx, s.Cloud, "DescribeKey", on(*s.Last, nil), &out); err != nil {
		return err
	}
	if state, _ := out.KeyMetadata["KeyState"].(string); state == "PendingDeletion" || state == "PendingReplicaDeletion" {
		return nil
	}
	aliases, err := aliasesOf(ctx, s.Cloud, *s.Last)
	if err != nil {
		return err
	}
	for _, alias := range aliases {
		if err := call(ctx, s.Cloud, "DeleteAlias", kind.Document{"AliasName": alias}, nil); aws.OrNone(err) != nil {
			return err
		}
	}
	tags, err := tagsOf(ctx, s.Cloud, *s.Last)
	if err != nil {
		return err
	}
	var owners []string
	for name := range tags {
		if adopt.IsMark(name) && name != tagWindow {
			owners = append(owners, name)
		}
	}
	if slices.Sort(owners); len(owners) > 0 {
		if err := call(ctx, s.Cloud, "UntagResource", on(*s.Last, kind.Document{"TagKeys": owners}), nil); err != nil {
			return err
		}
	}
	return call(ctx, s.Cloud, "ScheduleKeyDeletion", on(*s.Last, kind.Document{"PendingWindowInDays": int64(windowIn(tags) / day)}), nil)
}

// tag is one tag as KMS writes it.
type tag struct{ TagKey, TagValue string }

func tagList(tags map[string]string) []tag {
	return aws.TagList(tags, func(key, value *string) tag { return tag{*key, *value} })
}

func putTags(ctx context.Context, u kind.Update[liveKey], tags map[string]string) error {
	return aws.NotYet(call(ctx, u.Cloud, "TagResource", on(u.Live.attrs, kind.Document{"Tags": tagList(tags)}), nil))
}

func dropTags(ctx context.Context, u kind.Update[liveKey], keys []string) error {
	return aws.NotYet(call(ctx, u.Cloud, "UntagResource", on(u.Live.attrs, kind.Document{"TagKeys": keys}), nil))
}
