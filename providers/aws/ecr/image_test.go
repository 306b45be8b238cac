package ecr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// example is an image that somebody else has built: the same one for a seed.
func example(t testing.TB, seed int64, arch string) v1.Image {
	t.Helper()
	made, err := random.Image(300, 1, random.WithSource(rand.NewSource(seed)))
	if err != nil {
		t.Fatal(err)
	}
	config, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	if made, err = mutate.ConfigFile(made, config); err != nil {
		t.Fatal(err)
	}
	return made
}

// indexed is an image for both processors.
func indexed(t testing.TB, seed int64) v1.ImageIndex {
	t.Helper()
	var all []mutate.IndexAddendum
	for i, arch := range []string{"amd64", "arm64"} {
		all = append(all, mutate.IndexAddendum{
			Add: example(t, seed+int64(i), arch), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return mutate.AppendManifests(empty.Index, all...)
}

// newImageWorld has two repositories in ECR, and on this machine two layouts and a program.
func newImageWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.Kind, w.Address = imageKind.Erase(), "web"
	for _, repository := range []string{"shop/web", "other"} {
		w.ask(t, "CreateRepository", obj{"repositoryName": repository})
	}
	for i, folder := range []string{"one", "two"} {
		if _, err := layout.Write(filepath.Join(w.Dir, folder), indexed(t, int64(10*i))); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{
		"go.mod": "module example.com/shop\n\ngo 1.26\n", "hello/main.go": "package main\n\nfunc main() { println(1) }\n",
	} {
		path := filepath.Join(w.Dir, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	w.Server.Reset()
	return w
}

// generated are the tags that say whose an image is.
var generated = regexp.MustCompile(`^(shop-test|kindtest-check)-`)

// images are those of all repositories as others see them, with every tag but the names of the stage.
func (w *world) images(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, repository := range []string{"shop/web", "other"} {
		tags := map[string][]string{}
		for _, x := range w.ask(t, "ListImages", obj{"repositoryName": repository})["imageIds"].([]any) {
			id := x.(obj)
			digest, some := fmt.Sprint(id["imageDigest"]), []string(nil)
			if tag, ok := id["imageTag"].(string); ok && !generated.MatchString(tag) {
				some = append(some, tag)
			}
			tags[digest] = append(tags[digest], some...)
		}
		for _, digest := range slices.Sorted(maps.Keys(tags)) {
			slices.Sort(tags[digest])
			all = append(all, obj{"repository": repository, "digest": digest, "tags": strings.Join(tags[digest], " ")})
		}
	}
	return all
}

// tag gives an image another tag as somebody else would.
func (w *world) tag(t kindtest.T, repository, digest, tag string) {
	t.Helper()
	got := w.ask(t, "BatchGetImage", obj{"repositoryName": repository, "imageIds": list{obj{"imageDigest": digest}}})
	m := got["images"].([]any)[0].(obj)
	w.ask(t, "PutImage", obj{"repositoryName": repository, "imageManifest": m["imageManifest"], "imageTag": tag, "imageDigest": digest})
}

func (w *world) untag(t kindtest.T, repository string, tags ...string) {
	t.Helper()
	var ids list
	for _, tag := range tags {
		ids = append(ids, obj{"imageTag": tag})
	}
	w.ask(t, "BatchDeleteImage", obj{"repositoryName": repository, "imageIds": ids})
}

func imageProps(more obj) obj {
	p := obj{"repository": "shop/web", "source": obj{"layout": "one"}}
	maps.Copy(p, more)
	return p
}

// imageHands delete an image, and change its tags.
func imageHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	text := func(v any) string { s, _ := v.(string); return s }
	return map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			w.ask(t, "BatchDeleteImage", obj{"repositoryName": to.Attrs["repository"], "imageIds": list{obj{"imageDigest": to.Attrs["digest"]}}})
			return nil
		}),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			repository, digest := text(to.Attrs["repository"]), text(to.Attrs["digest"])
			want, _ := to.Value.([]any)
			have, _ := to.Attrs["tags"].([]any)
			for _, tag := range have {
				if !slices.Contains(want, tag) {
					w.untag(t, repository, text(tag))
				}
			}
			for _, tag := range want {
				if !slices.Contains(have, tag) {
					w.tag(t, repository, digest, text(tag))
				}
			}
			return nil
		}),
	}
}

