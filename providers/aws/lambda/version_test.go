package lambda

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// published makes worlds in ministack, which keeps versions and provisioned concurrency as they are documented, with functions
// of others.
func published(k reconcile.Any, isReady bool) func(*testing.T) *world {
	return func(t *testing.T) *world {
		t.Helper()
		server := awstest.StartMinistack(t)
		like := startLikeAWS(t, server)
		w := &world{awstest.NewWorld(t, server, like, sdk.NewFromConfig, k, "live"), like, like.Outside(t)}
		w.Located(t, account)
		for _, name := range []string{"theirs", "another"} {
			if _, err := w.Others.CreateFunction(t.Context(), &sdk.CreateFunctionInput{
				FunctionName: &name, Role: new(role("worker")), Runtime: "python3.14", Handler: new("main.handler"), Code: &types.FunctionCode{ZipFile: zipOf(t, name)},
			}); err != nil {
				t.Fatal(err)
			}
		}
		if isReady {
			w.ready(t, "theirs")
		}
		server.Reset()
		return w
	}
}

// ready waits until ministack has made or changed a function, which takes half a second of its own clock.
func (w *world) ready(t kindtest.T, name string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := w.Others.GetFunction(context.Background(), &sdk.GetFunctionInput{FunctionName: &name})
		if err != nil {
			t.Fatalf("%v", err)
		}
		if c := out.Configuration; c.State == types.StateActive && c.LastUpdateStatus == types.LastUpdateStatusSuccessful {
			return
		}
		<-tick.C
	}
}

// describe changes the configuration of a function as somebody else would.
func (w *world) describe(t kindtest.T, name, description string) {
	t.Helper()
	if _, err := w.Others.UpdateFunctionConfiguration(context.Background(), &sdk.UpdateFunctionConfigurationInput{
		FunctionName: &name, Description: &description,
	}); err != nil {
		t.Fatalf("%v", err)
	}
	w.ready(t, name)
}

