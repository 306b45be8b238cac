package s3

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// fault is an error as S3 gives it.
func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDenied", "SlowDown", "InternalError")(class)
}

// publicPolicy lets everybody read.
const publicPolicy = `{
	"Version": "2012-10-17",
	"Statement": [{"Sid": "read", "Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::the-bucket/*"}]
}`

func queue(name string) string    { return "arn:aws:sqs:us-east-1:123456789012:" + name }
func topic(name string) string    { return "arn:aws:sns:us-east-1:123456789012:" + name }
func function(name string) string { return "arn:aws:lambda:us-east-1:123456789012:function:" + name }

// site is a public web site with everything that a bucket for one has.
func site() obj {
	return obj{
		"name":            "the-bucket",
		"versioning":      "Enabled",
		"objectOwnership": "BucketOwnerPreferred",
		"publicAccessBlock": obj{
			"blockPublicAcls": false, "ignorePublicAcls": false, "blockPublicPolicy": false, "restrictPublicBuckets": false,
		},
		"policy":     publicPolicy,
		"encryption": obj{"algorithm": "aws:kms", "kmsKey": "arn:aws:kms:us-east-1:123456789012:key/0d990263-018e-4065-a703-eff731de951e", "bucketKeyEnabled": true},
		"cors": list{
			obj{
				"id": "app", "allowedMethods": list{"PUT", "GET"}, "allowedOrigins": list{"https://example.com", "https://a.example"},
				"allowedHeaders": list{"x-b", "x-a"}, "exposeHeaders": list{"ETag", "Date"}, "maxAge": "5m",
			},
			obj{"allowedMethods": list{"GET"}, "allowedOrigins": list{"*"}},
		},
		"lifecycle": list{
			obj{
				"id": "all", "expiration": obj{"days": int64(400)},
				"transitions":          list{obj{"days": int64(90), "storageClass": "GLACIER"}, obj{"days": int64(30), "storageClass": "STANDARD_IA"}},
				"noncurrentExpiration": obj{"days": int64(60), "keepNewest": int64(3)},
				"noncurrentTransitions": list{
					obj{"days": int64(50), "keepNewest": int64(1), "storageClass": "DEEP_ARCHIVE"},
					obj{"days": int64(30), "keepNewest": int64(1), "storageClass": "GLACIER_IR"},
				},
			},
			obj{"prefix": "tmp/", "abortUploadsAfterDays": int64(2)},
			obj{
				"prefix": "big/", "tags": obj{"kind": "raw", "team": "data"}, "sizeGreaterThan": "1MiB", "sizeLessThan": "5GiB",
				"expiration": obj{"date": "2035-12-31"}, "disabled": true,
				"transitions": list{obj{"date": "2034-12-31", "storageClass": "DEEP_ARCHIVE"}},
			},
			obj{"id": "markers", "tags": obj{"kind": "old"}, "expiration": obj{"deleteMarkers": true}},
		},
		"website": obj{
			"indexDocument": "index.html", "errorDocument": "404.html",
			"routingRules": list{
				obj{"keyPrefix": "docs/", "replaceKeyPrefix": ""},
				obj{"errorCode": "404", "host": "example.com", "protocol": "https", "redirectCode": "302", "replaceKey": "gone.html"},
			},
		},
		"notifications": obj{
			"pictures": obj{"queue": queue("pictures"), "events": list{"s3:ObjectCreated:Put", "s3:ObjectCreated:Copy"}, "prefix": "in/", "suffix": ".jpg"},
			"gone":     obj{"topic": topic("gone"), "events": list{"s3:ObjectRemoved:*"}, "suffix": ".jpg"},
			"other":    obj{"function": function("other"), "events": list{"s3:ObjectCreated:*"}, "prefix": "other/"},
		},
		"eventBridge":          true,
		"logging":              obj{"bucket": logBucket, "prefix": "site/", "partitionedBy": "EventTime"},
		"transferAcceleration": true,
		"requestPayer":         "Requester",
		"tags":                 obj{"team": "web", "cost center": "42"},
		"forceDestroy":         true,
	}
}

func bucketSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(bucketTable, kindtest.Suite{
		Kind:  bucketKind.Erase(),
		World: ws.Make(newWorld, (*world).buckets),
		Base:  obj{"tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "site", Props: site()},
			{Name: "bound", Props: obj{"bindings": site()["notifications"]}},
			{Name: "redirect", Props: obj{"website": obj{"redirectTo": "example.com", "redirectProtocol": "https"}, "versioning": "Suspended"}},
			{Name: "locked", Props: obj{"objectLockEnabled": true, "objectLockRetention": obj{"mode": "GOVERNANCE", "days": int64(1)}}},
			{Name: "locked for years", Props: obj{"objectLockEnabled": true, "objectLockRetention": obj{"mode": "COMPLIANCE", "years": int64(2)}}},
		},
		Hands: bucketHands(ws),
		Others: map[tree.Path][]any{
			"policy":                              {strings.Replace(publicPolicy, "s3:GetObject", "s3:GetObjectVersion", 1)},
			"cors.*.allowedHeaders":               {list{"x-one"}},
			"cors.*.exposeHeaders":                {list{"x-two"}},
			"website.routingRules.*.errorCode":    {"500"},
			"website.routingRules.*.redirectCode": {"307"},
			"logging.bucket":                      {moreLogs},
			"notifications.*.events":              {list{"s3:ObjectRestore:Completed"}},
			"bindings.*.events":                   {list{"s3:ObjectRestore:Completed"}},
			"lifecycle.*.expiration.date":         {"2036-06-30"},
			"lifecycle.*.transitions.*.date":      {"2033-06-30"},
		},
		Ordered: map[tree.Path]string{
			"cors":                 "the first rule that fits a request counts",
			"website.routingRules": "the first rule that fits a request counts",
		},
		Edits: []kindtest.Edit{{Path: "tags", Do: func(t kindtest.T, w kindtest.World, attrs map[string]any) { // the owner tags too
			if _, err := ws[w.Dir].Others.DeleteBucketTagging(t.Context(), &sdk.DeleteBucketTaggingInput{Bucket: nameOf(attrs)}); err != nil {
				t.Fatalf("edit tags: %v", err)
			}
		}}},
		// The lock turns versions on, and somebody who adds a notification binds none.
		Alias: map[tree.Path]tree.Path{"objectLockEnabled": "versioning", "bindings": "notifications"},
		Silent: map[tree.Path]string{
			"forceDestroy":        "it permits a deletion, and is nothing in S3",
			"objectLockRetention": "it is valid only with the lock; TestLockedBucket changes it alone",
		},
		Steady: map[tree.Path]string{
			"name":              "a bucket keeps its name for life",
			"forceDestroy":      "it permits a deletion, and is nothing in S3",
			"objectLockEnabled": "S3 never turns a lock off, and TestEnableLock turns it on",
		},
	})
}

// TestBucket checks all rules. All calls that set an aspect are made in one way, so that crashes are tried with
// some of them: each of the site's would take minutes.
func TestBucket(t *testing.T) {
	t.Parallel()
	whole := bucketSuite().Shared()
	for _, c := range kindtest.Checks() {
		s := whole
		if c.Name == kindtest.Crashes {
			s.Variants = []kindtest.Variant{
				{Name: "some", Props: obj{"versioning": "Enabled", "encryption": obj{"algorithm": "aws:kms"}, "website": obj{"indexDocument": "index.html"}}},
				{Name: "locked", Props: obj{"objectLockEnabled": true, "objectLockRetention": obj{"mode": "GOVERNANCE", "days": int64(1)}}},
			}
		}
		t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
	}
}

// TestLockedBucket is about what only a bucket with a lock can have.
func TestLockedBucket(t *testing.T) {
	t.Parallel()
	s := bucketSuite()
	s.Base = obj{"objectLockEnabled": true, "objectLockRetention": obj{"mode": "GOVERNANCE", "days": int64(1)}}
	s.Variants = []kindtest.Variant{{Name: "years", Props: obj{
		"objectLockEnabled": true, "objectLockRetention": obj{"mode": "COMPLIANCE", "years": int64(2)}, "tags": obj{"team": "audit"},
	}}}
	s.Edits, s.Silent = nil, nil
	for _, c := range kindtest.Checks() {
		switch c.Name {
		case kindtest.Definition, kindtest.Unknown, kindtest.FailedReads, kindtest.Crashes,
			kindtest.DriftMatrix:
			continue // TestBucket checks them, some for props that this suite leaves out
		}
		t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
	}
}