// elsewhere is a registry in the process, which is none of ours, with an image to copy.
func elsewhere(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(web.Close)
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // nobody has signed in
	at := strings.TrimPrefix(web.URL, "http://") + "/base:1"
	ref, err := name.ParseReference(at)
	if err == nil {
		err = remote.WriteIndex(ref, indexed(t, 40))
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestImage(t *testing.T) {
	ws := awstest.Worlds[*world]{}
	base := elsewhere(t)
	const ofBytes = "what an image is made of cannot be told from it: its digest is compared"
	kindtest.Run(t, kindtest.Suite{
		Kind: imageKind.Erase(), World: ws.Make(newImageWorld, (*world).images), Base: imageProps(obj{"tags": list{"latest", "stable"}}), Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tagged", Props: imageProps(obj{"tags": list{"v1", "v1.2"}})},
			{Name: "other", Props: imageProps(obj{"source": obj{"layout": "two"}, "architecture": "arm64"})},
			{Name: "copied", Props: imageProps(obj{"repository": "other", "source": obj{"from": base}})},
			{Name: "program", Props: imageProps(obj{"source": obj{
				"go": "./hello", "base": base, "buildTags": list{"shop"}, "ldFlags": "-X main.version=1", "args": list{"serve"}, "env": obj{"MODE": "shop"},
				"user": "65532:65532", "directory": "/srv", "ports": list{int64(8080)}, "labels": obj{"of": "shop"},
			}})},
		},
		Hands:   imageHands(ws),
		Others:  map[tree.Path][]any{"tags": {list{"latest"}, list{"v1"}}}, // what others add stays: TestOthersTags
		Steady:  map[tree.Path]string{"repository": "an image stays in its repository", "source": "an image never changes", "architecture": "an image never changes"},
		Fetched: map[tree.Path]string{"source.from": "it is in a registry"},
		Alias:   map[tree.Path]tree.Path{"architecture": "source.layout"},
		Ordered: map[tree.Path]string{
			"source": "an image is built of it, and its digest is compared",
		},
		Unreadable: map[tree.Path]string{
			"source": ofBytes, "architecture": ofBytes,
		},
	})
}

// pulled reads an image whole by its URI, as somebody else who has signed in, and returns how many blobs it has.
func (w *world) pulled(t *testing.T, attrs map[string]any) (blobs int) {
	t.Helper()
	repository, digest := attrs["repository"].(string), attrs["digest"].(string)
	got := w.ask(t, "BatchGetImage", obj{"repositoryName": repository, "imageIds": list{obj{"imageDigest": digest}}})
	text := got["images"].([]any)[0].(obj)["imageManifest"].(string)
	if sum, _, err := v1.SHA256(strings.NewReader(text)); err != nil || sum.String() != digest {
		t.Errorf("the manifest of %s has the digest %s, %v", digest, sum, err)
	}
	manifest, err := v1.ParseManifest(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	signedIn := &authn.Basic{Username: "AWS", Password: w.Server.Account + "-auth-token"}
	for _, d := range append(manifest.Layers, manifest.Config) {
		ref, err := name.NewDigest(strings.TrimPrefix(w.Server.URL, "http://") + "/" + repository + "@" + d.Digest.String())
		if err != nil {
			t.Fatal(err)
		}
		layer, err := remote.Layer(ref, remote.WithAuth(signedIn))
		if err != nil {
			t.Fatal(err)
		}
		content, err := layer.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, content); err != nil { // it checks the digest
			t.Errorf("%s: %v", d.Digest, err)
		}
		content.Close()
		blobs++
	}
	return blobs
}

// TestPushed: the image is whole in the registry, its URI names it, and a second run asks once and changes nothing.
func TestPushed(t *testing.T) {
	w := newImageWorld(t)
	props := imageProps(obj{"source": obj{"go": "./hello", "user": "65532"}, "tags": list{"latest"}})
	out := w.Settled(t, props, nil)
	digest := out.Attrs["digest"].(string)
	if want := w.Server.Account + ".dkr.ecr.us-east-1.amazonaws.com/shop/web@" + digest; out.Attrs["uri"] != want || out.Attrs["tag"] != "shop-test-web" {
		t.Errorf("%v, want %s", out.Attrs, want)
	}
	if n := w.pulled(t, out.Attrs); n != 2 {
		t.Errorf("%d blobs", n)
	}
	// A token is asked for once, and is in no call of the service.
	if n := w.Server.Count("ECR.GetAuthorizationToken"); n != 1 {
		t.Errorf("asked %d times for a token", n)
	}
	// The body is as https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_PutImage.html has it.
	members := awstest.LoadModel(t, "ecr")
	for _, c := range w.Server.Calls() {
		if c.Name() != "ECR.PutImage" {
			continue
		}
		body := obj{}
		if err := json.Unmarshal(c.Body, &body); err != nil {
			t.Fatal(err)
		}
		for member := range body {
			if _, ok := members.Shapes[members.Operations["PutImage"].Input.Shape].Members[member]; !ok {
				t.Errorf("PutImage takes no %s", member)
			}
		}
		if body["repositoryName"] != "shop/web" || body["imageDigest"] != digest || body["imageManifestMediaType"] != "application/vnd.oci.image.manifest.v1+json" {
			t.Errorf("%s", c.Body)
		}
	}
	w.Server.Reset()
	if again := w.Settled(t, props, &out); again.Identity != out.Identity || len(w.Server.Calls()) != 1 {
		t.Errorf("%s, then %s by %v", out.Identity, again.Identity, w.Server.Calls())
	}
	job := w.Job(t, w.Kind, nil, nil)
	job.Last, job.ID = out.Attrs, out.Identity
	if err := w.Kind.Delete(t.Context(), job); err != nil || len(w.images(t)) != 0 {
		t.Errorf("%v, left %v", err, w.images(t))
	}
}

// TestCutPush: a run that ends when the layers are there and the image is not leaves nothing that is an image. The next one, without any
// state, uploads nothing again.
func TestCutPush(t *testing.T) {
	w := newImageWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held := w.Server.Inject(awstest.Fault{Op: "ECR.PutImage", Kind: awstest.Hold})
	ended := make(chan error)
	job := w.Job(t, w.Kind, imageProps(nil), nil)
	go func() {
		_, err := w.Kind.Settle(ctx, job, reconcile.Hooks{})
		ended <- err
	}()
	<-held.Reached()
	cancel()
	if err := <-ended; err == nil {
		t.Error("it is said to be done")
	}
	if all := w.images(t); len(all) != 0 {
		t.Errorf("%v", all)
	}
	w.Server.Reset()
	out := w.Settled(t, imageProps(nil), nil)
	if wrote := w.Wrote(); !slices.Equal(wrote, []string{"ECR.PutImage"}) {
		t.Errorf("wrote %v", wrote)
	}
	w.pulled(t, out.Attrs)
}

func TestImageFaults(t *testing.T) {
	k := kindtest.Quick(imageKind, 300*time.Millisecond)
	fresh := func(t *testing.T) *world {
		t.Helper()
		w := newImageWorld(t)
		w.Kind = k
		return w
	}
	const whole = 2*3 + 2 // three calls for each of two blobs, and two tags
	awstest.Faults(t, fresh, k, imageProps(obj{"tags": list{"latest"}}), (*world).images, awstest.Broken{
		{Name: "the image is not answered", Fault: awstest.Fault{Op: "ECR.PutImage", Kind: awstest.DropAnswer}, Wrote: whole},
		{Name: "the image never arrives", Fault: awstest.Fault{Op: "ECR.PutImage", Kind: awstest.CutBefore}, Wrote: whole + 1},
		{Name: "a layer is not answered", Fault: awstest.Fault{Op: "ECR.CompleteLayerUpload", Kind: awstest.DropAnswer}, Wrote: whole},
		{Name: "a layer never arrives", Fault: awstest.Fault{Op: "ECR.CompleteLayerUpload", Kind: awstest.CutBefore}, Wrote: whole + 3},
		{Name: "uploads are throttled", Fault: awstest.Fault{Op: "ECR.InitiateLayerUpload", Kind: awstest.Throttle}, Wrote: whole + 1},
		{Name: "the registry is broken", Fault: awstest.Fault{Op: "ECR.UploadLayerPart", Kind: awstest.ServerError}, Wrote: whole + 2},
		{Name: "layers are lost", Fault: awstest.Fault{Op: "ECR.PutImage", Kind: awstest.Refuse, Code: "LayersNotFoundException"}, Wrote: whole + 1},
		{Name: "no token is given", Fault: awstest.Fault{Op: "ECR.GetAuthorizationToken", Kind: awstest.Throttle}, Wrote: whole},
		{Name: "a read is late", Fault: awstest.Fault{Op: "ECR.DescribeImages", Kind: awstest.ServerError}, Wrote: whole},
	})
}

func TestImageDenied(t *testing.T) {
	awstest.Denied(t, newImageWorld, imageProps(obj{"tags": list{"latest"}}), "ECR.DescribeImages", "ECR.GetAuthorizationToken", "ECR.InitiateLayerUpload",
		"ECR.UploadLayerPart", "ECR.CompleteLayerUpload", "ECR.PutImage", "ECR.BatchGetImage")
}

func TestImageElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newImageWorld, imageProps(obj{"tags": list{"latest"}}), "111122223333.dkr.ecr.eu-west-9.amazonaws.com/shop/web:v1", func(identity string) []string {
		repository, digest, _ := strings.Cut(identity, "@")
		repository, tag, _ := strings.Cut(repository, ":")
		return []string{repository + "@" + digest, repository + ":" + tag, "shop/web@" + digest, "shop/web:" + tag}
	})
}