// numbers are the versions of a function as others see them, the newest first.
func (w *world) numbers(t kindtest.T, name string) []int {
	t.Helper()
	all, err := versionsOf(context.Background(), w.Others, name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return all
}

// newest are the newest versions of all functions that have one.
func (w *world) newest(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, name := range []string{"theirs", "another"} {
		if numbers := w.numbers(t, name); len(numbers) > 0 {
			live, err := snapshot(context.Background(), w.Others, name, new(strconv.Itoa(numbers[0])))
			if err != nil {
				t.Fatalf("%v", err)
			}
			all = append(all, obj{"function": name, "code": live.attrs.CodeDigest})
		}
	}
	return all
}

func versionProps(more obj) obj {
	return with(obj{"function": functionNamed("theirs"), "follows": "digest"}, more)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	ws, changes := awstest.Worlds[*world]{}, 0
	kindtest.Run(t, kindtest.Derive(versionTable, kindtest.Suite{
		Kind: versionKind.Erase(), World: ws.Make(published(versionKind.Erase(), true), (*world).newest), Base: versionProps(nil), Fault: fault,
		Variants: []kindtest.Variant{{Name: "kept", Props: versionProps(obj{"follows": "another", "keep": int64(2)})}},
		Hands: map[tree.Path]kindtest.Hand{
			"": ws.Hand(func(w *world, t kindtest.T, _ kindtest.Edited) error {
				for _, number := range w.numbers(t, "theirs") {
					if err := deleteVersion(context.Background(), w.Others, "theirs", strconv.Itoa(number)); err != nil {
						return err
					}
				}
				return nil
			}),
			"follows": ws.Hand(func(w *world, t kindtest.T, _ kindtest.Edited) error {
				changes++
				w.describe(t, "theirs", "change "+strconv.Itoa(changes))
				return nil
			}),
		},
		Silent: map[tree.Path]string{"follows": "it says when a version is published; what is published is compared", "keep": "it counts when a version is published"},
		Steady: map[tree.Path]string{"keep": "it counts when a version is published"},
	}))
}

// TestVersionCalls: a version is published once, and again when the function has changed: in its code, or in its configuration.
func TestVersionCalls(t *testing.T) {
	t.Parallel()
	w := published(versionKind.Erase(), true)(t)
	out := w.Settled(t, versionProps(nil), nil)
	want := []string{"Lambda.POST /2015-03-31/functions/theirs/versions"}
	if have := w.Wrote(); !slices.Equal(have, want) || out.Attrs["version"] != "1" || out.Attrs["arn"] != functionNamed("theirs")+":1" {
		t.Errorf("it makes %v, and is %v", have, out.Attrs)
	}
	w.Server.Reset()
	out = w.Settled(t, versionProps(obj{"follows": "another"}), &out)
	if have := w.Wrote(); len(have) > 0 || out.Attrs["version"] != "1" {
		t.Errorf("the function is as it was, and it makes %v", have)
	}
	if n := len(w.Server.Calls()); n != 3 {
		t.Errorf("a look makes %d calls, want 3", n)
	}
	if _, err := w.Others.UpdateFunctionCode(t.Context(), &sdk.UpdateFunctionCodeInput{FunctionName: new("theirs"), ZipFile: zipOf(t, "other")}); err != nil {
		t.Fatal(err)
	}
	w.ready(t, "theirs")
	out = w.Settled(t, versionProps(nil), &out)
	w.describe(t, "theirs", "changed")
	out = w.Settled(t, versionProps(nil), &out)
	if out.Attrs["version"] != "3" || !slices.Equal(w.numbers(t, "theirs"), []int{3, 2, 1}) {
		t.Errorf("it is %v of %v", out.Attrs, w.numbers(t, "theirs"))
	}
	// What is published already is found without state, also what others published.
	if again := w.Settled(t, versionProps(nil), nil); again.Created || again.Attrs["version"] != "3" {
		t.Errorf("%+v", again)
	}
}

// TestKeep: older versions go when another is published, but those that an alias leads to.
func TestKeep(t *testing.T) {
	t.Parallel()
	w := published(versionKind.Erase(), true)(t)
	out := w.Settled(t, versionProps(nil), nil)
	for _, alias := range []sdk.CreateAliasInput{
		{Name: new("old"), FunctionVersion: new("1")},
		{Name: new("split"), FunctionVersion: new("4"), RoutingConfig: &types.AliasRoutingConfiguration{AdditionalVersionWeights: map[string]float64{"2": 0.5}}},
	} {
		alias.FunctionName = new("theirs")
		if _, err := w.Others.CreateAlias(t.Context(), &alias); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range [][]int{{2, 1}, {3, 2, 1}, {4, 3, 2, 1}, {5, 4, 2, 1}, {6, 5, 4, 2, 1}} {
		w.describe(t, "theirs", strconv.Itoa(i))
		out = w.Settled(t, versionProps(obj{"keep": int64(1)}), &out)
		if have := w.numbers(t, "theirs"); !slices.Equal(have, want) {
			t.Errorf("after version %v there are %v, want %v", out.Attrs["version"], have, want)
		}
	}
}

// TestVersionDeleted: all published versions are deleted, and the function stays.
func TestVersionDeleted(t *testing.T) {
	t.Parallel()
	w := published(versionKind.Erase(), true)(t)
	out := w.Settled(t, versionProps(nil), nil)
	w.describe(t, "theirs", "changed")
	out = w.Settled(t, versionProps(nil), &out)
	for range 2 {
		if err := w.Kind.Delete(t.Context(), w.Job(t, w.Kind, nil, &out)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Others.GetFunction(t.Context(), &sdk.GetFunctionInput{FunctionName: new("theirs")}); err != nil || len(w.numbers(t, "theirs")) > 0 {
		t.Errorf("%v, with versions %v", err, w.numbers(t, "theirs"))
	}
	if err := deleteVersion(t.Context(), w.Others, "theirs", ""); err == nil {
		t.Error("without a number the function would be deleted")
	}
}

// TestVersionFails: a version that Lambda could not make is an error with its reason, and one that it is making is waited for.
func TestVersionFails(t *testing.T) {
	t.Parallel()
	live := liveVersion{newest: liveFunction{status: status{state: types.StatePending, why: "it takes a snapshot"}}}
	if versionKind.Status(live) == kind.Ready() {
		t.Error("it is ready while Lambda makes it")
	}
	w := published(versionKind.Erase(), true)(t)
	out := w.Settled(t, versionProps(nil), nil)
	w.like.looks(obj{"State": "Failed", "StateReason": "the snapshot failed"})
	look, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, versionProps(nil), &out))
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != statusPath {
		t.Errorf("%+v, %v", look.Steps, err)
	}
}

// TestVersionFaults breaks each call of a creation: there is one version in the end.
func TestVersionFaults(t *testing.T) {
	t.Parallel()
	k := kindtest.Quick(versionKind, 300*time.Millisecond)
	const publish, read = "Lambda.POST /*/functions/theirs/versions", "Lambda.GET /*/functions/theirs"
	awstest.Faults(t, published(k, true), k, versionProps(nil), (*world).newest, awstest.Broken{
		{"the answer is lost", awstest.Fault{Op: publish, Kind: awstest.DropAnswer}, 1},
		{"it never arrives", awstest.Fault{Op: publish, Kind: awstest.CutBefore}, 2},
		{"it is throttled", awstest.Fault{Op: publish, Kind: awstest.Throttle, Times: 2}, 3},
		{"the function is being changed", awstest.Fault{Op: publish, Kind: awstest.Refuse, Code: "ResourceConflictException", Times: 2}, 3},
		{"reads are throttled", awstest.Fault{Op: read, Kind: awstest.Throttle, Times: 2}, 1},
		{"versions are not listed at first", awstest.Fault{Op: read + "/versions", Kind: awstest.ServerError}, 1},
	})
}

func TestVersionDenied(t *testing.T) {
	t.Parallel()
	awstest.Denied(t, published(versionKind.Erase(), true), versionProps(nil), "Lambda.POST /*/functions/theirs/versions", "Lambda.GET /*/functions/theirs/versions")
}

func aliasProps(more obj) obj {
	return with(obj{"function": functionNamed("theirs"), "name": "live", "version": "1"}, more)
}

// aliases are all of the world as others see them.
func (w *world) aliases(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, name := range []string{"theirs", "another"} {
		out, err := w.Others.ListAliases(context.Background(), &sdk.ListAliasesInput{FunctionName: &name})
		if err != nil {
			t.Fatalf("%v", err)
		}
		for _, a := range out.Aliases {
			provisioned, err := w.Others.GetProvisionedConcurrencyConfig(context.Background(), &sdk.GetProvisionedConcurrencyConfigInput{FunctionName: &name, Qualifier: a.Name})
			if err != nil && !aws.IsAbsent(err) {
				t.Fatalf("%v", err)
			}
			a.RevisionId = nil
			seen := obj{"alias": plain(t, a)}
			if err == nil {
				seen["provisioned"] = *provisioned.RequestedProvisionedConcurrentExecutions
			}
			all = append(all, seen)
		}
	}
	return all
}

func aliasHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hand := func(do func(ctx context.Context, c *sdk.Client, alias *string, p AliasProps) error) kindtest.Hand {
		return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			return do(context.Background(), w.Others, new(str(to.Attrs["name"])), kindtest.PropsOf(t, aliasTable, to.Props))
		})
	}
	lead := hand(func(ctx context.Context, c *sdk.Client, alias *string, p AliasProps) error {
		_, err := c.UpdateAlias(ctx, &sdk.UpdateAliasInput{
			FunctionName: new("theirs"), Name: alias, FunctionVersion: &p.Version, Description: &p.Description,
			RoutingConfig: &types.AliasRoutingConfiguration{AdditionalVersionWeights: weightsOf(p)},
		})
		return err
	})
	return map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			_, err := w.Others.DeleteAlias(t.Context(), &sdk.DeleteAliasInput{FunctionName: new("theirs"), Name: new(str(to.Attrs["name"]))})
			return err
		}),
		"version": lead, "description": lead, "weights": lead,
		"provisionedConcurrency": hand(func(ctx context.Context, c *sdk.Client, alias *string, p AliasProps) error {
			if p.ProvisionedConcurrency == nil {
				_, err := c.DeleteProvisionedConcurrencyConfig(ctx, &sdk.DeleteProvisionedConcurrencyConfigInput{FunctionName: new("theirs"), Qualifier: alias})
				return err
			}
			_, err := c.PutProvisionedConcurrencyConfig(ctx, &sdk.PutProvisionedConcurrencyConfigInput{
				FunctionName: new("theirs"), Qualifier: alias, ProvisionedConcurrentExecutions: new(int32(*p.ProvisionedConcurrency)),
			})
			return err
		}),
	}
}

