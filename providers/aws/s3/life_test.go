package s3

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
)

var errRefused = errors.New("refused by the test")

// job is a resource of the world, without a record.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj) *reconcile.Job {
	t.Helper()
	place, err := w.cloud.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job := &reconcile.Job{
		Address: "thing", Props: props, Place: place, Cloud: w.cloud, Dir: w.dir,
		Mark: reconcile.Mark{Stack: "shop", Stage: "test", Address: "thing", Generation: 1, Store: "s"},
	}
	if props == nil {
		return job
	}
	if err := kind.Decode(job); err != nil {
		t.Fatal(err)
	}
	kind.Names(job)
	switch {
	case job.Given != "":
		job.Name, job.Named = job.Given, true
	case job.Naming != nil:
		job.Name = adopt.Name(*job.Naming, place, "shop", "test", "thing", 0)
	}
	if err := kind.Prepare(t.Context(), job, reconcile.Workspace{Dir: w.dir, Cache: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return job
}

// mutations are the names of the changing calls that reached the proxy.
func (w *world) mutations() []string {
	var names []string
	for _, c := range w.server.Mutations() {
		names = append(names, c.Operation)
	}
	return names
}

func TestBucketCalls(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(bucketKind)
	settle := func(name string, props obj, last reconcile.Outcome, want ...string) reconcile.Outcome {
		t.Helper()
		w.server.Reset()
		job := w.job(t, kind, props)
		job.Last = last.Attrs
		out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if have := w.mutations(); !slices.Equal(have, want) {
			t.Errorf("%s: made %v, want %v", name, have, want)
		}
		return out
	}
	plain := settle("a plain bucket", obj{}, reconcile.Outcome{}, "CreateBucket")
	if reads := len(w.server.Calls()) - 1; reads != 1+15 {
		t.Errorf("creating a plain bucket made %d reads, want one that says absent and 15 that say what is there", reads)
	}
	settle("again", obj{}, plain)
	all := site()
	delete(all, "name")
	all["policy"] = strings.ReplaceAll(publicPolicy, "the-bucket", *nameOf(plain.Attrs))
	full := settle("everything", all, plain,
		"PutBucketTagging", "PutBucketOwnershipControls", "PutPublicAccessBlock", "PutBucketVersioning", "PutBucketEncryption", "PutBucketCors",
		"PutBucketLifecycleConfiguration", "PutBucketLogging", "PutBucketAccelerateConfiguration", "PutBucketRequestPayment", "PutBucketWebsite",
		"PutBucketNotificationConfiguration", "PutBucketPolicy")
	settle("everything again", all, full)
	settle("back", obj{}, full,
		"PutBucketTagging", "PutBucketOwnershipControls", "PutPublicAccessBlock", "PutBucketVersioning", "PutBucketEncryption", "DeleteBucketCors",
		"DeleteBucketLifecycle", "PutBucketLogging", "PutBucketAccelerateConfiguration", "PutBucketRequestPayment", "DeleteBucketWebsite",
		"PutBucketNotificationConfiguration", "DeleteBucketPolicy")
	job := w.job(t, kind, nil)
	job.Last = full.Attrs
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if left := w.like.unowned(); len(left) > 0 {
		t.Errorf("calls that do not say which account must own the bucket: %v", left)
	}
}

func TestBucketName(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(bucketKind)
	job := w.job(t, kind, obj{})
	if want := "-" + w.server.Account + "-us-east-1-an"; !strings.HasSuffix(job.Name, want) || len(job.Name) > 63 {
		t.Errorf("generated name %s is not in the account-regional namespace", job.Name)
	}
	naming := bucketNaming(BucketProps{}, reconcile.Place{Provider: "aws", Account: "123456789012", Region: "ap-southeast-1"})
	long := adopt.Name(naming, job.Place, "a-very-long-stack-name", "production", "net/a-very-long-address", 3)
	if len(long) > 63 || !strings.HasSuffix(long, "-123456789012-ap-southeast-1-an") {
		t.Errorf("name %s has %d characters", long, len(long))
	}
	if suffix := bucketNaming(BucketProps{}, reconcile.Place{Account: "123456789012", Region: "me-south-1"}).Suffix; suffix != "" {
		t.Errorf("me-south-1 has no account-regional namespace, and names end with %s", suffix)
	}
}

// TestForeignBucket: the name belongs to another account, which S3 tells by refusing.
func TestForeignBucket(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(bucketKind)
	stranger := w.as(t, "999999999999")
	if _, err := stranger.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: new("taken")}); err != nil {
		t.Fatal(err)
	}
	job := w.job(t, kind, obj{"name": "taken"})
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") || !strings.Contains(err.Error(), "bucket taken is somebody else's") {
		t.Errorf("settling a foreign bucket: %v", err)
	}
	if len(reconcile.Hints(err)) == 0 {
		t.Error("the error has no hint")
	}
	if made := w.mutations(); len(made) > 0 {
		t.Errorf("a foreign bucket was touched: %v", made)
	}
}