// TestOthersTags: what others tag stays, with the image, when the resource goes; and the resource's own tag is what makes it the resource's.
func TestOthersTags(t *testing.T) {
	w := newImageWorld(t)
	out := w.Settled(t, imageProps(obj{"tags": list{"latest"}}), nil)
	digest := out.Attrs["digest"].(string)
	w.tag(t, "shop/web", digest, "theirs")
	w.Server.Reset()
	out = w.Settled(t, imageProps(nil), &out)
	if all := w.images(t); len(all) != 1 || all[0].(obj)["tags"] != "theirs" || !slices.Equal(w.Wrote(), []string{"ECR.BatchDeleteImage"}) {
		t.Errorf("%v by %v", all, w.Wrote())
	}
	job := w.Job(t, w.Kind, nil, nil)
	job.Last, job.ID = out.Attrs, out.Identity
	if err := w.Kind.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if all := w.images(t); len(all) != 1 || all[0].(obj)["tags"] != "theirs" {
		t.Errorf("left %v", all)
	}
	if err := w.Kind.Delete(t.Context(), job); err != nil || len(w.images(t)) != 1 {
		t.Errorf("deleted twice: %v, %v", err, w.images(t))
	}
	// Somebody takes away the own tag: it is given again, without any upload.
	out = w.Settled(t, imageProps(nil), nil)
	w.untag(t, "shop/web", "shop-test-web")
	w.Server.Reset()
	if again := w.Settled(t, imageProps(nil), &out); again.Identity != out.Identity || !slices.Equal(w.Wrote(), []string{"ECR.PutImage"}) {
		t.Errorf("%s by %v", again.Identity, w.Wrote())
	}
}

