package s3

import (
	"context"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func quickBucket() reconcile.Any { return kindtest.Quick(bucketKind, 300*time.Millisecond) }

func quickObject() reconcile.Any { return kindtest.Quick(objectKind, 300*time.Millisecond) }

// faultBucket has an aspect that CreateBucket carries, some that are set after it, and a policy.
func faultBucket() obj {
	return obj{"name": "faulty", "versioning": "Enabled", "tags": obj{"team": "shop"}, "publicAccessBlock": obj{"blockPublicPolicy": false}, "policy": strings.ReplaceAll(publicPolicy, "the-bucket", "faulty")}
}

// TestBucketFaults breaks each changing call of a deployment, once, and some of each kind of its reads:
// it ends as if nothing had happened.
func TestBucketFaults(t *testing.T) {
	t.Parallel()
	kind := quickBucket()
	calm := newWorld(t)
	calm.Settled(t, faultBucket(), nil)
	want, writes := digest(t, calm.buckets(t)), len(calm.Wrote())
	var faults []awstest.Fault
	for _, how := range awstest.Ways() {
		for nth := 1; nth <= writes; nth++ {
			if awstest.Played(how, nth) {
				faults = append(faults, awstest.Fault{Nth: nth, Kind: how, When: awstest.Mutating})
			}
		}
		for nth := 1; nth <= 3; nth++ { // of the look that says absent, of the next one, and of its many at once
			if awstest.Played(how, nth) {
				faults = append(faults, awstest.Fault{Nth: nth, Kind: how, When: func(c awstest.Call) bool { return !c.Mutating }})
			}
		}
	}
	for i, fault := range faults {
		w := newWorld(t)
		held := w.Server.Inject(fault)
		if _, err := kind.Settle(t.Context(), w.Job(t, kind, faultBucket(), nil), reconcile.Hooks{}); err != nil {
			t.Errorf("fault %d, %s at %d: %v", i, fault.Kind, fault.Nth, err)
			continue
		}
		if held.Fired() != 1 {
			t.Errorf("fault %d, %s at %d did not happen", i, fault.Kind, fault.Nth)
		}
		if have := w.buckets(t); digest(t, have) != want {
			t.Errorf("fault %d, %s at %d: %v", i, fault.Kind, fault.Nth, have)
		}
	}
}

func digest(t *testing.T, v any) string {
	t.Helper()
	tr, err := tree.Of(v)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Digest(tr)
}

// TestBucketStale shows the bucket, and then its versioning, only after a while: nothing is made twice.
func TestBucketStale(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"S3.GetBucketTagging", "S3.GetBucketVersioning"} {
		w, kind := newWorld(t), bucketKind.Erase() // with its own bound: a slow machine takes longer than a quick one allows
		job := w.Job(t, kind, faultBucket(), nil)
		_, err := kind.Settle(t.Context(), job, reconcile.Hooks{Born: func(context.Context, string, map[string]any) error {
			w.Server.Inject(awstest.Fault{Op: op, Kind: awstest.Stale, Times: 3})
			return nil
		}})
		if err != nil {
			t.Errorf("%s stale: %v", op, err)
		}
		if n := w.Server.Count("S3.CreateBucket"); n != 1 {
			t.Errorf("%s stale: made %d buckets", op, n)
		}
	}
}

// TestBucketDenied fails at once, with the words of S3.
func TestBucketDenied(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"S3.GetBucketTagging", "S3.GetBucketCors", "S3.ListObjectVersions", "S3.CreateBucket", "S3.PutBucketPolicy"} {
		w, kind := newWorld(t), quickBucket()
		if strings.HasPrefix(op, "S3.Get") || strings.HasPrefix(op, "S3.List") {
			w.Settled(t, faultBucket(), nil)
		}
		w.Server.Reset()
		w.Server.Inject(awstest.Fault{Op: op, Kind: awstest.Deny, Times: -1})
		_, err := kind.Settle(t.Context(), w.Job(t, kind, faultBucket(), nil), reconcile.Hooks{})
		if err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s denied: %v", op, err)
		}
		if n := w.Server.Count(op); n != 1 {
			t.Errorf("%s denied: was asked %d times", op, n)
		}
	}
}

// TestBucketDeleteFaults breaks each call of a deletion, once.
func TestBucketDeleteFaults(t *testing.T) {
	t.Parallel()
	kind := quickBucket()
	for _, how := range awstest.Ways() {
		for nth := 1; ; nth++ {
			if !awstest.Played(how, nth) {
				continue
			}
			w := newWorld(t)
			out := w.Settled(t, faultBucket(), nil)
			if _, err := w.Others.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: nameOf(out.Attrs), Key: new("k"), Body: strings.NewReader("x")}); err != nil {
				t.Fatal(err)
			}
			job := w.Job(t, kind, nil, &out)
			job.MayDelete = true
			held := w.Server.Inject(awstest.Fault{Nth: nth, Kind: how})
			if err := kind.Delete(t.Context(), job); err != nil {
				t.Errorf("%s at call %d: %v", how, nth, err)
			}
			if left := w.buckets(t); len(left) > 0 {
				t.Errorf("%s at call %d: left %v", how, nth, left)
			}
			if held.Fired() == 0 {
				if nth < 5 {
					t.Errorf("deleting a full bucket makes %d calls, want at least 5", nth-1)
				}
				break
			}
		}
	}
}

// TestObjectFaults breaks each call of a creation, an update and a deletion, once.
func TestObjectFaults(t *testing.T) {
	t.Parallel()
	kind := quickObject()
	for _, how := range awstest.Ways() {
		for nth, fired := 1, true; fired; nth++ {
			if !awstest.Played(how, nth) {
				continue
			}
			w := newWorld(t)
			w.made(t, "b")
			held := w.Server.Inject(awstest.Fault{Nth: nth, Kind: how})
			var last *reconcile.Outcome
			for _, content := range []string{"one", "two"} {
				job := w.Job(t, kind, obj{"bucket": "b", "key": "k", "content": content}, last)
				out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
				if err != nil {
					t.Fatalf("%s at call %d: %v", how, nth, err)
				}
				last = &out
			}
			if err := kind.Delete(t.Context(), w.Job(t, kind, nil, last)); err != nil {
				t.Errorf("%s at call %d: delete: %v", how, nth, err)
			}
			out, err := w.Others.ListObjectsV2(t.Context(), &sdk.ListObjectsV2Input{Bucket: new("b")})
			if err != nil || len(out.Contents) > 0 {
				t.Errorf("%s at call %d: left %v, %v", how, nth, out, err)
			}
			fired = held.Fired() > 0
		}
	}
}
