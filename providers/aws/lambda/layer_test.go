package lambda

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func newLayerWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.withLayers(t)
	for _, name := range []string{"tools", "extra"} { // which only functions need
		if _, err := w.Others.DeleteLayerVersion(t.Context(), &sdk.DeleteLayerVersionInput{LayerName: &name, VersionNumber: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
	}
	w.Kind, w.Address = layerKind.Erase(), "tools"
	w.Server.Reset()
	return w
}

// layers are the newest versions of all as others see them, and how many there are.
func (w *world) layers(t kindtest.T) []any {
	t.Helper()
	ctx := context.Background()
	out, err := w.Others.ListLayers(ctx, &sdk.ListLayersInput{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	var all []any
	for _, l := range out.Layers {
		if sdkaws.ToString(l.LayerName) == "" {
			continue // moto shows one without versions as nothing
		}
		versions, err := layerVersions(ctx, w.Others, *l.LayerName)
		if err != nil {
			t.Fatalf("%v", err)
		}
		v, err := w.Others.GetLayerVersion(ctx, &sdk.GetLayerVersionInput{LayerName: l.LayerName, VersionNumber: &versions[0]})
		if err != nil {
			t.Fatalf("%v", err)
		}
		slices.Sort(v.CompatibleRuntimes)
		all = append(all, plain(t, obj{
			"code": v.Content.CodeSha256, "description": v.Description, "runtimes": fmt.Sprint(v.CompatibleRuntimes), "license": v.LicenseInfo,
			"architectures": fmt.Sprint(len(v.CompatibleArchitectures)), "versions": len(versions),
		}))
	}
	return all
}

func layerProps(more obj) obj {
	return with(obj{"code": obj{"directory": "src"}, "runtimes": list{"python3.14", "python3.13"}}, more)
}

// layerHands publish another version as somebody else would, and delete the ones before it.
func layerHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	drop := func(w *world, name string, but int64) error {
		versions, err := layerVersions(context.Background(), w.Others, name)
		if err != nil {
			return err
		}
		return dropLayers(context.Background(), w.Others, name, slices.DeleteFunc(versions, func(v int64) bool { return v == but }))
	}
	publish := func(t kindtest.T, w *world, to kindtest.Edited) (name string, version int64, err error) {
		t.Helper()
		p := kindtest.PropsOf(t, layerTable, to.Props)
		assets, err := prepareLayer(t.Context(), kind.Workspace{Dir: w.Dir, Cache: t.TempDir()}, p)
		if err == nil {
			name = str(to.Attrs["name"])
			version, err = publishLayer(t.Context(), w.Others, assets, name, p)
		}
		return name, version, err
	}
	whole := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		name, version, err := publish(t, w, to)
		if err != nil {
			return err
		}
		return drop(w, name, version)
	})
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, _ kindtest.T, to kindtest.Edited) error { return drop(w, str(to.Attrs["name"]), 0) }),
	}
	for _, path := range []tree.Path{"code.directory", "code.zip", "description", "runtimes", "architectures", "license"} {
		hands[path] = whole
	}
	return hands
}

func TestLayer(t *testing.T) {
	t.Parallel()
	ws := awstest.Worlds[*world]{}
	kindtest.Run(t, kindtest.Suite{
		Kind: layerKind.Erase(), World: ws.Make(newLayerWorld, (*world).layers), Base: layerProps(nil), Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: layerProps(obj{
				"code": obj{"directory": "other"}, "runtimes": list{"nodejs24.x"}, "architectures": list{"x86_64", "arm64"}, "description": "of the shop", "license": "MIT",
			})},
			{Name: "archive", Props: layerProps(obj{"name": "Tools_1", "code": obj{"zip": "one.zip"}})},
			{Name: "in S3", Props: layerProps(obj{"code": obj{"s3": obj{"bucket": "code-" + account, "key": "one.zip", "version": "null"}}})},
			{Name: "kept", Props: layerProps(obj{"keepOlder": true})},
		},
		Hands:  layerHands(ws),
		Others: map[tree.Path][]any{"code.directory": {"other", "src"}, "code.zip": {"two.zip"}, "runtimes.*": {"python3.12"}},
		Steady: map[tree.Path]string{
			"name": "a layer keeps its name for life", "code.s3": "Lambda does not show where an archive came from",
			"keepOlder": "it counts where there are older versions; TestOlderLayers has some",
		},
		Silent:     map[tree.Path]string{"keepOlder": "it counts where there are older versions; TestOlderLayers has some"},
		Unreadable: map[tree.Path]string{"code": "Lambda does not show the sources of an archive"},
	})
}

