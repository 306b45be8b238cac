package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
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
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

var errRefused = errors.New("refused by the test")

func TestBucketCalls(t *testing.T) {
	w := newWorld(t)
	settle := func(name string, props obj, last *reconcile.Outcome, want string) *reconcile.Outcome {
		t.Helper()
		w.Server.Reset()
		out := w.Settled(t, props, last)
		if have := w.Wrote(); !slices.Equal(have, prefixed("S3.", want)) {
			t.Errorf("%s: made %v, want %v", name, have, want)
		}
		return &out
	}
	plain := settle("a plain bucket", obj{}, nil, "CreateBucket")
	if reads := len(w.Server.Calls()) - 1; reads != 1+14 {
		t.Errorf("creating a plain bucket made %d reads, want one that says absent and 14 that say what is there", reads)
	}
	settle("again", obj{}, plain, "")
	all := site()
	delete(all, "name")
	all["policy"] = strings.ReplaceAll(publicPolicy, "the-bucket", *nameOf(plain.Attrs))
	full := settle("everything", all, plain, `
		PutBucketTagging PutBucketOwnershipControls PutPublicAccessBlock PutBucketVersioning PutBucketEncryption PutBucketCors
		PutBucketLifecycleConfiguration PutBucketLogging PutBucketAccelerateConfiguration PutBucketRequestPayment PutBucketWebsite
		PutBucketNotificationConfiguration PutBucketPolicy`)
	settle("everything again", all, full, "")
	settle("back", obj{}, full, `
		PutBucketTagging PutBucketOwnershipControls PutPublicAccessBlock PutBucketVersioning PutBucketEncryption DeleteBucketCors
		DeleteBucketLifecycle PutBucketLogging PutBucketAccelerateConfiguration PutBucketRequestPayment DeleteBucketWebsite
		PutBucketNotificationConfiguration DeleteBucketPolicy`)
	w.Server.Reset()
	if err := w.Kind.Delete(t.Context(), w.Job(t, w.Kind, nil, full)); err != nil {
		t.Fatal(err)
	}
	if calls := len(w.Server.Calls()); calls != 14+1+1 {
		t.Errorf("deleting an empty bucket made %d calls, want 14 that look for data, the deletion, and one that says absent", calls)
	}
	if left := w.like.unowned(); len(left) > 0 {
		t.Errorf("calls that do not say which account must own the bucket: %v", left)
	}
}

func TestBucketName(t *testing.T) {
	w, kind := newWorld(t), quickBucket()
	job := w.Job(t, kind, obj{}, nil)
	if want := "-" + w.Server.Account + "-us-east-1-an"; !strings.HasSuffix(job.Name, want) || len(job.Name) > 63 {
		t.Errorf("generated name %s is not in the account-regional namespace", job.Name)
	}
	naming := namingIn(reconcile.Place{Provider: "aws", Account: "123456789012", Region: "ap-southeast-1"})
	long := adopt.Name(naming, job.Place, "a-very-long-stack-name", "production", "net/a-very-long-address", 3)
	if len(long) > 63 || !strings.HasSuffix(long, "-123456789012-ap-southeast-1-an") {
		t.Errorf("name %s has %d characters", long, len(long))
	}
	if suffix := namingIn(reconcile.Place{Account: "123456789012", Region: "me-south-1"}).Suffix; suffix != "" {
		t.Errorf("me-south-1 has no account-regional namespace, and names end with %s", suffix)
	}
}

// namingIn is how names of buckets are generated in a place.
func namingIn(place reconcile.Place) reconcile.Naming {
	job := &reconcile.Job{Place: place, Props: obj{}}
	bucketKind.Erase().Names(job)
	return *job.Naming
}

// TestForeignBucket: the name belongs to another account, which S3 tells by refusing.
func TestForeignBucket(t *testing.T) {
	w, kind := newWorld(t), quickBucket()
	stranger := w.as(t, "999999999999")
	if _, err := stranger.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: new("taken")}); err != nil {
		t.Fatal(err)
	}
	job := w.Job(t, kind, obj{"name": "taken"}, nil)
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") || !strings.Contains(err.Error(), "bucket taken is somebody else's") {
		t.Errorf("settling a foreign bucket: %v", err)
	}
	if len(reconcile.Hints(err)) == 0 {
		t.Error("the error has no hint")
	}
	if made := w.Wrote(); len(made) > 0 {
		t.Errorf("a foreign bucket was touched: %v", made)
	}
}

