package containers

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// The variant of this machine obeys the rules that every kind does.
func TestLocalContainer(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:   Local()[0],
		World:  func(t kindtest.T) kindtest.World { return kindtest.World{Cloud: here.Machine(), Dir: t.TempDir()} },
		Own:    []string{"id", "name"},
		Silent: map[tree.Path]string{"push": "beside image it is an error, so that the variants change both"},
		Base:   map[string]any{"name": "room", "script": "shop", "class": "Room", "image": "shop:1"},
		Variants: []kindtest.Variant{
			{Name: "all", Props: map[string]any{
				"name": "room", "script": "shop", "class": "Room", "image": "shop:2", "instanceType": "basic", "maxInstances": int64(3), "logs": true,
				"ssh": map[string]any{"port": int64(22)}, "gracePeriod": "5m", "placement": map[string]any{"regions": []any{"WEUR"}}, "rollout": map[string]any{"mode": "none"},
				"schedulingPolicy": "moon", "affinities": map[string]any{"colocation": "datacenter"},
				"authorizedKeys": []any{map[string]any{"publicKey": "ssh-ed25519 A"}}, "trustedUserCaKeys": []any{map[string]any{"publicKey": "ssh-ed25519 B"}},
			}},
			{Name: "pushed", Props: map[string]any{
				"script": "shop", "class": "Room", "push": map[string]any{"layout": "image.tar"}, "resources": map[string]any{"vcpu": 0.5},
			}},
			{Name: "bare", Props: map[string]any{"script": "shop", "class": "Room", "image": "shop:1"}},
		},
	})
}
