package s3

import "time"

// BucketProps declare a bucket. An aspect that is left out has the service's default, and is reset to it when
// its line is deleted from the program.
type BucketProps struct {
	// Name is 3 to 63 lower case letters, digits, "-" and ".", shared with all accounts unless it ends with
	// "-ACCOUNT-REGION-an". Left out, a name is generated in the account-regional namespace, which nobody else
	// can take. Changing it replaces the bucket.
	Name string
	// ObjectLockEnabled lets objects be protected from deletion, and turns versioning on. It can be turned
	// on later; turning it off replaces the bucket. Default: false.
	ObjectLockEnabled bool
	// ObjectLockRetention is how long new objects are protected when their upload says nothing. It needs
	// objectLockEnabled. Left out, such objects are not protected.
	ObjectLockRetention *Retention
	// Versioning is whether overwritten and deleted objects are kept. A bucket that had it enabled can never
	// go back to having none: leaving it out then means Suspended.
	Versioning string `prop:"enum=Enabled|Suspended"`
	// Encryption of new objects. Left out, S3 encrypts with keys of its own (AES256).
	Encryption *Encryption
	// PublicAccessBlock keeps the bucket private whatever its policy and lists say. Left out, all four are on.
	PublicAccessBlock *PublicAccessBlock
	// ObjectOwnership is whose the uploaded objects are, and whether access control lists count; with
	// BucketOwnerEnforced they do not. Default: BucketOwnerEnforced.
	ObjectOwnership *string `prop:"enum=BucketOwnerEnforced|BucketOwnerPreferred|ObjectWriter"`
	// Policy is the bucket's policy, a document or its JSON text of at most 20 KiB, compared by its meaning. Left
	// out, there is none. A policy that allows the public needs blockPublicPolicy off.
	Policy any
	// CORS are the rules for requests of browsers from other origins, at most 100; the first that matches
	// counts.
	CORS []CORSRule
	// Lifecycle are the rules by which objects move to other storage classes or are deleted, at most 1,000.
	// Their order does not count.
	Lifecycle []LifecycleRule
	// Website serves the bucket's objects as a site under its websiteEndpoint.
	Website *Website
	// Notifications tell others what happens to the bucket's objects, by a name of up to 255 characters. One whose
	// destination does not let S3 in is taken all the same, since its policy may come later; until then it tells nobody.
	// Left out, there are none.
	Notifications map[string]Notification
	// Bindings are notifications that constructors add. Default: none.
	Bindings map[string]Notification
	// EventBridge sends all events to EventBridge, where rules choose among them. Default: false.
	EventBridge bool
	// Logging writes a record of each request to another bucket.
	Logging *Logging
	// TransferAcceleration routes uploads through edge locations. A name with "." cannot have it. Default: false.
	TransferAcceleration bool
	// RequestPayer is who pays for requests and transfer. Default: BucketOwner.
	RequestPayer *string `prop:"enum=BucketOwner|Requester"`
	// Tags of the bucket, at most 44 beside those that mark it. Keys that begin with "athanor:" or "aws:" are not for authors.
	Tags map[string]string
	// ForceDestroy gives leave to delete the bucket with all that is in it, every version included.
	// Objects that a retention or a legal hold protects are not deleted even so. Default: false.
	ForceDestroy bool
}

// Retention is the default protection of new objects: days or years, not both.
type Retention struct {
	// Mode is GOVERNANCE, which users with a special permission may override, or COMPLIANCE, which nobody may.
	Mode string `prop:"required,enum=GOVERNANCE|COMPLIANCE"`
	// Days of protection, at most 36500.
	Days int `prop:"min=0,max=36500"`
	// Years of protection, at most 100.
	Years int `prop:"min=0,max=100"`
}

// Encryption is the default encryption of new objects.
type Encryption struct {
	// Algorithm is AES256 with keys of S3, or aws:kms or aws:kms:dsse with keys of KMS.
	Algorithm string `prop:"required,enum=AES256|aws:kms|aws:kms:dsse"`
	// KMSKey is the ARN, identifier or alias of a key, for the algorithms of KMS. Left out, they use the account's
	// key aws/s3. An ARN is best: S3 looks up anything else in the account of whoever uploads.
	KMSKey string
	// BucketKeyEnabled lets S3 ask KMS less often, which costs less. It counts for aws:kms. Default: false.
	BucketKeyEnabled bool
}

// PublicAccessBlock is four locks against making the bucket public by mistake.
type PublicAccessBlock struct {
	// BlockPublicACLs refuses new lists that give the public access. Default: true.
	BlockPublicACLs *bool
	// IgnorePublicACLs takes lists that give the public access as not there. Default: true.
	IgnorePublicACLs *bool
	// BlockPublicPolicy refuses a policy that gives the public access. Default: true.
	BlockPublicPolicy *bool
	// RestrictPublicBuckets lets only this account and services of AWS into a bucket with a public policy. Default: true.
	RestrictPublicBuckets *bool
}

// CORSRule allows requests of browsers from other origins.
type CORSRule struct {
	// ID names the rule, at most 255 characters.
	ID string
	// AllowedMethods are some of GET, PUT, HEAD, POST and DELETE.
	AllowedMethods []string `prop:"required"`
	// AllowedOrigins are origins such as https://example.com; each may hold one "*".
	AllowedOrigins []string `prop:"required"`
	// AllowedHeaders are the headers that a preflight request may ask for; each may hold one "*".
	AllowedHeaders []string
	// ExposeHeaders are the headers of answers that scripts may read.
	ExposeHeaders []string
	// MaxAge is how long a browser may keep the answer to a preflight request, in whole seconds. Left out, the browser decides.
	MaxAge *time.Duration
}

// Website makes a bucket a site: either an index document, or a redirect of all requests.
type Website struct {
	// IndexDocument is what is served for a folder, such as index.html. It holds no "/".
	IndexDocument string
	// ErrorDocument is the key of the object that is served with errors.
	ErrorDocument string
	// RedirectTo is the host to which all requests are sent. It excludes the other props of the site.
	RedirectTo string
	// RedirectProtocol of redirectTo. Left out, it is that of the request.
	RedirectProtocol string `prop:"enum=http|https"`
	// RoutingRules redirect some requests, at most 50; the first that matches counts.
	RoutingRules []RoutingRule
}

// RoutingRule redirects the requests that its conditions match.
type RoutingRule struct {
	// KeyPrefix matches keys that begin with it.
	KeyPrefix string
	// ErrorCode matches answers with this HTTP status, such as 404.
	ErrorCode string
	// Host to send to. Left out, it is that of the request.
	Host string
	// Protocol to use. Left out, it is that of the request.
	Protocol string `prop:"enum=http|https"`
	// RedirectCode is the HTTP status to answer with. Left out, it is 301.
	RedirectCode string
	// ReplaceKey is the key to send to, in place of the one that was asked for.
	ReplaceKey string
	// ReplaceKeyPrefix takes the place of keyPrefix in the key; it may be empty. It excludes replaceKey.
	ReplaceKeyPrefix *string
}

// Logging says where records of requests go.
type Logging struct {
	// Bucket is the name of the bucket that is written to. Its policy must let logging.s3.amazonaws.com put objects.
	Bucket BucketName `prop:"required"`
	// Prefix is what the keys of the records begin with.
	Prefix string
	// PartitionedBy puts the account, region, bucket and a date into the keys: that of the request or that of the
	// delivery. Left out, keys are the prefix and a time.
	PartitionedBy string `prop:"enum=EventTime|DeliveryTime"`
}