// TestUntaggedBucket shows a bucket of our account without an owner tag as it is, for the verdict to refuse.
func TestUntaggedBucket(t *testing.T) {
	w, kind := newWorld(t), quickBucket()
	w.made(t, "mine")
	job := w.Job(t, kind, obj{"name": "mine"}, nil)
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{Permit: func(look reconcile.Look) error {
		if !look.Owner.IsZero() || look.Identity != "mine" {
			t.Errorf("look shows %s of %+v", look.Identity, look.Owner)
		}
		return errRefused
	}})
	if made := w.Wrote(); !errors.Is(err, errRefused) || len(made) > 0 {
		t.Errorf("%v, made %v", err, made)
	}
}

func TestForceDestroy(t *testing.T) {
	w, kind := newWorld(t), quickBucket()
	job := w.Job(t, kind, obj{"versioning": "Enabled"}, nil)
	out := kindtest.Settled(t, kind, job)
	w.fill(t, nameOf(out.Attrs))
	look, err := kind.Look(t.Context(), job)
	if err != nil || !look.Holds || look.MayDelete {
		t.Fatalf("a full bucket: holds %v, may delete %v: %v", look.Holds, look.MayDelete, err)
	}
	gone := w.Job(t, kind, nil, &out)
	w.Server.Reset()
	if err := kind.Delete(t.Context(), gone); !errors.Is(err, reconcile.ErrHoldsData) || w.Server.Count("S3.DeleteObjects") > 0 {
		t.Fatalf("without leave: %v, and made %v", err, w.Wrote())
	}
	gone.MayDelete = true
	w.Server.Reset()
	if err := kind.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if pages := w.Server.Count("S3.DeleteObjects"); pages != 2 {
		t.Errorf("1,500 versions and markers were deleted with %d calls, want 2", pages)
	}
	if n := w.Server.Count("S3.AbortMultipartUpload"); n != 1 {
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
				_, err := w.Others.PutObject(context.Background(), &sdk.PutObjectInput{Bucket: name, Key: markers[i].Key, Body: strings.NewReader("x")})
				return err
			})
		}
	}
	err := group.Wait()
	if err == nil {
		_, err = w.Others.DeleteObjects(t.Context(), &sdk.DeleteObjectsInput{Bucket: name, Delete: &types.Delete{Objects: markers}})
	}
	if err == nil {
		_, err = w.Others.CreateMultipartUpload(t.Context(), &sdk.CreateMultipartUploadInput{Bucket: name, Key: new("parts")})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestForceDestroyPermits(t *testing.T) {
	w := newWorld(t)
	if out := w.Settled(t, obj{"forceDestroy": true}, nil); out.Holds {
		t.Error("an empty bucket holds data")
	}
	look, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, obj{"forceDestroy": true}, nil))
	if err != nil || look.Holds || !look.MayDelete {
		t.Errorf("an empty bucket with forceDestroy: holds %v, may delete %v: %v", look.Holds, look.MayDelete, err)
	}
}

// TestEnableLock: a lock is turned on in place, and turning it off replaces.
func TestEnableLock(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, obj{}, nil)
	w.Server.Reset()
	w.Settled(t, obj{"objectLockEnabled": true}, &out)
	if have, want := w.Wrote(), []string{"S3.PutBucketVersioning", "S3.PutObjectLockConfiguration"}; !slices.Equal(have, want) {
		t.Errorf("made %v, want %v", have, want)
	}
	if _, err := w.Kind.Settle(t.Context(), w.Job(t, w.Kind, obj{}, &out), reconcile.Hooks{}); !errors.Is(err, reconcile.ErrReplace) {
		t.Errorf("turning the lock off: %v", err)
	}
}

func TestObjectFile(t *testing.T) {
	w, kind := newWorld(t), quickObject()
	w.made(t, "files")
	path := filepath.Join(w.Dir, "app.tar.gz")
	props := obj{"bucket": "files", "key": "releases/app.tar.gz", "source": "app.tar.gz"}
	for _, content := range []string{strings.Repeat("first ", 3_000_000), "second"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		w.Server.Reset()
		out := kindtest.Settled(t, kind, w.prepared(t, kind, props, nil))
		if made := w.Wrote(); !slices.Equal(made, []string{"S3.PutObject"}) {
			t.Errorf("made %v, want one upload", made)
		}
		head, err := w.Others.HeadObject(t.Context(), &sdk.HeadObjectInput{
			Bucket: new("files"), Key: new("releases/app.tar.gz"), ChecksumMode: types.ChecksumModeEnabled, ExpectedBucketOwner: &w.Server.Account,
		})
		if err != nil || awssdk.ToInt64(head.ContentLength) != int64(len(content)) || awssdk.ToString(head.ContentType) != "application/gzip" {
			t.Errorf("uploaded %d bytes of %s: %v", awssdk.ToInt64(head.ContentLength), awssdk.ToString(head.ContentType), err)
		}
		digest := sha256.Sum256([]byte(content))
		sum := base64.StdEncoding.EncodeToString(digest[:])
		if awssdk.ToString(head.ChecksumSHA256) != sum || out.Attrs["eTag"] != awssdk.ToString(head.ETag) {
			t.Errorf("checksum %s, want %s; attributes %v", awssdk.ToString(head.ChecksumSHA256), sum, out.Attrs)
		}
		look, err := kind.Look(t.Context(), w.prepared(t, kind, props, nil))
		if err != nil || len(look.Steps) > 0 {
			t.Errorf("right after the upload: %v %v", look.Steps, err)
		}
	}
	if left := w.like.unowned(); len(left) > 0 {
		t.Errorf("calls that do not say which account must own the bucket: %v", left)
	}
}

