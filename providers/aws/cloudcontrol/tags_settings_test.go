package cloudcontrol

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestTagsOfSettings writes the tags of the settings beside the declared ones, which win, and keeps those that are ignored: both
// as a list and as a map.
func TestTagsOfSettings(t *testing.T) {
	cloud, err := aws.Provider().Open(t.Context(), &aws.Settings{
		Tags: map[string]string{"team": "shop", "env": "any"}, IgnoreTags: []string{"cost/*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	mark := reconcile.Mark{Stack: "shop", Stage: "test", Address: "x"}
	for _, typ := range []string{"AWS::EC2::VPC", "AWS::SSM::Parameter"} {
		k := kindOf(t, typ)
		tags := func(of map[string]string) object {
			if k.tags.Key == "" {
				all := object{}
				for key, v := range of {
					all[key] = v
				}
				return object{k.tags.Property: all}
			}
			var list []any
			for key, v := range of {
				list = append(list, k.entry(key, v))
			}
			return object{k.tags.Property: list}
		}
		live := tags(map[string]string{"cost/center": "7", "by": "hand"})
		have := k.tagsOf(k.withTags(cloud, tags(map[string]string{"env": "test"}), live, mark))
		_, by := have["by"]
		if have["team"] != "shop" || have["env"] != "test" || have["cost/center"] != "7" || by || have["athanor:stack"] != "shop" {
			t.Errorf("%s: %v", typ, have)
		}
	}
}