// TestMovedTag: a tag that another image has is moved. A repository with immutable tags refuses that, and says what to do.
func TestMovedTag(t *testing.T) {
	w := newImageWorld(t)
	first := w.Settled(t, imageProps(obj{"tags": list{"latest"}}), nil)
	w.Address = "api"
	second := imageProps(obj{"source": obj{"layout": "two"}, "tags": list{"latest"}})
	refused := w.Server.Inject(awstest.Fault{Op: "ECR.PutImage", Kind: awstest.Refuse, Code: "ImageTagAlreadyExistsException", Times: -1, When: func(c awstest.Call) bool {
		return strings.Contains(string(c.Body), `"latest"`)
	}})
	_, err := w.Kind.Settle(t.Context(), w.Job(t, w.Kind, second, nil), reconcile.Hooks{})
	if w.Cloud.Classify(err) != reconcile.Invalid || !strings.Contains(strings.Join(reconcile.Hints(err), "; "), "declare another tag") {
		t.Errorf("%v, %v", w.Cloud.Classify(err), err)
	}
	refused.Disarm()
	w.Settled(t, second, nil)
	for _, x := range w.images(t) {
		if i := x.(obj); (i["digest"] == first.Attrs["digest"]) == (i["tags"] == "latest") {
			t.Errorf("%v", x)
		}
	}
}