// TestObjectOfOthers compares objects that other tools have uploaded, of which S3 keeps no SHA-256: in equal ones the owner tags alone
// differ.
func TestObjectOfOthers(t *testing.T) {
	w, kind := newWorld(t), quickObject()
	w.made(t, "others")
	const part = 5 << 20 // the least that S3 takes
	big := strings.Repeat("0123456789abcdef", part/16) + strings.Repeat("the rest ", 1000)
	put := func(content string, change func(*sdk.PutObjectInput)) func(key *string) error {
		return func(key *string) error {
			in := &sdk.PutObjectInput{Bucket: new("others"), Key: key, Body: strings.NewReader(content)}
			change(in)
			_, err := w.Others.PutObject(t.Context(), in)
			return err
		}
	}
	inParts := func(content string, sizes ...int) func(key *string) error {
		return func(key *string) error {
			up, err := w.Others.CreateMultipartUpload(t.Context(), &sdk.CreateMultipartUploadInput{Bucket: new("others"), Key: key})
			if err != nil {
				return err
			}
			var parts []types.CompletedPart
			rest := content
			for n, size := range append(sizes, len(content)) {
				size = min(size, len(rest))
				number := new(int32(n + 1)) //nolint:gosec // a few
				out, err := w.Others.UploadPart(t.Context(), &sdk.UploadPartInput{
					Bucket: new("others"), Key: key, UploadId: up.UploadId, PartNumber: number, Body: strings.NewReader(rest[:size]),
				})
				if err != nil {
					return err
				}
				parts, rest = append(parts, types.CompletedPart{ETag: out.ETag, PartNumber: number}), rest[size:]
			}
			_, err = w.Others.CompleteMultipartUpload(t.Context(), &sdk.CompleteMultipartUploadInput{
				Bucket: new("others"), Key: key, UploadId: up.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
			})
			return err
		}
	}
	asIs := func(*sdk.PutObjectInput) {}
	const keyARN = "arn:aws:kms:us-east-1:123456789012:key/0d990263-018e-4065-a703-eff731de951e"
	byKMS := func(in *sdk.PutObjectInput) {
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, new(keyARN)
	}
	encryption := obj{"algorithm": "aws:kms", "kmsKey": keyARN}
	for name, c := range map[string]struct {
		put     func(key *string) error
		content string
		props   obj
		deny    bool
		same    bool
		reads   int
	}{
		"equal":                    {put: put("a page\n", asIs), content: "a page\n", same: true},
		"empty":                    {put: put("", asIs), same: true},
		"longer":                   {put: put("a page\n and more", asIs), content: "a page\n"},
		"of one size":              {put: put("A page\n", asIs), content: "a page\n", reads: 1},
		"in parts":                 {put: inParts(big, part), content: big, same: true},
		"in parts of two sizes":    {put: inParts(big+big, part, part+9), content: big + big, same: true, reads: 1},
		"in parts, another end":    {put: inParts(big, part), content: big[:len(big)-1] + "!", reads: 1},
		"of a key of KMS":          {put: put("a page\n", byKMS), content: "a page\n", props: obj{"encryption": encryption}, same: true, reads: 1},
		"of a key of KMS, another": {put: put("A page\n", byKMS), content: "a page\n", props: obj{"encryption": encryption}, reads: 1},
		"may not be read":          {put: put("a page\n", byKMS), content: "a page\n", props: obj{"encryption": encryption}, deny: true, reads: 1},
	} {
		for _, prop := range []string{"content", "source"} {
			t.Run(name+"/"+prop, func(t *testing.T) {
				key := strings.ReplaceAll(name, " ", "-") + ".txt"
				if err := c.put(&key); err != nil {
					t.Fatal(err)
				}
				props := maps.Clone(c.props)
				if props == nil {
					props = obj{}
				}
				props["bucket"], props["key"] = "others", key
				if props[prop] = c.content; prop == "source" {
					props[prop] = key
					if err := os.WriteFile(filepath.Join(w.Dir, key), []byte(c.content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if head, err := w.Others.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: new("others"), Key: &key}); err != nil || awssdk.ToString(head.ContentType) == "" {
					t.Fatal(head, err)
				} else {
					props["contentType"] = *head.ContentType
				}
				w.Server.Reset()
				if c.deny {
					w.Server.Inject(awstest.Fault{Op: "S3.GetObject", Kind: awstest.Deny})
				}
				look, err := kind.Look(t.Context(), w.prepared(t, kind, props, nil))
				if err != nil {
					t.Fatal(err)
				}
				differs := slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool { return string(s.Path) == prop })
				if others := slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool {
					return string(s.Path) != prop && !strings.HasPrefix(string(s.Path), "tags")
				}); differs == c.same || others {
					t.Errorf("differences: %v", look.Steps)
				}
				if n := w.Server.Count("S3.GetObject"); n != c.reads {
					t.Errorf("the content is read %d times, want %d", n, c.reads)
				}
			})
		}
	}
}

