package r2

import "time"

// Name is that of a bucket, by which Workers are bound to it.
type Name string

// BucketProps declare a bucket. Limits are those of https://developers.cloudflare.com/r2/platform/limits/
type BucketProps struct {
	// Name of the bucket: 3 to 63 lower-case letters, digits and -, with neither end a -. Default: none, a name is
	// generated. Changing it replaces the bucket.
	Name string
	// Jurisdiction that the objects never leave; default is anywhere.
	Jurisdiction *string `prop:"enum=default|eu|fedramp,default=default,immutable" wire:"-"`
	// LocationHint is where most objects will be used. R2 need not follow it, and heeds it at creation alone; after that
	// it is not managed. Default: none, near to where the bucket is created from.
	LocationHint string `prop:"enum=apac|eeur|enam|weur|wnam|oc"`
	// StorageClass of new objects that name none.
	StorageClass *string `prop:"enum=Standard|InfrequentAccess,default=Standard" wire:"storageClass"`
	// PublicDevelopmentURL lets everybody read objects under r2.dev, at a limited rate.
	PublicDevelopmentURL bool `prop:"default=false" wire:"-,call=PutBucketDomainManaged"`
	// Domains are names under which everybody can read objects, with what is to be known of each. Default: none.
	Domains map[string]Domain `prop:"deferrable"`
	// CORS says which other sites may use the bucket from a browser. The order counts. Default: none.
	CORS []CORSRule `wire:"-,elements,call=PutBucketCors"`
	// Lifecycle says what becomes of objects in time. The order counts. Default: unfinished uploads are given up after 7
	// days; an empty list is none.
	Lifecycle []LifecycleRule `wire:"-,elements,call=PutBucketLifecycle"`
	// Notifications tell queues of what happens to objects. The order does not count. Default: none.
	Notifications []Notification `prop:"deferrable" wire:"-,call=PutBucketEventNotification"`
	// ForceDestroy permits deleting the bucket with all objects in it.
	ForceDestroy bool `prop:"default=false"`
}

// Domain is a name of the account's own for a bucket.
type Domain struct {
	// Zone that the name is in: its name or its id.
	Zone string `prop:"required"`
	// MinTLS is the lowest version that is spoken. Default: 1.0.
	MinTLS *string `prop:"enum=1.0|1.1|1.2|1.3"`
	// Disabled keeps the name and answers nothing under it. Default: false.
	Disabled bool
}

// CORSRule lets some sites do something.
type CORSRule struct {
	// ID of the rule, for people. Default: none.
	ID string `wire:"id"`
	// Origins that may, such as "https://shop.example" or "*".
	Origins []string `prop:"required,set" wire:"allowed.origins"`
	// Methods that they may use.
	Methods []string `prop:"required,set,enum=GET|PUT|POST|DELETE|HEAD" wire:"allowed.methods"`
	// Headers that they may send. Default: none.
	Headers []string `prop:"set" wire:"allowed.headers"`
	// ExposeHeaders are those of answers that they may read. Default: none.
	ExposeHeaders []string `prop:"set" wire:"exposeHeaders"`
	// MaxAge is how long a browser may believe this, in whole seconds up to a day.
	MaxAge time.Duration `prop:"min=0s,max=24h,default=0s" wire:"maxAgeSeconds"`
}

// LifecycleRule does something to objects in time. Each time is in whole seconds since an object was made.
type LifecycleRule struct {
	// ID of the rule, which no other of the bucket has.
	ID string `prop:"required" wire:"id"`
	// Prefix of the objects that it is for. Default: none, all.
	Prefix string `wire:"conditions.prefix"`
	// Disabled keeps the rule and does nothing.
	Disabled bool `prop:"default=false" wire:"enabled,not"`
	// AbortUploadsAfter gives up unfinished uploads, in whole seconds. Default: none.
	AbortUploadsAfter *time.Duration `prop:"min=1s" wire:"abortMultipartUploadsTransition,age"`
	// DeleteAfter deletes objects, in whole seconds. Default: none.
	DeleteAfter *time.Duration `prop:"min=1s" wire:"deleteObjectsTransition,age"`
	// InfrequentAccessAfter moves objects to the storage class InfrequentAccess, in whole seconds. Default: none.
	InfrequentAccessAfter *time.Duration `prop:"min=1s" wire:"storageClassTransitions,infrequent"`
}

// Notification tells a queue of what happens to some objects.
type Notification struct {
	// Queue that is told, by its id.
	Queue string `prop:"required"`
	// Actions that it is told of: PutObject, CopyObject, DeleteObject, CompleteMultipartUpload, LifecycleDeletion. The
	// order does not count.
	Actions []string `prop:"required"`
	// Prefix of the objects. Default: none, all.
	Prefix string
	// Suffix of the objects. Default: none, all.
	Suffix string
}

// Bucket is what others may refer to of a bucket.
type Bucket struct {
	// Name of the bucket.
	Name Name `attr:"early"`
	// Jurisdiction that the objects never leave, or "default".
	Jurisdiction string `attr:"early"`
}