// TestImageRefused finds what ECR would refuse, before any call.
func TestImageRefused(t *testing.T) {
	kindtest.Refuses(t, imageKind.Erase(), kindtest.Refusals{
		{imageProps(obj{"source": obj{}}), "exactly one"},
		{imageProps(obj{"source": obj{"go": "./web", "from": "alpine:3"}}), "exactly one"},
		{imageProps(obj{"source": obj{"from": "alpine:3", "user": "1"}}), "user"},
		{imageProps(obj{"source": obj{"go": "./web", "ports": list{int64(0)}}}), "from 1 to 65535"},
		{imageProps(obj{"repository": "shop/web:v1"}), "without a registry"},
		{imageProps(obj{"tags": list{"-x"}}), "letters, digits"},
		{imageProps(obj{"architecture": "riscv"}), "x86_64"},
		{imageProps(obj{"tags": list{"v1.2-rc_3"}}), ""},
	})
}

// TestSecretInImage refuses to push a secret, before anything is uploaded.
func TestSecretInImage(t *testing.T) {
	w := newImageWorld(t)
	job := w.Job(t, w.Kind, imageProps(obj{"source": obj{"go": "./hello", "env": obj{"KEY": "sesame"}}}), nil)
	job.Secret = map[tree.Path]bool{"source.env.KEY": true}
	_, err := w.Kind.Settle(t.Context(), job, reconcile.Hooks{})
	if !errors.Is(err, errSecret) || strings.Contains(err.Error(), "sesame") || len(w.Wrote()) != 0 {
		t.Errorf("%v, wrote %v", err, w.Wrote())
	}
}

// TestNotBuilt: what is not known yet is not built.
func TestNotBuilt(t *testing.T) {
	table := imageTable
	for _, p := range []obj{
		{"source": obj{"layout": "⟦built.path⟧"}},
		{"source": obj{"go": "./hello", "env": obj{"QUEUE": "⟦queue.url⟧"}}},
	} {
		assets, err := prepareImage(t.Context(), kind.Workspace{Dir: t.TempDir(), Cache: t.TempDir()}, kindtest.PropsOf(t, table, imageProps(p)))
		if err != nil || assets != nil {
			t.Errorf("%v, %v", assets, err)
		}
	}
}
