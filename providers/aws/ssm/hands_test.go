package ssm

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hands change each aspect of a parameter as somebody else would. All but the tags are written by one call, which takes
// everything.
func (ws worlds) hands() map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			if _, err := ws[w.Dir].others.DeleteParameter(context.Background(), &sdk.DeleteParameterInput{Name: new(to.Attrs["name"].(string))}); err != nil {
				t.Fatalf("delete: %v", err)
			}
		},
		"tags": ws.retag,
		"tier": ws.remake,
	}
	for _, path := range []tree.Path{"type", "value", "secureValue", "keyId", "description", "allowedPattern", "dataType", "policies"} {
		hands[path] = func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			ws[w.Dir].put(t, to, true)
		}
	}
	return hands
}

// put writes a parameter as props say.
func (w *world) put(t kindtest.T, to kindtest.Edited, overwrite bool) {
	t.Helper()
	var p ParameterProps
	if err := props.Decode(to.Props, &p); err != nil {
		t.Fatalf("%v", err)
	}
	in := &sdk.PutParameterInput{
		Name: new(to.Attrs["name"].(string)), Overwrite: &overwrite, Value: &p.Value, Type: types.ParameterTypeString, Tier: types.ParameterTierStandard,
		Description: &p.Description, AllowedPattern: &p.AllowedPattern, DataType: new("text"), KeyId: p.KeyID, Policies: new("[{}]"),
	}
	if p.SecureValue != "" {
		in.Value, in.Type = new(string(p.SecureValue)), types.ParameterTypeSecureString
	}
	if p.Type != nil {
		in.Type = types.ParameterType(*p.Type)
	}
	if p.Tier != nil {
		in.Tier = types.ParameterTier(*p.Tier)
	}
	if p.DataType != nil {
		in.DataType = p.DataType
	}
	if p.Policies != nil {
		policies, err := json.Marshal(p.Policies)
		if err != nil {
			t.Fatalf("%v", err)
		}
		in.Policies = new(string(policies))
	}
	if _, err := w.others.PutParameter(context.Background(), in); err != nil {
		t.Fatalf("put: %v", err)
	}
}

// remake deletes a parameter and makes it again with the same tags, which is the only way to a lower tier.
func (ws worlds) remake(t kindtest.T, kw kindtest.World, to kindtest.Edited) {
	t.Helper()
	w, name := ws[kw.Dir], new(to.Attrs["name"].(string))
	tags := w.tags(t, name)
	if _, err := w.others.DeleteParameter(context.Background(), &sdk.DeleteParameterInput{Name: name}); err != nil {
		t.Fatalf("delete: %v", err)
	}
	w.put(t, to, false)
	w.tag(t, name, tags)
}

func (w *world) tag(t kindtest.T, name *string, tags map[string]string) {
	t.Helper()
	if len(tags) == 0 {
		return
	}
	if _, err := w.others.AddTagsToResource(context.Background(), &sdk.AddTagsToResourceInput{
		ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name, Tags: tagList(tags),
	}); err != nil {
		t.Fatalf("tag: %v", err)
	}
}

// retag makes the tags those that are wanted, and leaves the marks alone.
func (ws worlds) retag(t kindtest.T, kw kindtest.World, to kindtest.Edited) {
	t.Helper()
	w, name := ws[kw.Dir], new(to.Attrs["name"].(string))
	want := map[string]string{}
	tags, _ := to.Value.(map[string]any)
	for k, v := range tags {
		want[k] = v.(string)
	}
	drop := slices.DeleteFunc(slices.Collect(maps.Keys(w.tags(t, name))), func(k string) bool { _, wanted := want[k]; return wanted || adopt.IsMark(k) })
	if len(drop) > 0 {
		if _, err := w.others.RemoveTagsFromResource(context.Background(), &sdk.RemoveTagsFromResourceInput{
			ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name, TagKeys: drop,
		}); err != nil {
			t.Fatalf("untag: %v", err)
		}
	}
	w.tag(t, name, want)
}
