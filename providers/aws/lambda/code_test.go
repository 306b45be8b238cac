package lambda

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

func prepared(t *testing.T, w *world, props obj) (reconcile.Asset, error) {
	t.Helper()
	kind := functionKind.Erase()
	job := &reconcile.Job{Address: "worker", Props: props, Cloud: w.Cloud, Dir: w.Dir}
	if err := kind.Decode(job); err != nil {
		t.Fatal(err)
	}
	err := kind.Prepare(t.Context(), job, reconcile.Workspace{Dir: w.Dir, Cache: t.TempDir()})
	return job.Assets[codeAsset], err
}

// TestGoCode compiles a program, sees that it changed, and what Lambda then has.
func TestGoCode(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), functionKind.Erase()
	props := obj{"code": obj{"go": "./worker"}, "role": role("worker"), "architecture": "arm64"}
	out := w.Settled(t, props, nil)
	archive, err := prepared(t, w, props)
	if err != nil || inHex(str(out.Attrs["codeDigest"])) != archive.Digest {
		t.Errorf("Lambda has %v, and %+v was built (%v)", out.Attrs["codeDigest"], archive, err)
	}
	files, err := zip.OpenReader(archive.Path)
	if err != nil || len(files.File) != 1 || files.File[0].Name != "bootstrap" || files.File[0].Mode() != 0o755 {
		t.Fatalf("the archive holds %+v (%v)", files, err)
	}
	defer files.Close()
	f, err := files.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	program, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if binary, err := elf.NewFile(bytes.NewReader(program)); err != nil || binary.Machine != elf.EM_AARCH64 {
		t.Errorf("bootstrap: %+v (%v)", binary, err)
	}
	w.write(t, "worker/main.go", "package main\n\nfunc main() { println(2) }\n")
	job := w.Job(t, kind, props, &out)
	job.OldAssets = map[string]reconcile.Asset{codeAsset: archive}
	look, err := kind.Look(t.Context(), job)
	if err == nil && (len(look.Steps) != 1 || look.Steps[0].Files == nil || !slices.Equal(look.Steps[0].Files.Modified, []string{"worker/main.go"}) || look.Steps[0].Files.Count != 2) {
		t.Errorf("the files that changed: %+v", look.Steps)
	}
	archive.Digest = "of another upload"
	job.OldAssets[codeAsset] = archive
	if look, err := kind.Look(t.Context(), job); err != nil || look.Steps[0].Files != nil {
		t.Errorf("files of what is not there any more: %+v (%v)", look.Steps, err)
	}
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != "code.go" || look.Steps[0].Call != "UpdateFunctionCode" {
		t.Errorf("the program changed: %v (%v)", look.Steps, err)
	}
	props["architecture"] = "x86_64"
	w.Server.Reset()
	w.Settled(t, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"Lambda.PUT /2015-03-31/functions/shop-test-worker/code"}) {
		t.Errorf("program and architecture changed, and %v are made", have)
	}
}

func TestCodeThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, "broken/main.go", "package main\n\nfunc main() { undefined() }\n")
	w.write(t, "broken.ts", "export const handler = (\n")
	if err := os.Truncate(filepath.Join(w.Dir, "one.zip"), mostZip+1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		props      obj
		want, hint string
	}{
		{obj{"code": obj{"go": "./broken"}}, "code.go: go build ./broken:\n# example.com/worker/broken\n./main.go:3:15: undefined: undefined", ""},
		{obj{"code": obj{"bundle": "broken.ts"}}, "code.bundle: bundle broken.ts:\nbroken.ts:2:1: Unexpected end of file", ""},
		{obj{"code": obj{"directory": "none"}, "runtime": "python3.14", "handler": "a.b"}, "code.directory: ", ""},
		{obj{"code": obj{"zip": "one.zip"}, "runtime": "python3.14", "handler": "a.b"}, "code.zip: the archive has 52.4 MB, and Lambda takes 50 MB in a call", "code.s3"},
	} {
		c.props["role"] = role("worker")
		_, err := prepared(t, w, c.props)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(strings.Join(reconcile.Hints(err), ""), c.hint) {
			t.Errorf("%v: %v, want %s (%v)", c.props["code"], err, c.want, reconcile.Hints(err))
		}
	}
}

// TestCodeIsWhatWasCompared is about an archive that changes between its comparison and its upload.
func TestCodeIsWhatWasCompared(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), functionKind.Erase()
	job := w.Job(t, kind, with(plainFunction(), obj{"code": obj{"zip": "one.zip"}}), nil)
	w.write(t, "one.zip", string(zipOf(t, "another")))
	_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if _, ok := errors.AsType[*asset.PathError](err); !ok || len(w.Wrote()) > 0 {
		t.Errorf("uploaded %v: %v", w.Wrote(), err)
	}
}

