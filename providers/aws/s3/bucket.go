package s3

import (
	"context"
	"fmt"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// BucketProps declare a bucket. A setting that is left out has the service's default, and is reset to it when its line is
// deleted from the program. Settings are written in this order: ownership and the public access block come before all that
// could make the bucket public, versioning before what needs it, and the policy last, when the block that could refuse it is
// as declared.
type BucketProps struct {
	// Name is 3 to 63 lower case letters, digits, "-" and ".", shared with all accounts unless it ends with
	// "-ACCOUNT-REGION-an". Left out, a name is generated in the account-regional namespace, which nobody else
	// can take. Changing it replaces the bucket.
	Name string
	// ObjectOwnership is whose the uploaded objects are, and whether access control lists count; with
	// BucketOwnerEnforced they do not.
	ObjectOwnership *string `prop:"enum=BucketOwnerEnforced|BucketOwnerPreferred|ObjectWriter,default=BucketOwnerEnforced" wire:"ObjectOwnership"`
	// PublicAccessBlock keeps the bucket private whatever its policy and lists say. Left out, all four are on.
	PublicAccessBlock *PublicAccessBlock `prop:"each" wire:"PublicAccessBlock"`
	// Versioning is whether overwritten and deleted objects are kept. A bucket that had it enabled can never
	// go back to having none: leaving it out then means Suspended.
	Versioning string `prop:"enum=Enabled|Suspended" wire:"Versioning"`
	// Encryption of new objects. Left out, S3 encrypts with keys of its own (AES256).
	Encryption *Encryption `prop:"each" wire:"Encryption"`
	// CORS are the rules for requests of browsers from other origins, at most 100; the first that matches counts.
	CORS []CORSRule `prop:"deferrable" wire:"CORSRules,elements"`
	// Lifecycle are the rules by which objects move to other storage classes or are deleted, at most 1,000.
	// Their order does not count.
	Lifecycle []LifecycleRule `prop:"deferrable" wire:"LifecycleRules,elements"`
	// Logging writes an entry for each request to another bucket.
	Logging *Logging `prop:"deferrable" wire:"LoggingEnabled"`
	// TransferAcceleration routes uploads through edge locations. A name with "." cannot have it.
	TransferAcceleration bool `prop:"default=false" wire:"Accelerate,enabled"`
	// RequestPayer is who pays for requests and transfer.
	RequestPayer *string `prop:"enum=BucketOwner|Requester,default=BucketOwner" wire:"Payer"`
	// Website serves the bucket's objects as a site under its websiteEndpoint.
	Website *Website `prop:"deferrable" wire:"Website"`
	// Notifications tell others what happens to the bucket's objects, by a name of up to 255 characters. One whose
	// destination does not let S3 in is accepted all the same, since its policy may come later; until then nothing is sent
	// to it. Left out, there are none.
	Notifications map[string]Notification `prop:"deferrable" wire:"-"`
	// Bindings are notifications that constructors add. Default: none.
	Bindings map[string]Notification `prop:"deferrable" wire:"-"`
	// EventBridge sends all events to EventBridge, where rules choose among them.
	EventBridge bool `prop:"default=false" wire:"-"`
	// ObjectLockEnabled lets objects be protected from deletion, and turns versioning on. It can be turned
	// on later; turning it off replaces the bucket.
	ObjectLockEnabled bool `prop:"default=false" wire:"ObjectLock.ObjectLockEnabled,enabled,omitzero"`
	// ObjectLockRetention is how long new objects are protected when their upload says nothing. It needs
	// objectLockEnabled. Left out, such objects are not protected.
	ObjectLockRetention *Retention `wire:"ObjectLock.Rule.DefaultRetention"`
	// Policy is the bucket's policy, a document or its JSON text of at most 20 KiB, compared by its meaning. Left
	// out, there is none. A policy that allows the public needs blockPublicPolicy off.
	Policy any `prop:"deferrable" wire:"Policy,policy"`
	// Tags of the bucket, at most 44 beside the owner tags. Keys that begin with "athanor:" or "aws:" are not for authors.
	Tags map[string]string `prop:"maxitems=44"`
	// ForceDestroy permits deleting the bucket with all that is in it, every version included.
	// Objects that a retention or a legal hold protects are not deleted even so.
	ForceDestroy bool `prop:"default=false"`
}

// PublicAccessBlock is four locks against making the bucket public by mistake.
type PublicAccessBlock struct {
	// BlockPublicACLs refuses new lists that give the public access.
	BlockPublicACLs *bool `prop:"default=true" wire:"BlockPublicAcls"`
	// IgnorePublicACLs takes lists that give the public access as not there.
	IgnorePublicACLs *bool `prop:"default=true" wire:"IgnorePublicAcls"`
	// BlockPublicPolicy refuses a policy that gives the public access.
	BlockPublicPolicy *bool `prop:"default=true" wire:"BlockPublicPolicy"`
	// RestrictPublicBuckets lets only this account and services of AWS into a bucket with a public policy.
	RestrictPublicBuckets *bool `prop:"default=true" wire:"RestrictPublicBuckets"`
}

// Encryption is the default encryption of new objects.
type Encryption struct {
	// Algorithm is AES256 with keys of S3, or aws:kms or aws:kms:dsse with keys of KMS.
	Algorithm string `prop:"required,enum=AES256|aws:kms|aws:kms:dsse" wire:"ApplyServerSideEncryptionByDefault.SSEAlgorithm"`
	// KMSKey is the ARN, identifier or alias of a key, for the algorithms of KMS. Left out, they use the account's
	// key aws/s3. An ARN is best: S3 looks up anything else in the account that uploads.
	KMSKey string `prop:"deferrable" wire:"ApplyServerSideEncryptionByDefault.KMSMasterKeyID"`
	// BucketKeyEnabled lets S3 ask KMS less often, which costs less. It counts for aws:kms.
	BucketKeyEnabled bool `prop:"default=false" wire:"BucketKeyEnabled,omitzero"`
}

// CORSRule allows requests of browsers from other origins.
type CORSRule struct {
	// ID names the rule, at most 255 characters.
	ID string `wire:"ID"`
	// AllowedMethods are some of GET, PUT, HEAD, POST and DELETE.
	AllowedMethods []string `prop:"required,set" wire:"AllowedMethods"`
	// AllowedOrigins are origins such as https://example.com; each may hold one "*".
	AllowedOrigins []string `prop:"required,set" wire:"AllowedOrigins"`
	// AllowedHeaders are the headers that a preflight request may ask for; each may hold one "*".
	AllowedHeaders []string `prop:"set" wire:"AllowedHeaders"`
	// ExposeHeaders are the headers of answers that scripts may read.
	ExposeHeaders []string `prop:"set" wire:"ExposeHeaders"`
	// MaxAge is how long a browser may keep the answer to a preflight request, in whole seconds. Left out, the browser decides.
	MaxAge *time.Duration `prop:"min=0s" wire:"MaxAgeSeconds"`
}

// Logging says where entries for requests go.
type Logging struct {
	// Bucket is the name of the bucket that is written to. Its policy must let logging.s3.amazonaws.com put objects.
	Bucket BucketName `prop:"required" wire:"TargetBucket"`
	// Prefix is what the keys of the entries begin with.
	Prefix string `wire:"TargetPrefix"`
	// PartitionedBy puts the account, region, bucket and a date into the keys: that of the request or that of the
	// delivery. Left out, keys are the prefix and a time.
	PartitionedBy string `prop:"enum=EventTime|DeliveryTime" wire:"TargetObjectKeyFormat.PartitionedPrefix.PartitionDateSource"`
}

// Website makes a bucket a site: either an index document, or a redirect of all requests.
type Website struct {
	// IndexDocument is what is served for a folder, such as index.html. It holds no "/".
	IndexDocument string `prop:"excludes=redirectTo" wire:"IndexDocument.Suffix"`
	// ErrorDocument is the key of the object that is served with errors.
	ErrorDocument string `prop:"excludes=redirectTo" wire:"ErrorDocument.Key"`
	// RedirectTo is the host to which all requests are sent. It excludes the other props of the site.
	RedirectTo string `wire:"RedirectAllRequestsTo.HostName"`
	// RedirectProtocol of redirectTo. Left out, it is that of the request.
	RedirectProtocol string `prop:"enum=http|https,needs=redirectTo" wire:"RedirectAllRequestsTo.Protocol"`
	// RoutingRules redirect some requests, at most 50; the first that matches counts.
	RoutingRules []RoutingRule `prop:"maxitems=50,excludes=redirectTo" wire:"RoutingRules,elements"`
}

// RoutingRule redirects the requests that its conditions match.
type RoutingRule struct {
	// KeyPrefix matches keys that begin with it.
	KeyPrefix string `wire:"Condition.KeyPrefixEquals"`
	// ErrorCode matches answers with this HTTP status, such as 404.
	ErrorCode string `wire:"Condition.HttpErrorCodeReturnedEquals"`
	// Host to send to. Left out, it is that of the request.
	Host string `wire:"Redirect.HostName"`
	// Protocol to use. Left out, it is that of the request.
	Protocol string `prop:"enum=http|https" wire:"Redirect.Protocol"`
	// RedirectCode is the HTTP status to answer with. Left out, it is 301.
	RedirectCode string `wire:"Redirect.HttpRedirectCode"`
	// ReplaceKey is the key to send to, in place of the one that was asked for.
	ReplaceKey string `wire:"Redirect.ReplaceKeyWith"`
	// ReplaceKeyPrefix takes the place of keyPrefix in the key; it may be empty. It excludes replaceKey.
	ReplaceKeyPrefix *string `wire:"Redirect.ReplaceKeyPrefixWith"`
}

// Notification tells a queue, a topic or a function what happens to objects: one of the three.
type Notification struct {
	// Queue that gets a message for each event, not a FIFO one. Its policy must let s3.amazonaws.com send to it.
	Queue aws.ARN
	// Topic that gets a message for each event, not a FIFO one. Its policy must let s3.amazonaws.com publish to it.
	Topic aws.ARN
	// Function that is invoked for each event. Its policy must let s3.amazonaws.com invoke it.
	Function aws.ARN
	// Events are what is sent, such as s3:ObjectCreated:* or s3:ObjectRemoved:Delete. Their order does not count.
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-how-to-event-types-and-destinations.html
	Events []string `prop:"required"`
	// Prefix is what the keys of the objects begin with. Left out, all do.
	Prefix string
	// Suffix is what the keys of the objects end with. Left out, all do.
	Suffix string
}

// Retention is the default protection of new objects: days or years, not both.
type Retention struct {
	// Mode is GOVERNANCE, which users with a special permission may override, or COMPLIANCE, which nobody may.
	Mode string `prop:"required,enum=GOVERNANCE|COMPLIANCE" wire:"Mode"`
	// Days of protection, at most 36500.
	Days int `prop:"min=0,max=36500" wire:"Days,omitzero"`
	// Years of protection, at most 100.
	Years int `prop:"min=0,max=100" wire:"Years,omitzero"`
}

// BucketName is the name of a bucket.
type BucketName string

// Bucket is what others may refer to of a bucket.
type Bucket struct {
	// Name of the bucket.
	Name BucketName `attr:"early"`
	// ARN of the bucket; ARN + "/*" are its objects.
	ARN aws.ARN `attr:"early"`
	// Region that the bucket is in.
	Region string `attr:"early"`
	// DomainName is the host of the bucket without a region.
	DomainName string `attr:"early"`
	// RegionalDomainName is the host of the bucket in its region; origins of CloudFront want this one.
	RegionalDomainName string `attr:"early"`
	// WebsiteEndpoint is the host of the bucket's site; it answers when website is declared, over HTTP alone.
	WebsiteEndpoint string `attr:"early"`

	key string // that encrypts its objects, as declared: grants allow its use
}

// declaredWith is the bucket with what grants need of its props.
func (b Bucket) declaredWith(p BucketProps) Bucket {
	if p.Encryption != nil {
		b.key = p.Encryption.KMSKey
	}
	return b
}

// liveBucket is an observed bucket.
type liveBucket struct {
	name     string
	location kind.Location
	have     BucketProps
	// settings are what S3 showed. What is not managed in them is written back with the rest.
	settings settings
	tags     map[string]string
	// holdsData: there is an object, an older version or a delete marker, or nobody needs to know, of a bucket that stays.
	holdsData bool
}

type (
	bucketSite = kind.Site[BucketProps, Bucket]
	bucketDiff = kind.Diff[liveBucket]
	bucketCall = kind.Operation[liveBucket]
)

var bucketTable = kind.TableOf[BucketProps](
	append(lifecycleCodecs(), aws.PolicyCodec(), switchCodec("enabled", "Enabled", "Suspended"))...,
).For(kind.Both(settings{}))

var bucketKind = &kind.Kind[BucketProps, liveBucket, Bucket]{
	Type: bucketType,
	Doc: "A bucket for objects, with all that is set on it as a whole. Not managed, and left as they are: " +
		"replication, access control lists, intelligent tiering, inventory, metrics and analytics; " +
		"grants of a logging target, blocked encryption types, MFA delete, and the default minimum size of " +
		"lifecycle transitions.",

	Observe:    aws.Together(bucketType, observeBucket, observeBuckets),
	Create:     createBucket,
	Compare:    compareBucket,
	Attributes: func(live liveBucket) Bucket { return bucketAt(live.location, live.name) },
	Delete:     deleteBucket,
	Identity:   func(b Bucket) string { return string(b.Name) },

	Props:   bucketTable,
	Default: bucketDefaults,
	Check:   checkBucket,
	Named: &kind.Named[BucketProps, liveBucket]{
		Given: func(want BucketProps) string { return want.Name },
		Rule: func(BucketProps) kind.NameRule {
			return kind.NameRule{Min: 3, Max: 63, Marks: ".-", Lower: true, Inner: true}
		},
		In:   generatedName,
		Live: func(live liveBucket) string { return live.name },
	},
	Owner: tagged(
		func(want BucketProps) map[string]string { return want.Tags },
		func(live liveBucket) map[string]string { return live.tags }),
	HoldsData: &kind.HoldsData[BucketProps, liveBucket]{
		Now:       func(live liveBucket) bool { return live.holdsData },
		What:      func(liveBucket) string { return whatItHolds },
		MayDelete: func(want BucketProps) bool { return want.ForceDestroy },
	},
	Contents: contentsOfBucket,
	List:     listBuckets,
	Bulk:     aws.InBulk(observeBucket, observeBuckets),

	EventuallyVisible: aws.EventuallyVisible,
	// Deleting a million versions takes a thousand calls.
	Timeouts: kind.Timeouts{Delete: time.Hour},

	API: kind.API{
		Source: source,
		Calls: append(prefixed("S3.", `CreateBucket DeleteBucket ListBuckets ListObjectVersions DeleteObjects ListMultipartUploads
			AbortMultipartUpload GetBucketTagging PutBucketTagging DeleteBucketTagging GetBucketOwnershipControls
			PutBucketOwnershipControls GetPublicAccessBlock PutPublicAccessBlock GetBucketVersioning PutBucketVersioning
			GetBucketEncryption PutBucketEncryption GetBucketCors PutBucketCors DeleteBucketCors
			GetBucketLifecycleConfiguration PutBucketLifecycleConfiguration DeleteBucketLifecycle GetBucketLogging
			PutBucketLogging GetBucketAccelerateConfiguration PutBucketAccelerateConfiguration GetBucketRequestPayment
			PutBucketRequestPayment GetBucketWebsite PutBucketWebsite DeleteBucketWebsite
			GetBucketNotificationConfiguration PutBucketNotificationConfiguration GetObjectLockConfiguration
			PutObjectLockConfiguration GetBucketPolicy PutBucketPolicy DeleteBucketPolicy`), "Tagging.GetResources"),
		Permissions: kind.Permissions{
			Observe: append(prefixed("s3:", `GetBucketTagging GetBucketOwnershipControls GetBucketPublicAccessBlock GetBucketVersioning
				GetEncryptionConfiguration GetBucketCORS GetLifecycleConfiguration GetBucketLogging
				GetAccelerateConfiguration GetBucketRequestPayment GetBucketWebsite GetBucketObjectLockConfiguration
				GetBucketPolicy ListBucketVersions GetBucketNotification`), "tag:GetResources"),
			List:   []string{"s3:ListAllMyBuckets"},
			Create: prefixed("s3:", "CreateBucket TagResource "+writingActions),
			Update: prefixed("s3:", settingActions),
			Only:   settingProps,
			Calls:  settingCalls(),
			Delete: prefixed("s3:", `DeleteBucket ListBucketVersions ListBucketMultipartUploads DeleteObject
				DeleteObjectVersion AbortMultipartUpload`),
			Resource: func(location kind.Location, name string) []string {
				arn := string(arnOf(location, name))
				return []string{arn, arn + "/*"}
			},
			Anywhere: []string{"s3:ListAllMyBuckets", "tag:GetResources"},
		},
	},
}

// settingProps are the props that an action on a new bucket, or on its content, is for.
var settingProps = map[string][]tree.Path{
	"s3:PutBucketVersioning":        {"versioning", "objectLockEnabled"},
	"s3:PutEncryptionConfiguration": {"encryption"}, "s3:PutBucketCORS": {"cors"}, "s3:PutLifecycleConfiguration": {"lifecycle"},
	"s3:PutBucketLogging": {"logging"}, "s3:PutAccelerateConfiguration": {"transferAcceleration"},
	"s3:PutBucketRequestPayment": {"requestPayer"}, "s3:PutBucketWebsite": {"website"},
	"s3:PutBucketObjectLockConfiguration": {"objectLockEnabled", "objectLockRetention"}, "s3:PutBucketPolicy": {"policy"},
	"s3:PutBucketNotification":      {"notifications", "bindings", "eventBridge"},
	"s3:ListBucketMultipartUploads": {"forceDestroy"}, "s3:DeleteObject": {"forceDestroy"}, "s3:DeleteObjectVersion": {"forceDestroy"},
	"s3:AbortMultipartUpload": {"forceDestroy"},
}

// settingCalls are the actions of the operations on a bucket whose names are other ones:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
func settingCalls() map[string][]string {
	calls := map[string][]string{
		"DeleteBucketTagging": {"s3:PutBucketTagging"}, "PutPublicAccessBlock": {"s3:PutBucketPublicAccessBlock"},
		"PutBucketEncryption": {"s3:PutEncryptionConfiguration"}, "PutBucketCors": {"s3:PutBucketCORS"}, "DeleteBucketCors": {"s3:PutBucketCORS"},
		"PutBucketLifecycleConfiguration": {"s3:PutLifecycleConfiguration"}, "DeleteBucketLifecycle": {"s3:PutLifecycleConfiguration"},
		"PutBucketAccelerateConfiguration":   {"s3:PutAccelerateConfiguration"},
		"PutObjectLockConfiguration":         {"s3:PutBucketObjectLockConfiguration"},
		"PutBucketNotificationConfiguration": {"s3:PutBucketNotification"},
	}
	for name := range strings.FieldsSeq(settingActions) {
		if _, named := calls[name]; !named {
			calls[name] = []string{"s3:" + name}
		}
	}
	return calls
}

// writingActions are the actions that write one setting each, of a new bucket too, and settingActions those of any bucket.
const (
	writingActions = `PutBucketOwnershipControls PutBucketPublicAccessBlock PutBucketVersioning PutEncryptionConfiguration PutBucketCORS
		PutLifecycleConfiguration PutBucketLogging PutAccelerateConfiguration PutBucketRequestPayment PutBucketWebsite
		PutBucketObjectLockConfiguration PutBucketPolicy PutBucketNotification`
	settingActions = writingActions + " PutBucketTagging DeleteBucketWebsite DeleteBucketPolicy"
)

// prefixed are the words of a text, each with a prefix.
func prefixed(prefix, text string) []string {
	words := strings.Fields(text)
	for i := range words {
		words[i] = prefix + words[i]
	}
	return words
}

// bucketAt works from the name and the location alone: S3 makes all addresses of a bucket of them.
func bucketAt(location kind.Location, name string) Bucket {
	region, suffix := location.Region, aws.Domain(location.Region)
	return Bucket{
		Name: BucketName(name), Region: region,
		ARN:                arnOf(location, name),
		DomainName:         name + ".s3." + suffix,
		RegionalDomainName: name + ".s3." + region + "." + suffix,
		WebsiteEndpoint:    websiteEndpoint(name, region, suffix),
	}
}

// websiteEndpoint is the host of the bucket's site, whether or not the bucket is one. Older regions have it at
// s3-website-REGION, all later ones at s3-website.REGION:
// https://docs.aws.amazon.com/general/latest/gr/s3.html#s3_website_region_endpoints
func websiteEndpoint(name, region, suffix string) string {
	switch region {
	case "us-east-1", "us-west-1", "us-west-2", "us-gov-west-1", "eu-west-1",
		"ap-southeast-1", "ap-southeast-2", "ap-northeast-1", "sa-east-1":
		return name + ".s3-website-" + region + "." + suffix
	}
	return name + ".s3-website." + region + "." + suffix
}

// generatedName puts generated names into the account-regional namespace, so that nobody else can take a name that is
// computed from a program. Two regions do not have it:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/gpbucketnamespaces.html
func generatedName(rule kind.NameRule, location kind.Location) kind.NameRule {
	rule.Marks = "-"
	switch location.Region {
	case "me-south-1", "me-central-1":
	default:
		rule.Suffix = regionalSuffix(location)
	}
	return rule
}

// regionalSuffix ends the names of the account-regional namespace.
func regionalSuffix(location kind.Location) string {
	return "-" + location.Account + "-" + location.Region + "-an"
}

// bucketDefaults are those that no tag can say, and settings in the one form that they are compared in.
func bucketDefaults(want BucketProps) BucketProps {
	if want.ObjectLockEnabled && want.Versioning == "" {
		want.Versioning = "Enabled" // S3 locks versions, and turns them on with the lock
	}
	if want.Encryption == nil {
		want.Encryption = &Encryption{Algorithm: "AES256"}
	}
	want.Encryption = want.Encryption.normal()
	if want.PublicAccessBlock == nil {
		want.PublicAccessBlock = &PublicAccessBlock{}
		bucketTable.Default(&want)
	}
	want.Notifications, want.Bindings = inOrder(want.Notifications), inOrder(want.Bindings)
	return want
}

// normal leaves out what the algorithm gives no meaning to.
func (e Encryption) normal() *Encryption {
	if e.Algorithm == "AES256" {
		e.KMSKey = ""
	}
	if e.Algorithm == "AES256" || e.Algorithm == "aws:kms:dsse" {
		e.BucketKeyEnabled = false // two layers of encryption have no bucket key
	}
	return &e
}

// observeBucket asks for the tags first, because that answer, unlike HeadBucket's, has a body that says why not; then for all
// settings at once.
func observeBucket(ctx context.Context, s bucketSite) (live liveBucket, err error) {
	name, err := aws.NameOf(s, aws.Names[Bucket]{
		Of: func(b Bucket) string { return string(b.Name) }, In: func(resource string) string { return resource }, ARN: arnOf,
	})
	if err != nil {
		return live, err
	}
	t := targetOf(s.Facts, name)
	out, err := ask(ctx, t, t.GetBucketTagging, sdk.GetBucketTaggingInput{})
	if err := unless(err, "NoSuchTagSet", "NoSuchTagSetError"); err != nil {
		return live, explained(t, err)
	}
	tags := map[string]string{}
	if err == nil {
		tags = tagMap(out.TagSet)
	}
	live, err = bucketWith(ctx, s, t, liveBucket{tags: tags})
	if err == nil || has(err, "NoSuchBucket") { // which is not believed: the tags were there a moment ago
		return live, err
	}
	return live, explained(t, err)
}

// observeBuckets reads the tags of all buckets together, and the settings of each that has the wanted ones. A bucket that would be
// replaced, or cannot be read, is left out. What is in a bucket is not asked for: it counts as one that holds data.
func observeBuckets(ctx context.Context, all []bucketSite) ([]*aws.Answer[liveBucket], error) {
	tags, err := aws.TagsTogether(ctx, all,
		func(b Bucket) aws.ARN { return b.ARN }, func(want BucketProps) map[string]string { return want.Tags })
	if err != nil {
		return nil, err
	}
	isApart := func(i int) bool {
		s := all[i]
		return tags[i] == nil || s.Want.Encryption == nil || s.Name != string(s.Last.Name) // the default of what is declared has one
	}
	answers := aws.EachOf(ctx, all, isApart, func(ctx context.Context, i int, s bucketSite) (liveBucket, error) {
		return bucketWith(ctx, s, targetOf(s.Facts, s.Name), liveBucket{tags: tags[i], holdsData: true})
	})
	for i, a := range answers {
		if a != nil && (a.Err != nil || a.Value.have.ObjectLockEnabled && !all[i].Want.ObjectLockEnabled) {
			answers[i] = nil
		}
	}
	return answers, nil
}

// bucketWith reads all settings of a bucket at once, whose tags are known, and what it holds unless that counts as data already.
func bucketWith(ctx context.Context, s bucketSite, t target, live liveBucket) (liveBucket, error) {
	live.name, live.location, live.settings = t.bucket, s.Location, unset()
	group, ctx := errgroup.WithContext(ctx)
	for _, read := range live.reads(t) {
		group.Go(func() error { return aws.NotYet(read(ctx)) })
	}
	if err := group.Wait(); err != nil {
		return live, err
	}
	shown := live.have // notifications, which the table leaves to code
	have, err := bucketTable.Read(kind.Struct(&live.settings))
	have.Notifications, have.EventBridge = shown.Notifications, shown.EventBridge
	have.Encryption = have.Encryption.normal()
	live.have = have
	return live, err
}

// explained makes "no such bucket" absence, and says of a refusal what it may mean.
func explained(t target, err error) error {
	switch {
	case has(err, "NoSuchBucket"):
		return reconcile.ErrAbsent
	case has(err, "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"):
		return reconcile.WithHint(fmt.Errorf("bucket %s is in another region: %w", t.bucket, err),
			"use the region that the bucket is in, or another name")
	case isCommon(err):
		return err // the credentials are refused, whatever they ask for
	case t.cloud != nil && t.cloud.Classify(err) == reconcile.Denied:
		return reconcile.WithHint(fmt.Errorf("bucket %s is somebody else's, or may not be read: %w", t.bucket, err),
			"names are shared by all accounts: choose another, or leave it out to have one generated; if the bucket is yours, allow s3:GetBucket* on it")
	}
	return err
}

func isCommon(err error) bool { why, _ := reconcile.Common(err); return why != "" }

// createBucket creates the bucket with its tags, lock and ownership in one call. The comparison sets the rest, one call for
// each setting that is not as new buckets have it. In us-east-1 S3 does not refuse to create a bucket that we own already, and
// clears its access control list; the runner calls this only after an observation showed that there is none.
func createBucket(ctx context.Context, s bucketSite) (Bucket, error) {
	in := &sdk.CreateBucketInput{
		Bucket:                    &s.Name,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{Tags: tagList(aws.Tags(s.Cloud, s.Want.Tags, s.Owner))},
	}
	if s.Location.Region != "us-east-1" { // which S3 wants to be left out
		in.CreateBucketConfiguration.LocationConstraint = types.BucketLocationConstraint(s.Location.Region)
	}
	if strings.HasSuffix(s.Name, regionalSuffix(s.Location)) {
		in.BucketNamespace = types.BucketNamespaceAccountRegional
	}
	if s.Want.ObjectLockEnabled {
		in.ObjectLockEnabledForBucket = new(true)
	}
	// Naming the default would need a permission that a bucket with the default does not.
	if o := types.ObjectOwnership(*s.Want.ObjectOwnership); o != types.ObjectOwnershipBucketOwnerEnforced {
		in.ObjectOwnership = o
	}
	if _, err := clientOf(s.Cloud).CreateBucket(ctx, in); err != nil {
		if has(err, "BucketAlreadyExists") {
			return Bucket{}, reconcile.WithHint(err, "another account has a bucket of this name: choose another, or leave it out")
		}
		return Bucket{}, err
	}
	return bucketAt(s.Location, s.Name), nil
}

// listBuckets lists the account's buckets of one region, a thousand with each call. The listing shows no tags.
func listBuckets(ctx context.Context, scope kind.ListScope) (found []kind.Found, err error) {
	in := &sdk.ListBucketsInput{Prefix: aws.OrNil(scope.Prefix), BucketRegion: aws.OrNil(scope.Place.Region), MaxBuckets: new(page)}
	next := func(in *sdk.ListBucketsInput, out *sdk.ListBucketsOutput) bool {
		in.ContinuationToken = out.ContinuationToken
		return awssdk.ToString(in.ContinuationToken) != ""
	}
	for out, err := range aws.Pages(ctx, clientOf(scope.Cloud).ListBuckets, in, next) {
		if err != nil {
			return nil, err
		}
		for _, b := range out.Buckets {
			found = append(found, kind.Found{Kind: bucketType, Place: scope.Place, Identity: *b.Name, Name: *b.Name})
		}
	}
	return found, nil
}

// page is how many objects S3 lists and deletes in one call.
const page = int32(1000)

// whatItHolds is said of a deletion that is refused.
const whatItHolds = "objects: empty it, set forceDestroy, or allow the deletion of its data"