func TestAlias(t *testing.T) {
	t.Parallel()
	ws := awstest.Worlds[*world]{}
	kindtest.Run(t, kindtest.Derive(aliasTable, kindtest.Suite{
		Kind: aliasKind.Erase(), World: ws.Make(published(aliasKind.Erase(), false), (*world).aliases), Base: aliasProps(nil), Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "shifting", Props: aliasProps(obj{"version": "2", "description": "half way", "weights": obj{"3": 0.25}, "provisionedConcurrency": int64(5)})},
			{Name: "latest", Props: aliasProps(obj{"version": "$LATEST"})},
			{Name: "other name", Props: aliasProps(obj{"name": "beta"})},
		},
		Hands:  aliasHands(ws),
		Others: map[tree.Path][]any{"version": {"7", "8"}, "weights.*": {0.5}},
	}))
}

// TestAliasCalls: the version and its share change by one call; provisioned concurrency comes after a version and goes before it.
func TestAliasCalls(t *testing.T) {
	t.Parallel()
	w := published(aliasKind.Erase(), false)(t)
	const of = "/2015-03-31/functions/theirs/aliases"
	const concurrency = "/2019-09-30/functions/theirs/provisioned-concurrency"
	out := w.Settled(t, aliasProps(obj{"version": "$LATEST"}), nil)
	for _, step := range []struct {
		props obj
		wrote []string
	}{
		{aliasProps(obj{"version": "2", "provisionedConcurrency": int64(3)}), []string{"Lambda.PUT " + of + "/live", "Lambda.PUT " + concurrency}},
		{aliasProps(obj{"version": "3", "weights": obj{"2": 0.9}, "description": "careful", "provisionedConcurrency": int64(3)}), []string{"Lambda.PUT " + of + "/live"}},
		{aliasProps(obj{"version": "$LATEST"}), []string{"Lambda.DELETE " + concurrency, "Lambda.PUT " + of + "/live"}},
	} {
		w.Server.Reset()
		out = w.Settled(t, step.props, &out)
		if have := w.Wrote(); !slices.Equal(have, step.wrote) {
			t.Errorf("%v makes %v, want %v", step.props, have, step.wrote)
		}
	}
}

