package containers

import (
	"cmp"
	"maps"
	"math/rand"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ggcr "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

const all = "/accounts/ACCOUNT/containers/applications"

// classNames are those of the Worker that all worlds have.
var classNames = []string{"Room", "Hall", "Plain"}

// withWorker uploads a Worker with three classes of Durable Objects, two of which have containers.
func withWorker(t kindtest.T, s *cloudflaretest.Server) {
	t.Helper()
	code := `import { DurableObject } from "cloudflare:workers";
export default { fetch() { return new Response("ok") } };`
	for _, name := range classNames {
		code += "\nexport class " + name + " extends DurableObject {}"
	}
	image, err := random.Image(64, 1, random.WithSource(rand.NewSource(3)))
	if err != nil {
		t.Fatalf("%v", err)
	}
	s.PushImage(t, "shop:2", image)
	s.Upload(t, "shop", cloudflaretest.Upload{
		Metadata: obj{
			"main_module": "worker.js", "compatibility_date": "2026-01-31", "containers": list{obj{"class_name": "Room"}, obj{"class_name": "Hall"}},
			"migrations": obj{"new_tag": "1", "steps": list{obj{"new_sqlite_classes": classNames}}},
		},
		Modules: []cloudflaretest.Module{{Name: "worker.js", Type: "application/javascript+module", Content: []byte(code)}},
	})
}

// objects are the applications that others see, without their ids and names and what differs between two makings: a class for its id.
func objects(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	out := []any{}
	for _, a := range s.Do(t, http.MethodGet, all, nil).([]any) {
		a := maps.Clone(a.(obj))
		of := a["durable_objects"].(obj)["namespace_id"]
		for _, c := range s.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/durable_objects/namespaces", nil).([]any) {
			if c.(obj)["id"] == of {
				a["durable_objects"] = c.(obj)["class"]
			}
		}
		a["configuration"] = maps.Clone(a["configuration"].(obj))
		image := strings.Replace(a["configuration"].(obj)["image"].(string), s.Registry()+"/"+s.Account, "OWN", 1)
		a["configuration"].(obj)["image"] = strings.Replace(image, a["name"].(string), "NAME", 1)
		for _, name := range []string{"id", "name", "account_id", "version"} {
			delete(a, name)
		}
		for name, none := range map[string]any{ // what was taken away is shown as none, and what never was is not shown
			"authorized_keys": list{}, "trusted_user_ca_keys": list{}, "wrangler_ssh": obj{"enabled": false}, "observability": obj{"logs": obj{"enabled": false}},
		} {
			if reflect.DeepEqual(a["configuration"].(obj)[name], none) {
				delete(a["configuration"].(obj), name)
			}
		}
		if reflect.DeepEqual(a["affinities"], obj{}) {
			delete(a, "affinities")
		}
		out = append(out, a)
	}
	return out
}

func TestContainer(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	rewrite := ws.Sends(http.MethodPatch, func(to kindtest.Edited) string { return all + "/" + to.Attrs["id"].(string) },
		func(to kindtest.Edited) any {
			p := cloudflaretest.Declared[ContainerProps](t, to)
			if p.Image == "" { // a pushed one stays
				p.Image = to.Attrs["image"].(string)
			}
			return written(p)
		})
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Deletes(func(to kindtest.Edited) string { return all + "/" + to.Attrs["id"].(string) }),
	}
	for _, path := range append([]tree.Path{"maxInstances", "gracePeriod"}, ofInstances...) {
		hands[path] = rewrite
	}
	kindtest.Run(t, kindtest.Suite{
		Kind: containerKind.Erase(),
		World: func(t kindtest.T) kindtest.World {
			w := ws.Make(withWorker, objects)(t)
			layout(t, filepath.Join(w.Dir, "one"), 1)
			layout(t, filepath.Join(w.Dir, "two"), 2)
			return w
		},
		Base:  obj{"script": "shop", "class": "Room", "image": "docker.io/acme/shop:1.4"},
		Fault: cloudflaretest.FaultOf("Containers"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"script": "shop", "class": "Room", "image": "docker.io/acme/shop:1.5", "instanceType": "standard-2", "maxInstances": int64(1), "logs": true,
				"ssh": obj{"port": int64(2222)}, "authorizedKeys": list{obj{"name": "laptop", "publicKey": "ssh-ed25519 AAAA"}, obj{"name": "desk", "publicKey": "ssh-ed25519 CCCC"}}, "gracePeriod": "5m",
				"trustedUserCaKeys": list{obj{"name": "acme", "publicKey": "ssh-ed25519 BBBB"}, obj{"name": "a", "publicKey": "ssh-ed25519 DDDD"}},
				"placement":         obj{"tiers": list{int64(3), int64(2)}, "regions": list{"ENAM", "WEUR"}, "cities": list{"muc", "ber"}, "jurisdiction": "eu"},
				"schedulingPolicy":  "regional",
				"affinities":        obj{"colocation": "datacenter", "hardwareGeneration": "highest-overall-performance"},
				"rollout":           obj{"mode": "manual", "steps": list{int64(50), int64(100)}},
			}},
			{Name: "resources", Props: obj{
				"script": "shop", "class": "Room", "image": "shop:2", "resources": obj{"vcpu": 0.5, "memory": "1GiB", "disk": "3GB"},
				"rollout": obj{"mode": "none"},
			}},
			{Name: "pushed", Props: obj{"script": "shop", "class": "Room", "push": obj{"layout": "one"}}},
			{Name: "pushed again", Props: obj{"script": "shop", "class": "Room", "push": obj{"layout": "two"}}},
			{Name: "other class", Props: obj{"script": "shop", "class": "Hall", "image": "docker.io/acme/shop:1.4"}},
			{Name: "named", Props: obj{"name": "shop-room", "script": "shop", "class": "Room", "image": "docker.io/acme/shop:1.4"}},
		},
		Hands: hands,
		Ordered: map[tree.Path]string{
			"push":    "an image is built of it, and its digest is compared",
			"rollout": "steps are taken one after the other",
		},
		Alias:      map[tree.Path]tree.Path{"push": "image"},
		Unreadable: map[tree.Path]string{"push": "an application tells the image, and not where that was pushed from"},
		Others: map[tree.Path][]any{
			"resources.vcpu": {0.75}, "resources.memory": {"512MiB"}, "resources.disk": {"5GB"}, "placement.tiers": {list{int64(1), int64(3)}},
			"placement.cities": {list{"fra"}},
		},
		Silent: map[tree.Path]string{
			"push":    "beside image it is an error, so that the variants change both",
			"rollout": "it says how a change is made", "rollout.mode": "it says how a change is made",
			"rollout.steps": "it says how a change is made",
		},
		Steady: map[tree.Path]string{
			"name": "an application keeps its name for life", "script": "an application keeps its class for life",
			"push.layout": "no object has it", "push.copy": "no object has it", "push.go": "no object has it", "push.base": "no object has it",
			"push.args": "no object has it", "push.env": "no object has it", "push.ports": "no object has it",
			"class": "an application keeps its class for life", "rollout.mode": "no object has it", "rollout.steps": "no object has it",
		},
	})
}