// TestUnmarkedBucket: a bucket of our account that nobody marked is shown as it is, for the verdict to refuse.
func TestUnmarkedBucket(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(bucketKind)
	if _, err := w.others.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: new("mine")}); err != nil {
		t.Fatal(err)
	}
	job := w.job(t, kind, obj{"name": "mine"})
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{Permit: func(look reconcile.Look) error {
		if !look.Owner.IsZero() || look.Identity != "mine" {
			t.Errorf("look shows %s of %+v", look.Identity, look.Owner)
		}
		return errRefused
	}})
	if made := w.mutations(); !errors.Is(err, errRefused) || len(made) > 0 {
		t.Errorf("%v, made %v", err, made)
	}
}

func TestForceDestroy(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(bucketKind)
	job := w.job(t, kind, obj{"versioning": "Enabled"})
	out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	name := nameOf(out.Attrs)
	w.fill(t, name)

	look, err := kind.Look(t.Context(), job)
	if err != nil || !look.Holds || look.MayDelete {
		t.Fatalf("a full bucket: holds %v, may delete %v: %v", look.Holds, look.MayDelete, err)
	}
	gone := w.job(t, kind, nil)
	gone.Last = out.Attrs
	w.server.Reset()
	if err := kind.Delete(t.Context(), gone); !errors.Is(err, reconcile.ErrHoldsData) || w.server.Count("S3.DeleteObjects") > 0 {
		t.Fatalf("without leave: %v, and made %v", err, w.mutations())
	}
	gone.MayDelete = true
	w.server.Reset()
	if err := kind.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if pages := w.server.Count("S3.DeleteObjects"); pages != 2 {
		t.Errorf("1,500 versions and markers were deleted with %d calls, want 2", pages)
	}
	if n := w.server.Count("S3.AbortMultipartUpload"); n != 1 {
		t.Errorf("aborted %d uploads, want 1", n)
	}
	if left := w.buckets(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// fill puts 1,000 versions of 500 objects, 500 delete markers, and an upload that is not complete.
func (w *world) fill(t *testing.T, name *string) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	markers := make([]types.ObjectIdentifier, 500)
	for i := range markers {
		markers[i].Key = new(fmt.Sprintf("k/%03d", i))
		for range 2 {
			group.Go(func() error {
				_, err := w.others.PutObject(context.Background(), &sdk.PutObjectInput{Bucket: name, Key: markers[i].Key, Body: strings.NewReader("x")})
				return err
			})
		}
	}
	err := group.Wait()
	if err == nil {
		_, err = w.others.DeleteObjects(t.Context(), &sdk.DeleteObjectsInput{Bucket: name, Delete: &types.Delete{Objects: markers}})
	}
	if err == nil {
		_, err = w.others.CreateMultipartUpload(t.Context(), &sdk.CreateMultipartUploadInput{Bucket: name, Key: new("parts")})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestForceDestroyGivesLeave(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(bucketKind)
	job := w.job(t, kind, obj{"forceDestroy": true})
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	look, err := kind.Look(t.Context(), job)
	if err != nil || look.Holds || !look.MayDelete {
		t.Errorf("an empty bucket with forceDestroy: holds %v, may delete %v: %v", look.Holds, look.MayDelete, err)
	}
}

// TestEnableLock: a lock is turned on in place, and turning it off replaces.
func TestEnableLock(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(bucketKind)
	out, err := kind.Settle(t.Context(), w.job(t, kind, obj{}), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	job := w.job(t, kind, obj{"objectLockEnabled": true})
	job.Last = out.Attrs
	w.server.Reset()
	if _, err = kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if have, want := w.mutations(), []string{"PutBucketVersioning", "PutObjectLockConfiguration"}; !slices.Equal(have, want) {
		t.Errorf("made %v, want %v", have, want)
	}
	job = w.job(t, kind, obj{})
	job.Last = out.Attrs
	if _, err = kind.Settle(t.Context(), job, reconcile.Hooks{}); !errors.Is(err, reconcile.ErrReplace) {
		t.Errorf("turning the lock off: %v", err)
	}
}

func TestObjectFile(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(objectKind)
	if _, err := w.others.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: new("files")}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "app.tar.gz")
	props := obj{"bucket": "files", "key": "releases/app.tar.gz", "source": "app.tar.gz"}
	for _, content := range []string{strings.Repeat("first ", 3_000_000), "second"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		w.server.Reset()
		out, err := kind.Settle(t.Context(), w.job(t, kind, props), reconcile.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		if made := w.mutations(); !slices.Equal(made, []string{"PutObject"}) {
			t.Errorf("made %v, want one upload", made)
		}
		head, err := w.others.HeadObject(t.Context(), &sdk.HeadObjectInput{
			Bucket: new("files"), Key: new("releases/app.tar.gz"), ChecksumMode: types.ChecksumModeEnabled, ExpectedBucketOwner: &w.server.Account,
		})
		if err != nil || awssdk.ToInt64(head.ContentLength) != int64(len(content)) || awssdk.ToString(head.ContentType) != "application/gzip" {
			t.Errorf("uploaded %d bytes of %s: %v", awssdk.ToInt64(head.ContentLength), awssdk.ToString(head.ContentType), err)
		}
		sum, _ := checksum(fmt.Sprintf("%x", sha256.Sum256([]byte(content))))
		if awssdk.ToString(head.ChecksumSHA256) != sum || out.Attrs["eTag"] != awssdk.ToString(head.ETag) {
			t.Errorf("checksum %s, want %s; attributes %v", awssdk.ToString(head.ChecksumSHA256), sum, out.Attrs)
		}
		look, err := kind.Look(t.Context(), w.job(t, kind, props))
		if err != nil || len(look.Steps) > 0 {
			t.Errorf("right after the upload: %v %v", look.Steps, err)
		}
	}
	if left := w.like.unowned(); len(left) > 0 {
		t.Errorf("calls that do not say which account must own the bucket: %v", left)
	}
}

// TestOtherRegion names the region where S3 wants it named.
func TestOtherRegion(t *testing.T) {
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	cfg := server.ObservedConfig(t)
	cfg.BaseEndpoint, cfg.Region = &like.URL, "eu-north-1"
	w, kind := &world{server: server, like: like, cloud: aws.FromConfig(cfg), dir: t.TempDir()}, reconcile.Erase(bucketKind)
	out, err := kind.Settle(t.Context(), w.job(t, kind, obj{}), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	name, _ := out.Attrs["name"].(string)
	if !strings.HasSuffix(name, "-eu-north-1-an") || out.Attrs["websiteEndpoint"] != name+".s3-website.eu-north-1.amazonaws.com" {
		t.Errorf("attributes %v", out.Attrs)
	}
	at, err := like.outside.GetBucketLocation(t.Context(), &sdk.GetBucketLocationInput{Bucket: new(like.scope + name)})
	if err != nil || at.LocationConstraint != "eu-north-1" {
		t.Errorf("the bucket is in %v: %v", at, err)
	}
	found, err := kind.List(t.Context(), reconcile.Scope{Cloud: w.cloud, Place: w.job(t, kind, nil).Place, Prefix: "shop-test-"})
	if err != nil || len(found) != 1 || found[0].Name != name {
		t.Errorf("the listing shows %v: %v", found, err)
	}
}

func TestObjectTooBig(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(mostBytes + 1); err != nil { // a hole, which takes no space
		t.Fatal(err)
	}
	_, err = prepareObject(t.Context(), reconcile.Workspace{Dir: dir}, ObjectProps{Source: "big"})
	if err == nil || !strings.Contains(err.Error(), "5 GiB") {
		t.Errorf("5 GiB and a byte: %v", err)
	}
}

// TestObjectRace: somebody uploads between our look and our upload, which then does not overwrite.
func TestObjectRace(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(objectKind)
	if _, err := w.others.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: new("race")}); err != nil {
		t.Fatal(err)
	}
	_, err := kind.Settle(t.Context(), w.job(t, kind, obj{"bucket": "race", "key": "k", "content": "ours"}), reconcile.Hooks{
		Intend: func(ctx context.Context) error {
			_, err := w.others.PutObject(ctx, &sdk.PutObjectInput{Bucket: new("race"), Key: new("k"), Body: strings.NewReader("theirs")})
			return err
		},
		Permit: func(look reconcile.Look) error {
			if look.Owner.IsZero() {
				return errRefused
			}
			return nil
		},
	})
	if !errors.Is(err, errRefused) {
		t.Errorf("settling: %v", err)
	}
	head, err := w.others.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: new("race"), Key: new("k")})
	if err != nil || awssdk.ToInt64(head.ContentLength) != int64(len("theirs")) {
		t.Errorf("their object: %v %v", head, err)
	}
}

