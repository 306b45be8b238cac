package s3

import (
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

type (
	bucketDiff = reconcile.Diff[liveBucket]
	bucketSite = reconcile.Site[BucketProps, Bucket]
)

// compareBucket states the aspects in the order in which they are settled: ownership and the public access
// block come before all that could make the bucket public, versioning before what needs it, and the policy
// last, when the block that could refuse it is as it should be.
func compareBucket(d *bucketDiff, want BucketProps, live liveBucket) {
	have := live.have
	if want.Name != "" {
		reconcile.Fixed(d, "name", want.Name, live.name)
	}
	if have.ObjectLockEnabled && !want.ObjectLockEnabled {
		reconcile.Fixed(d, "objectLockEnabled", want.ObjectLockEnabled, have.ObjectLockEnabled)
	}
	compareTags(d, want, live)
	reconcile.Value(d, "objectOwnership", want.ObjectOwnership, have.ObjectOwnership, putOwnership(want))
	comparePublicAccess(d, *want.PublicAccessBlock, *have.PublicAccessBlock)
	compareVersioning(d, want.Versioning, have.Versioning)
	compareEncryption(d, *want.Encryption, *have.Encryption)
	reconcile.List(d, "cors", want.CORS, have.CORS, putCORS(want.CORS))
	reconcile.List(d, "lifecycle", want.Lifecycle, aligned(want.Lifecycle, have.Lifecycle), putLifecycle(want.Lifecycle))
	reconcile.Value(d, "logging", want.Logging, have.Logging, putLogging(want.Logging))
	reconcile.Value(d, "transferAcceleration", want.TransferAcceleration, have.TransferAcceleration, putAcceleration(want.TransferAcceleration))
	reconcile.Value(d, "requestPayer", want.RequestPayer, have.RequestPayer, putPayer(want))
	reconcile.Value(d, "website", want.Website, have.Website, putWebsite(want.Website))
	compareNotifications(d, want, have)
	lock := putLock(want.ObjectLockRetention)
	if want.ObjectLockEnabled {
		reconcile.Value(d, "objectLockEnabled", true, have.ObjectLockEnabled, lock)
		reconcile.Value(d, "objectLockRetention", want.ObjectLockRetention, have.ObjectLockRetention, lock)
	}
	comparePolicy(d, want.Policy, live.policy)
}

// compareVersioning: who does not ask for versions has what a bucket is born with, or Suspended once it was
// enabled. Suspended that is asked for is not the same as never enabled: deletions then leave markers.
func compareVersioning(d *bucketDiff, want, have string) {
	if want == "" && have != "" {
		want = "Suspended"
	}
	reconcile.Value(d, "versioning", want, have, putVersioning(want))
}

func comparePublicAccess(d *bucketDiff, want, have PublicAccessBlock) {
	call := putPublicAccess(want)
	reconcile.Value(d, "publicAccessBlock.blockPublicAcls", want.BlockPublicACLs, have.BlockPublicACLs, call)
	reconcile.Value(d, "publicAccessBlock.ignorePublicAcls", want.IgnorePublicACLs, have.IgnorePublicACLs, call)
	reconcile.Value(d, "publicAccessBlock.blockPublicPolicy", want.BlockPublicPolicy, have.BlockPublicPolicy, call)
	reconcile.Value(d, "publicAccessBlock.restrictPublicBuckets", want.RestrictPublicBuckets, have.RestrictPublicBuckets, call)
}

func compareEncryption(d *bucketDiff, want, have Encryption) {
	call := putEncryption(want)
	if sameKey(want.KMSKey, have.KMSKey) {
		have.KMSKey = want.KMSKey
	}
	reconcile.Value(d, "encryption.algorithm", want.Algorithm, have.Algorithm, call)
	reconcile.Value(d, "encryption.kmsKey", want.KMSKey, have.KMSKey, call)
	reconcile.Value(d, "encryption.bucketKeyEnabled", want.BucketKeyEnabled, have.BucketKeyEnabled, call)
}

// sameKey reports whether two spellings mean one key: its ARN, and its identifier or alias alone.
func sameKey(want, have string) bool {
	if want == "" || have == "" || token.Has(want) {
		return want == have
	}
	means := func(short, arn string) bool {
		return strings.HasSuffix(arn, ":key/"+short) || strings.HasPrefix(short, "alias/") && strings.HasSuffix(arn, ":"+short)
	}
	return want == have || means(want, have) || means(have, want)
}

// normal leaves out what the algorithm gives no meaning to.
func (e *Encryption) normal() *Encryption {
	if e.Algorithm == "AES256" {
		return &Encryption{Algorithm: e.Algorithm}
	}
	if e.Algorithm == "aws:kms:dsse" {
		e.BucketKeyEnabled = false // two layers of encryption have no bucket key
	}
	return e
}

func (r CORSRule) normal() CORSRule {
	r.AllowedMethods, r.AllowedOrigins = sorted(r.AllowedMethods), sorted(r.AllowedOrigins)
	r.AllowedHeaders, r.ExposeHeaders = sorted(r.AllowedHeaders), sorted(r.ExposeHeaders)
	return r
}