// TestProvisioning: an alias is not ready while environments are initialized, and what failed is tried once more in a run.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	live := liveAlias{provision: types.ProvisionedConcurrencyStatusEnumInProgress}
	if aliasKind.Status(live) == kind.Ready() || aliasKind.Status(liveAlias{provision: types.ProvisionedConcurrencyStatusEnumReady}) != kind.Ready() {
		t.Error("it is ready when its environments are")
	}
}

func TestAliasFaults(t *testing.T) {
	t.Parallel()
	k := kindtest.Quick(aliasKind, 300*time.Millisecond)
	const create, read = "Lambda.POST /*/functions/theirs/aliases", "Lambda.GET /*/functions/theirs/aliases/live"
	awstest.Faults(t, published(k, false), k, aliasProps(obj{"provisionedConcurrency": int64(2)}), (*world).aliases, awstest.Broken{
		{"the answer is lost", awstest.Fault{Op: create, Kind: awstest.DropAnswer}, 2},
		{"it never arrives", awstest.Fault{Op: create, Kind: awstest.CutBefore}, 3},
		{"it is throttled", awstest.Fault{Op: create, Kind: awstest.Throttle, Times: 2}, 4},
		{"reads are throttled", awstest.Fault{Op: read, Kind: awstest.Throttle, Times: 2}, 2},
		{"concurrency fails", awstest.Fault{Op: "Lambda.PUT /*/functions/theirs/provisioned-concurrency", Kind: awstest.ServerError}, 3},
	})
}