// TestHeldByBucket: the objects of a bucket that was never versioned are named, so that a plan which deletes them does not count
// them as data; a versioned one keeps the versions of what is deleted.
func TestHeldByBucket(t *testing.T) {
	w, kind := newWorld(t), reconcile.Erase(bucketKind)
	for _, versioned := range []bool{false, true} {
		props := obj{}
		if versioned {
			props["versioning"] = "Enabled"
		}
		job := w.job(t, kind, props)
		out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		name := nameOf(out.Attrs)
		for _, key := range []string{"a/b.txt", "c d"} {
			if _, err := w.others.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: name, Key: &key, Body: strings.NewReader("x")}); err != nil {
				t.Fatal(err)
			}
		}
		job.Last = out.Attrs
		want := []reconcile.Found{{Kind: objectType, Identity: *name + "/a/b.txt"}, {Kind: objectType, Identity: *name + "/c d"}}
		if versioned {
			want = make([]reconcile.Found, 2)
		}
		if held, err := kind.Held(t.Context(), job, 5); err != nil || !slices.Equal(held, want) {
			t.Errorf("versioned %v: holds %v, want %v (%v)", versioned, held, want, err)
		}
		if held, err := kind.Held(t.Context(), job, 1); err != nil || !slices.Equal(held, want[:1]) {
			t.Errorf("versioned %v: at most one: %v (%v)", versioned, held, err)
		}
		job.MayDelete = true
		if err := kind.Delete(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
}