// TestOlderLayers checks that a change is another version. The older ones are deleted unless they are kept, also those
// that others published.
func TestOlderLayers(t *testing.T) {
	t.Parallel()
	w := newLayerWorld(t)
	numbers := func() []int64 {
		all, err := layerVersions(t.Context(), w.Others, "shop-test-tools")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	out := w.Settled(t, layerProps(nil), nil)
	if n := len(w.Server.Calls()); len(w.Wrote()) != 1 || out.Attrs["version"] != "1" || out.Attrs["arn"] != layer("shop-test-tools") {
		t.Errorf("%d calls, %v, %v", n, w.Wrote(), out.Attrs)
	}
	w.Server.Reset()
	if out = w.Settled(t, layerProps(nil), &out); len(w.Server.Calls()) != 2 {
		t.Errorf("a look makes %v", w.Server.Calls())
	}
	for _, step := range []struct {
		props obj
		want  []int64
	}{
		{layerProps(obj{"code": obj{"directory": "other"}, "keepOlder": true}), []int64{2, 1}},
		{layerProps(obj{"code": obj{"directory": "src"}, "keepOlder": true}), []int64{3, 2, 1}},
		{layerProps(nil), []int64{3}},
		{layerProps(obj{"description": "one more"}), []int64{4}},
	} {
		out = w.Settled(t, step.props, &out)
		if have := numbers(); !slices.Equal(have, step.want) || out.Attrs["version"] != fmt.Sprint(step.want[0]) {
			t.Errorf("%v: version %v of %v, want %v", step.props, out.Attrs["version"], have, step.want)
		}
	}
}

func TestLayerFaults(t *testing.T) {
	t.Parallel()
	k := kindtest.Quick(layerKind, 300*time.Millisecond)
	fresh := func(t *testing.T) *world {
		t.Helper()
		w := newLayerWorld(t)
		w.Kind = k
		return w
	}
	const publish, read = "Lambda.POST /*/layers/shop-test-tools/versions", "Lambda.GET /*/layers/shop-test-tools/versions"
	awstest.Faults(t, fresh, k, layerProps(nil), (*world).layers, awstest.Broken{
		{"the answer is lost", awstest.Fault{Op: publish, Kind: awstest.DropAnswer}, 1},
		{"it never arrives", awstest.Fault{Op: publish, Kind: awstest.CutBefore}, 2},
		{"it is throttled", awstest.Fault{Op: publish, Kind: awstest.Throttle, Times: 2}, 3},
		{"reads fail", awstest.Fault{Op: read, Kind: awstest.ServerError}, 1},
		{"the version is not shown at first", awstest.Fault{Op: read + "/1", Kind: awstest.Throttle}, 1},
	})
}

func TestLayerDenied(t *testing.T) {
	t.Parallel()
	awstest.Denied(t, newLayerWorld, layerProps(nil), "Lambda.POST /*/layers/shop-test-tools/versions", "Lambda.GET /*/layers/shop-test-tools/versions")
}

func TestLayerElsewhere(t *testing.T) {
	t.Parallel()
	awstest.Elsewhere(t, newLayerWorld, layerProps(obj{"name": "tools"}), "arn:aws:lambda:eu-west-9:"+account+":layer:tools", func(string) []string { return []string{"tools"} })
}

func TestLayerRefused(t *testing.T) {
	kindtest.Refuses(t, layerKind.Erase(), kindtest.Refusals{
		{obj{"code": obj{}}, "exactly one"},
		{layerProps(obj{"code": obj{"zip": "one.zip", "directory": "src"}}), "exactly one"},
		{layerProps(obj{"architectures": list{"riscv"}}), "x86_64 or arm64"},
		{layerProps(nil), ""},
	})
}

// TestGoldenLayer has the members of https://docs.aws.amazon.com/lambda/latest/api/API_PublishLayerVersion.html without the content.
func TestGoldenLayer(t *testing.T) {
	awstest.GoldenStruct(t, layerTable, layerProps(obj{"architectures": list{"arm64"}, "description": "of the shop", "license": "MIT"}), &sdk.PublishLayerVersionInput{
		CompatibleRuntimes: []types.Runtime{"python3.14", "python3.13"}, CompatibleArchitectures: []types.Architecture{"arm64"},
		Description: new("of the shop"), LicenseInfo: new("MIT"),
	})
}