// layout writes an image as another tool would.
func layout(t kindtest.T, folder string, seed int64) {
	t.Helper()
	image, err := random.Image(256, 1, random.WithSource(rand.NewSource(seed)))
	if err == nil {
		image, err = mutate.ConfigFile(image, &v1.ConfigFile{OS: "linux", Architecture: architecture})
	}
	if err == nil {
		_, err = ggcr.Write(folder, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image}))
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// written is the change of an application by somebody else, who writes down what the documentation says.
func written(p ContainerProps) obj {
	configuration := obj{
		"image": p.Image, "wrangler_ssh": obj{"enabled": p.SSH != nil}, "observability": obj{"logs": obj{"enabled": p.Logs}},
		"authorized_keys": keys(p.AuthorizedKeys), "trusted_user_ca_keys": keys(p.TrustedUserCAKeys),
	}
	if p.SSH != nil && p.SSH.Port != nil {
		configuration["wrangler_ssh"] = obj{"enabled": true, "port": *p.SSH.Port}
	}
	if p.Resources != nil {
		r := *p.Resources
		configuration["vcpu"], configuration["memory_mib"] = *cmp.Or(r.VCPU, new(0.0625)), *cmp.Or(r.Memory, new(256*props.MiB))>>20
		configuration["disk"] = obj{"size_mb": *cmp.Or(r.Disk, new(2*props.GB)) / 1e6}
	} else {
		configuration["instance_type"] = *cmp.Or(p.InstanceType, new("lite"))
	}
	at := obj{}
	if p.Placement == nil {
		p.Placement = &Placement{}
	}
	if at["tiers"] = p.Placement.Tiers; p.Placement.Tiers == nil {
		at["tiers"] = []int{1, 2}
	}
	if p.Placement.Regions != nil {
		at["regions"] = p.Placement.Regions
	}
	if p.Placement.Cities != nil {
		at["cities"] = p.Placement.Cities
	}
	if p.Placement.Jurisdiction != nil {
		at["jurisdiction"] = *p.Placement.Jurisdiction
	}
	affinities := obj{}
	if like := p.Affinities; like != nil {
		if like.Colocation != nil {
			affinities["colocation"] = *like.Colocation
		}
		if like.HardwareGeneration != nil {
			affinities["hardware_generation"] = *like.HardwareGeneration
		}
	}
	return obj{
		"scheduling_policy": *cmp.Or(p.SchedulingPolicy, new("default")), "affinities": affinities,
		"configuration": configuration, "constraints": at, "max_instances": *cmp.Or(p.MaxInstances, new(20)), "rollout_active_grace_period": cmp.Or(p.GracePeriod, new(time.Duration(0))).Seconds(),
	}
}

func keys(all []Key) list {
	out := list{}
	for _, k := range all {
		key := obj{"public_key": k.PublicKey}
		if k.Name != "" {
			key["name"] = k.Name
		}
		out = append(out, key)
	}
	return out
}
