package s3

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

func TestAligned(t *testing.T) {
	named := func(id, prefix string) LifecycleRule {
		return LifecycleRule{ID: id, Prefix: prefix, Expiration: &Expiration{Days: 1}}
	}
	for _, c := range []struct {
		name             string
		want, have, gets []LifecycleRule
	}{
		{"order means nothing", []LifecycleRule{named("a", "x"), named("b", "y")}, []LifecycleRule{named("b", "y"), named("a", "x")}, []LifecycleRule{named("a", "x"), named("b", "y")}},
		{"S3 named a rule", []LifecycleRule{named("", "x")}, []LifecycleRule{named("made", "x")}, []LifecycleRule{named("", "x")}},
		{"a rule changed", []LifecycleRule{named("", "x")}, []LifecycleRule{named("made", "z")}, []LifecycleRule{named("made", "z")}},
		{"two alike and one wanted", []LifecycleRule{named("", "x")}, []LifecycleRule{named("1", "x"), named("2", "x")}, []LifecycleRule{named("", "x"), named("2", "x")}},
		{"none there", []LifecycleRule{named("a", "x")}, nil, nil},
	} {
		if have := aligned(c.want, c.have); !slices.EqualFunc(have, c.gets, lifecycleTable.Equal) {
			t.Errorf("%s: %+v, want %+v", c.name, have, c.gets)
		}
	}
}

func TestSameKey(t *testing.T) {
	const arn, alias = "arn:aws:kms:eu-west-1:123456789012:key/0d99", "arn:aws:kms:eu-west-1:123456789012:alias/shop"
	for _, c := range []struct {
		want, have string
		same       bool
	}{
		{arn, arn, true},
		{"0d99", arn, true},
		{arn, "0d99", true},
		{"alias/shop", alias, true},
		{"d99", arn, false},
		{"shop", alias, false},
		{"", arn, false},
		{arn, "", false},
		{"", "", true},
		{"⟦key.arn⟧", arn, false},
	} {
		if have := sameKey(c.want, c.have); have != c.same {
			t.Errorf("%q and %q: %v", c.want, c.have, have)
		}
	}
}

func TestHosts(t *testing.T) {
	for region, want := range map[string]Bucket{
		"us-east-1":  {ARN: "arn:aws:s3:::b", DomainName: "b.s3.amazonaws.com", RegionalDomainName: "b.s3.us-east-1.amazonaws.com", WebsiteEndpoint: "b.s3-website-us-east-1.amazonaws.com"},
		"eu-south-1": {ARN: "arn:aws:s3:::b", DomainName: "b.s3.amazonaws.com", RegionalDomainName: "b.s3.eu-south-1.amazonaws.com", WebsiteEndpoint: "b.s3-website.eu-south-1.amazonaws.com"},
		"cn-north-1": {ARN: "arn:aws-cn:s3:::b", DomainName: "b.s3.amazonaws.com.cn", RegionalDomainName: "b.s3.cn-north-1.amazonaws.com.cn", WebsiteEndpoint: "b.s3-website.cn-north-1.amazonaws.com.cn"},
	} {
		want.Name, want.Region = "b", region
		if have := bucketAt(kind.Location{Region: region}, "b"); have != want {
			t.Errorf("%s: %+v, want %+v", region, have, want)
		}
	}
}

func TestMediaType(t *testing.T) {
	for key, want := range map[string]string{
		"a/index.HTML": "text/html; charset=utf-8", "app.js.map": "application/json", "x.tar.gz": "application/gzip",
		"README": "application/octet-stream", "a.unheard": "application/octet-stream", "dir.css/file": "application/octet-stream",
	} {
		if have := mediaType(key); have != want {
			t.Errorf("%s: %s, want %s", key, have, want)
		}
	}
}

// TestRefused are declarations that S3 would refuse only after something was made, each with where.
func TestRefused(t *testing.T) {
	kindtest.Refuses(t, bucketKind.Erase(), kindtest.Refusals{
		{obj{"name": "Upper"}, "name: "},
		{obj{"objectLockEnabled": true, "versioning": "Suspended"}, "versioning: "},
		{obj{"objectLockRetention": obj{"mode": "GOVERNANCE", "days": int64(1)}}, "objectLockRetention: "},
		{obj{"objectLockEnabled": true, "objectLockRetention": obj{"mode": "GOVERNANCE", "days": int64(1), "years": int64(1)}}, "objectLockRetention: "},
		{obj{"encryption": obj{"algorithm": "AES256", "kmsKey": "k"}}, "encryption: "},
		{obj{"cors": list{obj{"allowedMethods": list{"GET"}, "allowedOrigins": list{"*"}, "maxAge": "1500ms"}}}, "cors[0].maxAge: "},
		{obj{"website": obj{"errorDocument": "e"}}, "website: "},
		{obj{"website": obj{"redirectTo": "example.com", "indexDocument": "i"}}, "website.indexDocument: "},
		{obj{"website": obj{"indexDocument": "docs/index.html"}}, "website.indexDocument: "},
		{obj{"website": obj{"indexDocument": "i", "routingRules": list{obj{"keyPrefix": "a"}}}}, "website.routingRules[0]: "},
		{obj{"website": obj{"indexDocument": "i", "routingRules": list{obj{"replaceKey": "a", "replaceKeyPrefix": "b"}}}}, "website.routingRules[0]: "},
		{obj{"notifications": obj{"n": obj{"events": list{"s3:ObjectCreated:*"}}}}, "notifications.n: "},
		{obj{"notifications": obj{"n": obj{"queue": queue("q"), "topic": topic("t"), "events": list{"s3:ObjectCreated:*"}}}}, "notifications.n: "},
		{obj{
			"notifications": obj{"n": obj{"queue": queue("q"), "events": list{"s3:ObjectCreated:*"}}},
			"bindings":      obj{"n": obj{"queue": queue("q"), "events": list{"s3:ObjectCreated:*"}}},
		}, "bindings.n: "},
		{obj{"notifications": obj{"n": obj{"queue": queue("q.fifo"), "events": list{"s3:ObjectCreated:*"}}}}, "notifications.n: "},
		{obj{"notifications": obj{"n": obj{"queue": queue("q"), "events": list{}}}}, "notifications.n: "},
		{obj{"lifecycle": list{obj{"prefix": "x"}}}, "lifecycle[0]: "},
		{obj{"lifecycle": list{obj{"expiration": obj{"days": int64(1), "deleteMarkers": true}}}}, "lifecycle[0].expiration: "},
		{obj{"lifecycle": list{obj{"expiration": obj{"date": "tomorrow"}}}}, "lifecycle[0].expiration.date: "},
		{obj{"policy": "{"}, "policy: "},
		{obj{"tags": obj{"athanor:stack": "x"}}, `tags["athanor:stack"]: `},
	})
	kindtest.Refuses(t, objectKind.Erase(), kindtest.Refusals{
		{obj{"bucket": "b", "key": "k"}, "content: "},
		{obj{"bucket": "b", "key": "k", "content": "c", "source": "s"}, "content: "},
		{obj{"bucket": "b", "key": "k", "content": "c", "metadata": obj{"Upper": "x"}}, "metadata: "},
		{obj{"bucket": "b", "key": "k", "content": "c", "encryption": obj{"algorithm": "aws:kms", "kmsKey": "alias/x"}}, "encryption.kmsKey: "},
		{obj{"bucket": "b", "key": "k", "content": "c", "tags": obj{"1": "", "2": "", "3": "", "4": "", "5": "", "6": ""}}, "tags: "},
	})
}
