package wrangler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
)

// containers reads which classes have containers, and what runs in these.
func (r *reader) containers(c *from.Fields, classes map[string]any) {
	for _, f := range c.Objects("containers") {
		class := f.Text("class_name", "class")
		if class == "" {
			f.Done()
			continue
		}
		declared, _ := classes[class].(map[string]any)
		if declared == nil {
			declared = map[string]any{}
		}
		declared["container"] = true
		classes[class] = declared
		props := map[string]any{"script": r.worker, "class": class, "name": f.Text("name", "name")}
		if props["name"] == "" {
			props["name"] = r.names.container(class)
		}
		r.image(f, props)
		r.instances(f, props)
		f.Done()
		r.add(class, "container", "cloudflare.Container", props, "")
	}
}

// container is what wrangler calls the container of a class where nobody says it.
func (n names) container(class string) string {
	name := n.top + "-" + class
	if n.env != "" {
		name += "-" + n.env
	}
	return strings.ReplaceAll(strings.ToLower(name), " ", "-")
}

// numbers are those of a field: a list of them, or one.
func numbers(f *from.Fields, name, becomes string) (all []any) {
	list, many := f.Value(name).([]any)
	if !many && f.Has(name) {
		list = []any{f.Value(name)}
	}
	for _, v := range list {
		if n, ok := from.Number(v); ok {
			all = append(all, n)
		}
	}
	switch {
	case len(all) != len(list):
		f.Note(name, from.Unsupported, "want numbers")
	case all != nil:
		f.Note(name, from.Mapped, "%s", becomes)
	}
	return all
}

// image reads what runs. A Dockerfile is built by others.
func (r *reader) image(f *from.Fields, props map[string]any) {
	image := f.Text("image", "image")
	if strings.HasPrefix(image, ".") || strings.HasPrefix(image, "/") || r.file.Exists != nil && r.file.Exists(image) {
		f.Note("image", from.Unsupported, "a Dockerfile is built by docker buildx build --platform linux/amd64 --output type=oci: push what that writes")
		props["push"] = map[string]any{"layout": from.Path("image.tar")}
	} else if image != "" {
		props["image"] = image
	}
	f.Skip("image_build_context", from.Needless, "it is for building a Dockerfile")
	f.Skip("image_vars", from.Needless, "they are for building a Dockerfile")
}

// instances reads how many run, of which kind, where, and how they change.
func (r *reader) instances(f *from.Fields, props map[string]any) {
	if n, ok := f.Number("max_instances", "maxInstances"); ok {
		props["maxInstances"] = n
	}
	r.instanceType(f, props)
	if at := f.Object("constraints"); at != nil {
		placement := map[string]any{}
		for _, name := range []string{"tier", "tiers"} {
			switch tiers := numbers(at, name, "placement.tiers"); {
			case len(tiers) == 1 && tiers[0] == int64(-1): // any
				placement["tiers"] = []any{}
			case tiers != nil:
				placement["tiers"] = tiers
			}
		}
		for name, change := range map[string]func(string) string{"regions": strings.ToUpper, "cities": strings.ToLower} {
			var all []any
			for _, one := range at.Texts(name, "placement."+name) {
				all = append(all, change(one.(string)))
			}
			if all != nil {
				placement[name] = all
			}
		}
		if name := at.Text("jurisdiction", "placement.jurisdiction"); name != "" {
			placement["jurisdiction"] = name
		}
		at.Done()
		if len(placement) > 0 {
			props["placement"] = placement
		}
	}
	for _, name := range []string{"ssh", "wrangler_ssh"} { // the second is the name of before
		ssh := f.Object(name)
		if ssh == nil {
			continue
		}
		on, _ := ssh.Truth("enabled", "ssh")
		port, given := ssh.Number("port", "ssh.port")
		if on {
			props["ssh"] = map[string]any{}
			if given {
				props["ssh"] = map[string]any{"port": port}
			}
		}
		ssh.Done()
	}
	for name, prop := range map[string]string{"authorized_keys": "authorizedKeys", "trusted_user_ca_keys": "trustedUserCaKeys"} {
		var all []any
		for _, k := range f.Objects(name) {
			key := map[string]any{"publicKey": k.Text("public_key", prop)}
			if text := k.Text("name", prop); text != "" {
				key["name"] = text
			}
			k.Done()
			all = append(all, key)
		}
		if all != nil {
			props[prop] = all
		}
	}
	if n, ok := f.Number("rollout_active_grace_period", "gracePeriod"); ok && n != int64(0) {
		props["gracePeriod"] = seconds(n)
	}
	r.rollout(f, props)
	if policy := f.Text("scheduling_policy", "schedulingPolicy"); policy != "" && policy != "default" {
		props["schedulingPolicy"] = policy
	}
	if like := f.Object("affinities"); like != nil {
		affinities := map[string]any{}
		for name, prop := range map[string]string{"colocation": "colocation", "hardware_generation": "hardwareGeneration"} {
			if text := like.Text(name, "affinities."+prop); text != "" {
				affinities[prop] = text
			}
		}
		like.Done()
		if len(affinities) > 0 {
			props["affinities"] = affinities
		}
	}
	f.Skip("configuration", from.Unsupported, "it is deprecated: write image and instance_type")
	f.Skip("unsafe", from.Unsupported, "athanor has no way around its checks")
}

// older are types of instances under their names of before.
var older = map[string]string{"dev": "lite", "standard": "standard-1"}

func (r *reader) instanceType(f *from.Fields, props map[string]any) {
	if _, custom := f.Value("instance_type").(map[string]any); custom {
		custom := f.Object("instance_type")
		resources := map[string]any{}
		for name, to := range map[string][2]string{"vcpu": {"vcpu", ""}, "memory_mib": {"memory", "MiB"}, "disk_mb": {"disk", "MB"}} {
			n, ok := custom.Number(name, "resources."+to[0])
			switch {
			case ok && to[1] == "":
				resources[to[0]] = n
			case ok:
				resources[to[0]] = fmt.Sprint(n) + to[1]
			}
		}
		custom.Done()
		props["resources"] = resources
		return
	}
	if name := f.Text("instance_type", "instanceType"); name != "" {
		if now := older[name]; now != "" {
			name = now
		}
		props["instanceType"] = name
	}
}

// rollout reads how running instances change.
func (r *reader) rollout(f *from.Fields, props map[string]any) {
	rollout := map[string]any{}
	modes := []string{"full_auto", "full_manual", "none"}
	if i := slices.Index(modes, f.Text("rollout_kind", "rollout.mode")); i > 0 {
		rollout["mode"] = []string{"auto", "manual", "none"}[i]
	}
	steps := numbers(f, "rollout_step_percentage", "rollout.steps")
	if _, many := f.Value("rollout_step_percentage").([]any); !many && len(steps) == 1 { // each step has as much
		if n, whole := steps[0].(int64); whole && n >= 10 {
			steps = nil
			for at := n; at < 100; at += n {
				steps = append(steps, at)
			}
			steps = append(steps, int64(100))
		}
	}
	if steps != nil {
		rollout["steps"] = steps
	}
	if len(rollout) > 0 {
		props["rollout"] = rollout
	}
}