// TestAliasDenied: that the concurrency may not be read is not that there is none.
func TestAliasDenied(t *testing.T) {
	t.Parallel()
	awstest.Denied(t, published(aliasKind.Erase(), false), aliasProps(nil), "Lambda.POST /*/functions/theirs/aliases", "Lambda.GET /*/functions/theirs/provisioned-concurrency")
}

// TestAliasWithoutState: an alias of the name is found without state, wherever it leads, and led to what is declared.
func TestAliasWithoutState(t *testing.T) {
	t.Parallel()
	w := published(aliasKind.Erase(), false)(t)
	if _, err := w.Others.CreateAlias(t.Context(), &sdk.CreateAliasInput{FunctionName: new("theirs"), Name: new("live"), FunctionVersion: new("9")}); err != nil {
		t.Fatal(err)
	}
	if out := w.Settled(t, aliasProps(nil), nil); out.Created || out.Attrs["version"] != "1" {
		t.Errorf("%+v", out)
	}
}

// TestNotYet is about a function that is only known later: nothing is asked.
func TestNotYet(t *testing.T) {
	t.Parallel()
	later := token.Plain.Ref(token.Ref{Address: "worker", Path: "arn"})
	for _, c := range []struct {
		kind  reconcile.Any
		props obj
	}{{versionKind.Erase(), versionProps(obj{"function": later})}, {aliasKind.Erase(), aliasProps(obj{"function": later})}} {
		w := published(c.kind, false)(t)
		look, err := c.kind.Look(t.Context(), w.Job(t, c.kind, c.props, nil))
		if err != nil || !look.Absent || len(w.Server.Calls()) != 0 {
			t.Errorf("%+v (%v), asked %v", look, err, w.Server.Calls())
		}
	}
}

// TestUnqualified finds what is no function, before any call.
func TestUnqualified(t *testing.T) {
	for _, function := range []string{"theirs", functionNamed("theirs:1"), queue("orders")} {
		kindtest.Refuses(t, versionKind.Erase(), kindtest.Refusals{{versionProps(obj{"function": function}), "want the ARN of a function"}})
		kindtest.Refuses(t, aliasKind.Erase(), kindtest.Refusals{{aliasProps(obj{"function": function}), "want the ARN of a function"}})
	}
	kindtest.Refuses(t, aliasKind.Erase(), kindtest.Refusals{
		{aliasProps(obj{"name": "7"}), "no number"},
		{aliasProps(obj{"name": "a b"}), "no number"},
		{aliasProps(obj{"version": "newest"}), "want the number of a version"},
		{aliasProps(obj{"version": "$LATEST", "provisionedConcurrency": int64(1)}), "published versions alone"},
		{aliasProps(obj{"version": "$LATEST", "weights": obj{"1": 0.5}}), "published versions alone"},
		{aliasProps(obj{"weights": obj{"1": 0.5}}), "another version"},
		{aliasProps(obj{"weights": obj{"2": 1.5}}), "from 0 to 1"},
		{aliasProps(obj{"weights": obj{"2": 0.5, "3": 0.5}}), "weights"},
		{aliasProps(obj{"weights": obj{"2": 0.1}, "provisionedConcurrency": int64(1)}), ""},
	})
}

// TestGoldenAlias has the members of https://docs.aws.amazon.com/lambda/latest/api/API_CreateAlias.html
func TestGoldenAlias(t *testing.T) {
	awstest.GoldenStruct(t, aliasTable, aliasProps(obj{"version": "2", "description": "half way", "weights": obj{"1": 0.25}}), &sdk.CreateAliasInput{
		Name: new("live"), FunctionVersion: new("2"), Description: new("half way"),
		RoutingConfig: &types.AliasRoutingConfiguration{AdditionalVersionWeights: map[string]float64{"1": 0.25}},
	})
}