// TestCodeNotKnown is about code that is named by what is known later: nothing is built, and nothing is said of it.
func TestCodeNotKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	later := token.Plain.Ref(token.Ref{Address: "upstream", Path: "value"})
	for _, code := range []obj{{"go": later}, {"bundle": later}, {"zip": "a" + later}, {"go": "./worker", "ldFlags": later}} {
		props := obj{"code": code, "role": role("worker"), "runtime": "nodejs22.x", "handler": "a.b"}
		if archive, err := prepared(t, w, props); err != nil || archive.Path != "" {
			t.Errorf("%v: %+v (%v)", code, archive, err)
		}
	}
}

func TestFunctionCheck(t *testing.T) {
	t.Parallel()
	kindtest.Refuses(t, functionKind.Erase(), kindtest.Refusals{
		{with(plainFunction(), nil), ""},
		{with(plainFunction(), obj{"name": "a b"}), "want up to 64 letters"},
		{with(plainFunction(), obj{"code": obj{"go": "./a", "zip": "b"}}), "exactly one"},
		{with(plainFunction(), obj{"code": obj{"minify": true}}), "exactly one"},
		{with(plainFunction(), obj{"code": obj{"zip": "a", "tags": list{"x"}}}), "it counts with go alone"},
		{with(plainFunction(), obj{"code": obj{"zip": "a", "minify": true}}), "it counts with bundle alone"},
		{with(plainFunction(), obj{"code": obj{"image": "a"}, "runtime": nil, "handler": nil}), ""},
		{with(plainFunction(), obj{"code": obj{"image": "a"}}), "has its own"},
		{with(plainFunction(), obj{"runtime": nil}), "runtime: is required"},
		{with(plainFunction(), obj{"handler": nil}), "handler: is required"},
		{with(plainFunction(), obj{"code": obj{"bundle": "a.ts"}}), "runs on nodejs"},
		{with(plainFunction(), obj{"imageConfig": obj{"command": list{"a"}}}), "for code.image alone"},
		{with(plainFunction(), obj{"timeout": "1500ms"}), "whole seconds"},
		{with(plainFunction(), obj{"timeout": "16m"}), "15m"},
		{with(plainFunction(), obj{"memory": "128.5MiB"}), "memory"},
		{with(plainFunction(), obj{"memory": "129MB"}), "memory"},
		{with(plainFunction(), obj{"layers": list{"1", "2", "3", "4", "5", "6"}}), "at most 5"},
		{with(plainFunction(), obj{"fileSystems": list{obj{"accessPoint": "a", "path": "/mnt/a"}}}), "by vpc alone"},
		{with(plainFunction(), obj{"logging": obj{"systemLevel": "WARN"}}), "levels need JSON"},
		{with(plainFunction(), obj{"env": obj{"A": strings.Repeat("a", 5000)}}), "4 KiB"},
		{with(plainFunction(), obj{"tags": obj{"aws:x": "x"}}), "not for authors"},
		{with(plainFunction(), obj{"description": strings.Repeat("a", 257)}), "256"},
	})
}

func TestMappingCheck(t *testing.T) {
	t.Parallel()
	kindtest.Refuses(t, mappingKind.Erase(), kindtest.Refusals{
		{plainMapping(nil), ""},
		{kafka(nil), ""},
		{plainMapping(obj{"source": nil}), "either a source or servers"},
		{plainMapping(obj{"servers": list{"a"}}), "either a source or servers"},
		{plainMapping(obj{"batchWindow": "1500ms"}), "whole seconds"},
		{plainMapping(obj{"startingPosition": "LATEST"}), "streams, Kafka and DocumentDB alone"},
		{plainMapping(obj{"source": stream("a")}), "startingPosition: is required"},
		{plainMapping(obj{"source": stream("a"), "startingPosition": "AT_TIMESTAMP"}), "AT_TIMESTAMP needs it"},
		{plainMapping(obj{"source": stream("a"), "startingPosition": "AT_TIMESTAMP", "startingTimestamp": "today"}), "want a time"},
		{plainMapping(obj{"source": stream("a"), "startingPosition": "LATEST", "maxConcurrency": int64(2)}), "queues of SQS alone"},
		{kafka(obj{"consumerGroupId": nil}), "consumerGroupId: is required"},
		{kafka(obj{"documentDb": obj{"database": "a"}}), "DocumentDB alone"},
		{plainMapping(obj{"parallelization": int64(2)}), "streams alone"},
		{plainMapping(obj{"source": token.Plain.Ref(token.Ref{Address: "a", Path: "arn"}), "parallelization": int64(2)}), ""},
	})
}

// TestCodeLinkedAway: an archive that becomes a link out of the project after it was prepared is not opened.
func TestCodeLinkedAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	archive, err := prepared(t, w, obj{"code": obj{"zip": "one.zip"}, "role": role("worker"), "runtime": "python3.14", "handler": "main.handler"})
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.zip")
	if err := errors.Join(os.Rename(archive.Path, outside), os.Symlink(outside, archive.Path)); err != nil {
		t.Fatal(err)
	}
	_, err = content(localfile.With(t.Context(), localfile.Bounds{Root: w.Dir}), map[string]reconcile.Asset{codeAsset: archive})
	if _, refused := errors.AsType[*localfile.OutsideError](err); !refused {
		t.Errorf("%v", err)
	}
}
