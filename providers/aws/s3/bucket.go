package s3

import (
	"maps"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// BucketName is the name of a bucket.
type BucketName string

// Bucket is what others may refer to of a bucket.
type Bucket struct {
	// Name of the bucket.
	Name BucketName
	// ARN of the bucket; ARN + "/*" are its objects.
	ARN aws.ARN
	// Region that the bucket is in.
	Region string
	// DomainName is the host of the bucket without a region.
	DomainName string
	// RegionalDomainName is the host of the bucket in its region; origins of CloudFront want this one.
	RegionalDomainName string
	// WebsiteEndpoint is the host of the bucket's site; it answers when website is declared, over HTTP alone.
	WebsiteEndpoint string
}

var bucketKind = &reconcile.Kind[BucketProps, liveBucket, Bucket]{
	Type: bucketType,
	Doc: "A bucket for objects, with all that is set on it as a whole. Not managed, and left as they are: " +
		"replication, access control lists, intelligent tiering, inventory, metrics and analytics; " +
		"grants of a logging target, blocked encryption types, MFA delete, and the default minimum size of " +
		"lifecycle transitions.",

	Observe:  observeBucket,
	Create:   createBucket,
	Compare:  compareBucket,
	Attrs:    bucketAttrs,
	Delete:   deleteBucket,
	Identity: func(b Bucket) string { return string(b.Name) },

	Naming:   bucketNaming,
	Given:    func(want BucketProps) string { return want.Name },
	Defaults: bucketDefaults,
	Check:    checkBucket,
	Late:     []tree.Path{"policy", "encryption", "cors", "lifecycle", "logging", "website", "notifications", "bindings"},
	AtBirth:  []string{"name", "arn", "region", "domainName", "regionalDomainName", "websiteEndpoint"},

	Owner:     func(live liveBucket) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Holds:     func(live liveBucket) bool { return live.holds },
	Held:      heldByBucket,
	MayDelete: func(want BucketProps) bool { return want.ForceDestroy },
	List:      listBuckets,

	// What is set on buckets is shown a little late at times. Making a bucket again is harmless (S3 says that
	// it is ours), so that the bound may be short: it only spares calls.
	Visibility: 5 * time.Second,
	// Deleting a million versions takes a thousand calls.
	Timeouts: reconcile.Timeouts{Delete: time.Hour},

	Source: source,
	Calls: []string{
		"S3.CreateBucket", "S3.DeleteBucket", "S3.ListBuckets", "S3.ListObjectVersions", "S3.DeleteObjects", "S3.ListMultipartUploads", "S3.AbortMultipartUpload",
		"S3.GetBucketTagging", "S3.PutBucketTagging", "S3.DeleteBucketTagging", "S3.GetBucketOwnershipControls", "S3.PutBucketOwnershipControls",
		"S3.GetPublicAccessBlock", "S3.PutPublicAccessBlock", "S3.GetBucketVersioning", "S3.PutBucketVersioning", "S3.GetBucketEncryption", "S3.PutBucketEncryption",
		"S3.GetBucketCors", "S3.PutBucketCors", "S3.DeleteBucketCors", "S3.GetBucketLifecycleConfiguration", "S3.PutBucketLifecycleConfiguration", "S3.DeleteBucketLifecycle",
		"S3.GetBucketLogging", "S3.PutBucketLogging", "S3.GetBucketAccelerateConfiguration", "S3.PutBucketAccelerateConfiguration",
		"S3.GetBucketRequestPayment", "S3.PutBucketRequestPayment", "S3.GetBucketWebsite", "S3.PutBucketWebsite", "S3.DeleteBucketWebsite",
		"S3.GetBucketNotificationConfiguration", "S3.PutBucketNotificationConfiguration",
		"S3.GetObjectLockConfiguration", "S3.PutObjectLockConfiguration", "S3.GetBucketPolicy", "S3.PutBucketPolicy", "S3.DeleteBucketPolicy",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{
			"s3:GetBucketTagging", "s3:GetBucketOwnershipControls", "s3:GetBucketPublicAccessBlock", "s3:GetBucketVersioning",
			"s3:GetEncryptionConfiguration", "s3:GetBucketCORS", "s3:GetLifecycleConfiguration", "s3:GetBucketLogging",
			"s3:GetAccelerateConfiguration", "s3:GetBucketRequestPayment", "s3:GetBucketWebsite",
			"s3:GetBucketObjectLockConfiguration", "s3:GetBucketPolicy", "s3:ListBucketVersions", "s3:GetBucketNotification",
		},
		List:   []string{"s3:ListAllMyBuckets"},
		Create: append([]string{"s3:CreateBucket", "s3:TagResource"}, bucketSettings...),
		Update: bucketSettings,
		Delete: []string{
			"s3:DeleteBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads", "s3:DeleteObject",
			"s3:DeleteObjectVersion", "s3:AbortMultipartUpload",
		},
		Resource: func(place reconcile.Place, name string) []string {
			arn := string(arnOf(place.Region, name))
			return []string{arn, arn + "/*"}
		},
		Anywhere: []string{"s3:ListAllMyBuckets"},
	},
}

// bucketSettings are the actions that set one aspect each, of a new bucket too.
var bucketSettings = []string{
	"s3:PutBucketTagging", "s3:PutBucketOwnershipControls", "s3:PutBucketPublicAccessBlock", "s3:PutBucketVersioning",
	"s3:PutEncryptionConfiguration", "s3:PutBucketCORS", "s3:PutLifecycleConfiguration", "s3:PutBucketLogging",
	"s3:PutAccelerateConfiguration", "s3:PutBucketRequestPayment", "s3:PutBucketWebsite", "s3:DeleteBucketWebsite",
	"s3:PutBucketObjectLockConfiguration", "s3:PutBucketPolicy", "s3:DeleteBucketPolicy", "s3:PutBucketNotification",
}

// bucketAttrs works from the name and the place alone: S3 makes all of a bucket's addresses of them.
func bucketAttrs(live liveBucket) Bucket { return attrsOf(live.name, live.place.Region) }

func attrsOf(name, region string) Bucket {
	suffix := domainOf(region)
	return Bucket{
		Name: BucketName(name), Region: region,
		ARN:                arnOf(region, name),
		DomainName:         name + ".s3." + suffix,
		RegionalDomainName: name + ".s3." + region + "." + suffix,
		WebsiteEndpoint:    websiteEndpoint(name, region, suffix),
	}
}

// bucketNaming puts generated names into the account-regional namespace, so that nobody else can take a name that
// is computed from a program. Two regions do not have it:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/gpbucketnamespaces.html
func bucketNaming(_ BucketProps, place reconcile.Place) reconcile.Naming {
	naming := reconcile.Naming{Max: 63, Lower: true}
	switch place.Region {
	case "me-south-1", "me-central-1":
	default:
		naming.Suffix = regionalSuffix(place)
	}
	return naming
}

// regionalSuffix ends the names of the account-regional namespace.
func regionalSuffix(place reconcile.Place) string {
	return "-" + place.Account + "-" + place.Region + "-an"
}

func bucketDefaults(want BucketProps) BucketProps {
	if want.ObjectLockEnabled && want.Versioning == "" {
		want.Versioning = "Enabled" // S3 locks versions, and turns them on with the lock
	}
	if want.ObjectOwnership == nil {
		want.ObjectOwnership = new("BucketOwnerEnforced")
	}
	if want.RequestPayer == nil {
		want.RequestPayer = new("BucketOwner")
	}
	if want.Encryption == nil {
		want.Encryption = defaultEncryption()
	}
	want.Encryption = new(*want.Encryption).normal()
	block := PublicAccessBlock{}
	if want.PublicAccessBlock != nil {
		block = *want.PublicAccessBlock
	}
	for _, flag := range []**bool{&block.BlockPublicACLs, &block.IgnorePublicACLs, &block.BlockPublicPolicy, &block.RestrictPublicBuckets} {
		if *flag == nil {
			*flag = new(true)
		}
	}
	want.PublicAccessBlock = &block
	want.CORS = each(want.CORS, CORSRule.normal)
	want.Lifecycle = each(want.Lifecycle, LifecycleRule.normal)
	if want.Website != nil && len(want.Website.RoutingRules) == 0 {
		want.Website = new(*want.Website)
		want.Website.RoutingRules = nil
	}
	want.Notifications, want.Bindings = normalAll(want.Notifications), normalAll(want.Bindings)
	want.Tags = maps.Clone(want.Tags)
	return want
}

func defaultEncryption() *Encryption { return &Encryption{Algorithm: "AES256"} }
