package containers

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// life is one container over several settlements.
type life struct {
	*cloudflaretest.Server
	t    *testing.T
	kind reconcile.Any
	dir  string
	out  *reconcile.Outcome
	had  obj
}

func begin(t *testing.T) *life {
	t.Helper()
	l := &life{Server: cloudflaretest.Start(t), t: t, kind: containerKind.Erase(), dir: t.TempDir()}
	withWorker(t, l.Server)
	return l
}

func (l *life) try(props obj) error {
	l.t.Helper()
	l.Reset()
	job := l.Job(l.t, l.kind, props, l.out)
	job.Dir, job.Had = l.dir, l.had
	if err := l.kind.Prepare(l.t.Context(), job, reconcile.Workspace{Dir: l.dir, Cache: l.t.TempDir()}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	out, err := l.kind.Settle(ctx, job, reconcile.Hooks{})
	if err == nil {
		l.out, l.had = &out, props
	}
	return err
}

func (l *life) to(props obj) {
	l.t.Helper()
	if err := l.try(props); err != nil {
		l.t.Fatal(err)
	}
}

// wrote checks the calls of the last settlement that changed something.
func (l *life) wrote(what string, want ...string) {
	l.t.Helper()
	for i := range want {
		want[i] = "Containers." + want[i]
	}
	if have := l.Wrote(); !slices.Equal(have, want) {
		l.t.Errorf("%s: wrote %v, want %v", what, have, want)
	}
}

func room(more obj) obj {
	p := obj{"script": "shop", "class": "Room", "image": "docker.io/acme/shop:1"}
	maps.Copy(p, more)
	return p
}

// TestRollouts: what instances are made of reaches those that run by a rollout, and what they are not made of does not. A cut between the
// change and its rollout is made good.
func TestRollouts(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.to(room(nil))
	l.wrote("new", "CreateContainerApplication")
	l.to(room(obj{"maxInstances": int64(3), "gracePeriod": "1m"}))
	l.wrote("more instances", "UpdateContainerApplication")
	l.to(room(obj{"maxInstances": int64(3), "gracePeriod": "1m", "image": "docker.io/acme/shop:2"}))
	l.wrote("another image", "UpdateContainerApplication", "CreateContainerApplicationRollout")
	l.to(room(obj{"maxInstances": int64(3), "gracePeriod": "1m", "image": "docker.io/acme/shop:2"}))
	l.wrote("nothing")

	const name = "shop-test-orders"
	last := l.Rollouts(name)[0]
	if steps := last["steps"].([]any); len(steps) != 2 || last["target_configuration"].(obj)["image"] != "docker.io/acme/shop:2" || last["kind"] != "full_auto" {
		t.Errorf("%v", last)
	}
	l.to(room(obj{"image": "docker.io/acme/shop:3", "rollout": obj{"mode": "none"}}))
	l.wrote("an image for those that start later", "UpdateContainerApplication")
	l.to(room(obj{"image": "docker.io/acme/shop:4", "rollout": obj{"mode": "manual", "steps": list{int64(20), int64(100)}}}))
	if last := l.Rollouts(name)[1]; last["kind"] != "full_manual" || len(last["steps"].([]any)) != 2 {
		t.Errorf("%v", last)
	}

	before := *l.out
	l.Inject(cloudflaretest.Fault{Op: "Containers.CreateContainerApplicationRollout", Kind: cloudflaretest.Refuse, Code: "10000", Status: 403})
	five := room(obj{"image": "docker.io/acme/shop:5"})
	if err := l.try(five); err == nil {
		t.Fatal("the rollout is refused, and nobody says so")
	}
	if *l.out = before; len(l.Rollouts(name)) != 2 {
		t.Fatal("it was rolled out")
	}
	l.to(five)
	l.wrote("the rollout that was refused", "CreateContainerApplicationRollout")
	l.to(five)
	l.wrote("rolled out")
}

// TestRefused: a class that no Worker has, or that its Worker does not say to have a container, or that has another container, is an error
// that says what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.to(room(nil))
	id := l.out.Identity
	l.out = nil
	hint := func(err error) string { return strings.Join(reconcile.Hints(err), "; ") }
	err := l.try(room(obj{"name": "second"}))
	if !errors.Is(err, errOtherThere) || !strings.Contains(err.Error(), "shop-test-orders") || !strings.Contains(hint(err), id) {
		t.Errorf("a second one: %v (%s)", err, hint(err))
	}
	job := l.Job(t, l.kind, room(obj{"name": "third"}), nil)
	for class, want := range map[string]string{"Plain": "DURABLE_OBJECT_NOT_CONTAINER_ENABLED", "None": "no Worker has the class"} {
		s := containerSite{}
		s.Cloud, s.Location, s.Name, s.Want = l.Cloud(), job.Place, "third", ContainerProps{Script: "shop", Class: class, Image: "docker.io/acme/shop:1"}
		s.Want = withDefaults(s.Want)
		s.Want.MaxInstances, s.Want.GracePeriod = new(1), new(time.Duration(0))
		_, err := createContainer(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(hint(err), "container: true") || l.Cloud().Classify(err) != reconcile.Invalid {
			t.Errorf("%s: %v (%s)", class, err, hint(err))
		}
		s.Since = time.Now()
		if _, err := createContainer(t.Context(), s); l.Cloud().Classify(err) != reconcile.Busy {
			t.Errorf("%s of a Worker that has just been uploaded: %v", class, err)
		}
	}
}

// TestPush: an image of this machine is pushed before what runs it is changed, once, and nothing is pushed without need.
func TestPush(t *testing.T) {
	t.Parallel()
	l := begin(t)
	layout(t, filepath.Join(l.dir, "one"), 1)
	layout(t, filepath.Join(l.dir, "two"), 2)
	pushed := func(folder string) obj { return obj{"script": "shop", "class": "Room", "push": obj{"layout": folder}} }
	l.to(pushed("one"))
	l.wrote("new", "CreateContainerRegistryCredentials", "CreateContainerApplication")
	first := l.out.Attrs["image"].(string)
	if want := l.Registry() + "/" + l.Account + "/shop-test-orders:"; !strings.HasPrefix(first, want) {
		t.Errorf("%s, want %s…", first, want)
	}
	l.to(pushed("one"))
	l.wrote("nothing")
	l.to(pushed("two"))
	l.wrote("another image", "CreateContainerRegistryCredentials", "UpdateContainerApplication", "CreateContainerApplicationRollout")
	l.to(room(obj{"image": first}))
	l.wrote("an image that is there", "UpdateContainerApplication", "CreateContainerApplicationRollout")
	if err := l.try(room(obj{"image": "lost:1"})); err == nil || !strings.Contains(err.Error(), "DOESNT_CONTAIN_IMAGE") {
		t.Errorf("an image that is not there: %v", err)
	}
	for name, push := range map[string]obj{"none": {}, "two": {"layout": "one", "copy": "a/b:1"}, "a base": {"layout": "one", "base": "a/b:1"}} {
		if err := l.kind.Decode(&reconcile.Job{Props: obj{"script": "shop", "class": "Room", "push": push}}); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// TestNames: images are named as wrangler names them.
func TestNames(t *testing.T) {
	t.Parallel()
	const account = "0123456789abcdef0123456789abcdef"
	at := place{"registry.cloudflare.com", account}
	for image, want := range map[string]string{
		"shop:1":                         "registry.cloudflare.com/" + account + "/shop:1",
		"team/shop:1":                    "registry.cloudflare.com/" + account + "/team/shop:1",
		"registry.cloudflare.com/shop:1": "registry.cloudflare.com/" + account + "/shop:1",
		"registry.cloudflare.com/" + account + "/shop:1": "registry.cloudflare.com/" + account + "/shop:1",
		"docker.io/acme/shop:1":                          "docker.io/acme/shop:1",
		"localhost/shop:1":                               "localhost/shop:1",
		"1.dkr.ecr.eu-central-1.amazonaws.com/shop:1":    "1.dkr.ecr.eu-central-1.amazonaws.com/shop:1",
	} {
		if have := at.fullName(image); have != want {
			t.Errorf("%s: %s, want %s", image, have, want)
		}
	}
	for endpoint, want := range map[string]string{
		"https://api.cloudflare.com/client/v4": "registry.cloudflare.com", "https://api.fed.cloudflare.com/client/v4": "registry.cloudflare.com",
		"http://127.0.0.1:8787/client/v4": "127.0.0.1:8787", "https://cloudflare.com.example/client/v4": "cloudflare.com.example",
	} {
		if have := cloudflare.Registry(cloudflare.FromToken(endpoint, "t", account)); have != want {
			t.Errorf("%s: %s, want %s", endpoint, have, want)
		}
	}
}

// TestGolden has the bodies that https://developers.cloudflare.com/api/resources/containers/ and wrangler's sources document.
func TestGolden(t *testing.T) {
	t.Parallel()
	l := begin(t)
	sent := func(operation string) obj {
		for _, c := range l.Calls() {
			if c.Operation == operation {
				var body obj
				if err := json.Unmarshal(c.Body, &body); err != nil {
					t.Fatal(err)
				}
				return body
			}
		}
		t.Fatalf("no %s", operation)
		return nil
	}
	namespace := ""
	for _, c := range l.Do(t, http.MethodGet, "/accounts/ACCOUNT/workers/durable_objects/namespaces", nil).([]any) {
		if c.(obj)["class"] == "Room" {
			namespace = c.(obj)["id"].(string)
		}
	}
	l.to(room(obj{
		"instanceType": "basic", "maxInstances": int64(5), "logs": true, "gracePeriod": "5m", "ssh": obj{"port": int64(2222)},
		"authorizedKeys":    list{obj{"name": "me", "publicKey": "ssh-ed25519 A"}},
		"trustedUserCaKeys": list{obj{"name": "acme", "publicKey": "ssh-ed25519 B"}},
		"placement":         obj{"regions": list{"WEUR"}, "cities": list{"ber"}, "jurisdiction": "eu"}, "schedulingPolicy": "regional",
		"affinities": obj{"colocation": "datacenter", "hardwareGeneration": "highest-overall-performance"},
	}))
	configuration := obj{
		"image": "docker.io/acme/shop:1", "instance_type": "basic", "observability": obj{"logs": obj{"enabled": true}},
		"wrangler_ssh": obj{"enabled": true, "port": 2222}, "authorized_keys": list{obj{"name": "me", "public_key": "ssh-ed25519 A"}},
		"trusted_user_ca_keys": list{obj{"name": "acme", "public_key": "ssh-ed25519 B"}},
	}
	all := cloudflaretest.At{Method: "POST", Path: "/accounts/A/containers/applications"}
	cloudflaretest.Body(t, sent("CreateContainerApplication"), obj{
		"name": "shop-test-orders", "scheduling_policy": "regional", "instances": 0, "max_instances": 5, "rollout_active_grace_period": 300,
		"configuration": configuration, "constraints": obj{"tiers": list{1, 2}, "regions": list{"WEUR"}, "cities": list{"ber"}, "jurisdiction": "eu"},
		"affinities":      obj{"colocation": "datacenter", "hardware_generation": "highest-overall-performance"},
		"durable_objects": obj{"namespace_id": namespace},
	}, all)
	l.to(room(obj{"resources": obj{"vcpu": 0.5, "memory": "1GiB", "disk": "3GB"}, "maxInstances": int64(1)}))
	configuration = obj{
		"image": "docker.io/acme/shop:1", "vcpu": 0.5, "memory_mib": 1024, "disk": obj{"size_mb": 3000}, "observability": obj{"logs": obj{"enabled": false}},
		"wrangler_ssh": obj{"enabled": false}, "authorized_keys": list{}, "trusted_user_ca_keys": list{},
	}
	cloudflaretest.Body(t, sent("UpdateContainerApplication"), obj{
		"max_instances": 1, "rollout_active_grace_period": 0, "configuration": configuration, "constraints": obj{"tiers": list{1, 2}},
		"scheduling_policy": "default", "affinities": obj{},
	}, cloudflaretest.At{Method: "PATCH", Path: "/accounts/A/containers/applications/I"})
	cloudflaretest.Body(t, sent("CreateContainerApplicationRollout"), obj{
		"description": "Progressive update", "strategy": "rolling", "kind": "full_auto", "target_configuration": configuration,
		"steps": list{obj{"step_size": obj{"percentage": 100}, "description": "Step 1 of 1 - rollout at 100% of instances"}},
	}, cloudflaretest.At{Method: "POST", Path: "/accounts/A/containers/applications/I/rollouts"})
}