// TestOtherRegion names the region where S3 wants it named.
func TestOtherRegion(t *testing.T) {
	w := newWorld(t)
	cfg := w.like.Observed(t)
	cfg.Region = "eu-north-1"
	w.Cloud = aws.FromConfig(cfg)
	out := w.Settled(t, obj{}, nil)
	name, _ := out.Attrs["name"].(string)
	if !strings.HasSuffix(name, "-eu-north-1-an") || out.Attrs["websiteEndpoint"] != name+".s3-website.eu-north-1.amazonaws.com" {
		t.Errorf("attributes %v", out.Attrs)
	}
	at, err := w.like.outside.GetBucketLocation(t.Context(), &sdk.GetBucketLocationInput{Bucket: new(w.like.scope + name)})
	if err != nil || at.LocationConstraint != "eu-north-1" {
		t.Errorf("the bucket is in %v: %v", at, err)
	}
	found, err := w.Kind.List(t.Context(), reconcile.Scope{Cloud: w.Cloud, Place: w.Job(t, w.Kind, nil, nil).Place, Prefix: "shop-test-"})
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
	w, kind := newWorld(t), quickObject()
	w.made(t, "race")
	_, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"bucket": "race", "key": "k", "content": "ours"}, nil), reconcile.Hooks{
		Intend: func(ctx context.Context) error {
			_, err := w.Others.PutObject(ctx, &sdk.PutObjectInput{Bucket: new("race"), Key: new("k"), Body: strings.NewReader("theirs")})
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
	head, err := w.Others.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: new("race"), Key: new("k")})
	if err != nil || awssdk.ToInt64(head.ContentLength) != int64(len("theirs")) {
		t.Errorf("their object: %v %v", head, err)
	}
}

// TestHeldByBucket: the objects of a bucket that was never versioned are named, so that a plan which deletes them does not count
// them as data; a versioned one keeps the versions of what is deleted.
func TestHeldByBucket(t *testing.T) {
	w, kind := newWorld(t), quickBucket()
	for _, versioned := range []bool{false, true} {
		props := obj{}
		if versioned {
			props["versioning"] = "Enabled"
		}
		out := w.Settled(t, props, nil)
		name := nameOf(out.Attrs)
		for _, key := range []string{"a/b.txt", "c d"} {
			if _, err := w.Others.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: name, Key: &key, Body: strings.NewReader("x")}); err != nil {
				t.Fatal(err)
			}
		}
		job := w.Job(t, kind, props, &out)
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

// TestObjectLinkedAway: a file that becomes a link out of the project after it was prepared is not opened.
func TestObjectLinkedAway(t *testing.T) {
	w, kind := newWorld(t), quickObject()
	w.made(t, "away")
	outside, source := filepath.Join(t.TempDir(), "outside"), filepath.Join(w.Dir, "page")
	for _, file := range []string{outside, source} {
		if err := os.WriteFile(file, []byte("equal"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job := w.Job(t, kind, obj{"bucket": "away", "key": "k", "source": "page"}, nil)
	if err := errors.Join(os.Remove(source), os.Symlink(outside, source)); err != nil {
		t.Fatal(err)
	}
	w.Server.Reset()
	_, err := kind.Settle(localfile.With(t.Context(), localfile.Bounds{Root: w.Dir}), job, reconcile.Hooks{})
	if _, refused := errors.AsType[*localfile.OutsideError](err); !refused || len(w.Wrote()) > 0 {
		t.Errorf("%v, and %v was made", err, w.Wrote())
	}
}
