package containers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// liveContainer is an observed application.
type liveContainer struct {
	place
	id, name      string
	script, class string // "" of a class that is not there
	have          ContainerProps
	applied       string // the digest of what running instances were last changed to
}

func (l liveContainer) attrs() Container {
	return Container{ID: l.id, Name: l.name, Image: l.have.Image, Applied: l.applied}
}

// digest tells what instances are made of from other such. The order of lists does not count.
func (l liveContainer) digest() string {
	h, lists := l.have, [][]string{}
	for _, keys := range [][]Key{l.have.AuthorizedKeys, l.have.TrustedUserCAKeys} {
		all := []string{}
		for _, k := range keys {
			all = append(all, k.PublicKey)
		}
		lists = append(lists, all)
	}
	if at := h.Placement; at != nil {
		tiers := []string{}
		for _, tier := range at.Tiers {
			tiers = append(tiers, strconv.Itoa(tier))
		}
		lists = append(lists, tiers, slices.Clone(at.Regions), slices.Clone(at.Cities))
	}
	all := []any{h.Image, h.InstanceType, h.Resources, h.Logs, h.SSH}
	for _, list := range lists {
		slices.Sort(list)
	}
	all = append(all, lists)
	if more := h.scheduling(); len(more) > 0 { // the digests of older states have none
		all = append(all, more)
	}
	text, _ := json.Marshal(all) // always can
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// scheduling is what is set of how machines are chosen and differs from the default, beside tiers, regions and cities.
func (p ContainerProps) scheduling() map[string]string {
	set := map[string]string{}
	add := func(name string, value *string) {
		if value != nil {
			set[name] = *value
		}
	}
	if p.SchedulingPolicy != nil && *p.SchedulingPolicy != "default" {
		add("policy", p.SchedulingPolicy)
	}
	if p.Placement != nil {
		add("jurisdiction", p.Placement.Jurisdiction)
	}
	if p.Affinities != nil {
		add("colocation", p.Affinities.Colocation)
		add("hardware", p.Affinities.HardwareGeneration)
	}
	return set
}

// application is one as an answer shows it.
type application kind.Document

func (a application) text(name string) string {
	text, _ := a[name].(string)
	return text
}

func (a application) id() string   { return a.text("id") }
func (a application) name() string { return a.text("name") }

// namespace is the id of the class of Durable Objects that the application is for.
func (a application) namespace() string {
	of, _ := a["durable_objects"].(map[string]any)
	id, _ := of["namespace_id"].(string)
	return id
}

// pathOf is that of an application, without an id that of all.
func pathOf(location kind.Location, id string) string {
	path := "/accounts/" + location.Account + "/containers/applications"
	if id != "" {
		path += "/" + url.PathEscape(id)
	}
	return path
}

// applications are all of the account: Cloudflare answers them at once.
func applications(ctx context.Context, cloud kind.Cloud, location kind.Location) iter.Seq2[application, error] {
	return func(yield func(application, error) bool) {
		var all []application
		if err := cloudflare.Send(ctx, cloud, http.MethodGet, pathOf(location, ""), nil, &all); err != nil {
			yield(nil, err)
			return
		}
		for _, a := range all {
			if !yield(a, nil) {
				return
			}
		}
	}
}

// isID tells an id from a name: a UUID, or what the application has in common with its class.
func isID(text string) bool {
	return cloudflare.IsID(text) || len(text) == 36 && cloudflare.IsID(strings.ReplaceAll(text, "-", ""))
}

// observeContainer reads an application by its id, or finds it by its name, and the class that it is for.
func observeContainer(ctx context.Context, s containerSite) (live liveContainer, err error) {
	id, name := cloudflare.KeyOf(s, func(c Container) string { return c.ID }, isID)
	var shown application
	if id == "" {
		shown, err = cloudflare.OnlyCalled(applications(ctx, s.Cloud, s.Location), application.name, "container", name,
			"`athanor adopt ADDRESS ID` takes over one of them")
	} else {
		err = cloudflare.Absent(cloudflare.Send(ctx, s.Cloud, http.MethodGet, pathOf(s.Location, id), nil, &shown))
	}
	if err != nil {
		return live, err
	}
	if live, err = observed(placeOf(s.Cloud, s.Location), shown); err != nil {
		return live, err
	}
	live.applied = live.digest()
	if s.Last != nil && s.Last.Applied != "" {
		live.applied = s.Last.Applied
	}
	for c, err := range classes(ctx, s.Facts) {
		if err != nil {
			return live, err
		}
		if c.ID == shown.namespace() {
			live.script, live.class = c.Script, c.Class
			break
		}
	}
	live.have.Script, live.have.Class = cloudflare.WorkerName(live.script), live.class
	return live, nil
}

// class is a class of Durable Objects as Cloudflare lists it.
type class struct{ ID, Class, Script string }

func classes(ctx context.Context, s kind.Facts) iter.Seq2[class, error] {
	path := "/accounts/" + s.Location.Account + "/workers/durable_objects/namespaces"
	return cloudflare.CallPages[class](ctx, s.Cloud, path, url.Values{"per_page": {"100"}})
}

// observed is an application as its props have it: what an instance has as the type of that name, where there is one.
func observed(at place, shown application) (live liveContainer, err error) {
	live = liveContainer{place: at, id: shown.id(), name: shown.name()}
	where, _ := shown["constraints"].(map[string]any)
	if tier, old := where["tier"]; old && tier != nil && where["tiers"] == nil {
		where["tiers"] = []any{tier}
	}
	if live.have, err = containerTable.Read(kind.Document(shown)); err != nil {
		return live, err
	}
	configuration, _ := shown["configuration"].(map[string]any)
	image, _ := configuration["image"].(string)
	live.have.Image = at.fullName(image)
	resources := resourcesOf(configuration)
	name := resources.typeName()
	if name == "" {
		name, _ = configuration["instance_type"].(string)
	}
	if name != "" {
		live.have.InstanceType = &name
	} else {
		live.have.Resources = &resources
	}
	return live, nil
}

const mebi, mega = float64(props.MiB), float64(props.MB)

// resourcesOf are what an answer tells of the resources.
func resourcesOf(configuration map[string]any) Resources {
	var r Resources
	if n, ok := configuration["vcpu"].(float64); ok {
		r.VCPU = &n
	}
	if n, ok := configuration["memory_mib"].(float64); ok {
		r.Memory = new(props.Size(n * mebi))
	}
	disk, _ := configuration["disk"].(map[string]any)
	if n, ok := disk["size_mb"].(float64); ok {
		r.Disk = new(props.Size(n * mega))
	}
	return r
}

// types are what instances of each type have, https://developers.cloudflare.com/containers/platform-details/limits/.
var types = []struct {
	name         string
	vcpu         float64
	memory, disk props.Size
}{
	{"lite", 1.0 / 16, 256 * props.MiB, 2 * props.GB},
	{"basic", 1.0 / 4, props.GiB, 4 * props.GB},
	{"standard-1", 1.0 / 2, 4 * props.GiB, 8 * props.GB},
	{"standard-2", 1, 6 * props.GiB, 12 * props.GB},
	{"standard-3", 2, 8 * props.GiB, 16 * props.GB},
	{"standard-4", 4, 12 * props.GiB, 20 * props.GB},
}

// resourcesOfType are what instances of a type have, nil for an unknown one.
func resourcesOfType(name *string) *Resources {
	for _, t := range types {
		if name != nil && t.name == *name {
			return &Resources{VCPU: &t.vcpu, Memory: &t.memory, Disk: &t.disk}
		}
	}
	return nil
}

// typeName is the type whose instances have this, "" for none.
func (r Resources) typeName() string {
	if r.VCPU == nil || r.Memory == nil || r.Disk == nil {
		return ""
	}
	for _, t := range types {
		if t.vcpu == *r.VCPU && t.memory == *r.Memory && t.disk == *r.Disk {
			return t.name
		}
	}
	return ""
}

var imageForm = props.Pattern(`^[a-zA-Z0-9][a-zA-Z0-9./_:-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})$`)

var ofAccount = props.Pattern(`^[0-9a-f]{32}/`)

// fullName is an image with its registry and account, as wrangler spells one: what names no registry is in the account's own.
func (p place) fullName(image string) string {
	host, rest, below := strings.Cut(image, "/")
	switch {
	case !below || !strings.ContainsAny(host, ".:") && host != "localhost":
		return p.registry + "/" + p.account + "/" + image
	case host == p.registry && !ofAccount().MatchString(rest):
		return p.registry + "/" + p.account + "/" + rest
	}
	return image
}

// imageOf is the image that is to run, with its registry and account. It is pushed where that is wanted.
func imageOf(ctx context.Context, s kind.Facts, name string, assets map[string]kind.Asset, want ContainerProps) (string, error) {
	at := placeOf(s.Cloud, s.Location)
	if want.Push == nil {
		return at.fullName(want.Image), nil
	}
	made, prepared := assets[imageAsset]
	if !prepared {
		return "", cloudflare.Invalid(errNoImage)
	}
	return at.pushed(name, made), at.push(ctx, s.Cloud, name, made)
}

// codecs are the forms of props that do not follow from their types.
func codecs() []kind.Codec {
	return []kind.Codec{
		{
			Name: "ssh",
			Write: func(prop any) (any, error) {
				wire := map[string]any{"enabled": true}
				if ssh := prop.(SSH); ssh.Port != nil {
					wire["port"] = *ssh.Port
				}
				return wire, nil
			},
			Read: func(wire any) (any, error) {
				shown, _ := wire.(map[string]any)
				if shown["enabled"] != true {
					return nil, nil //nolint:nilnil // there is none
				}
				ssh := map[string]any{}
				if port, ok := shown["port"]; ok {
					ssh["port"] = port
				}
				return ssh, nil
			},
		},
		{
			Name: "keys",
			Write: func(prop any) (any, error) {
				all := []any{}
				for _, k := range prop.([]Key) {
					key := map[string]any{"public_key": k.PublicKey}
					if k.Name != "" {
						key["name"] = k.Name
					}
					all = append(all, key)
				}
				return all, nil
			},
			Read: func(wire any) (any, error) {
				all := []any{}
				list, _ := wire.([]any)
				for _, one := range list {
					shown, _ := one.(map[string]any)
					key := map[string]any{"publicKey": shown["public_key"]}
					if name, _ := shown["name"].(string); name != "" {
						key["name"] = name
					}
					all = append(all, key)
				}
				return all, nil
			},
		},
	}
}

// bodyOf is what an application is to be: all that can be changed. A change keeps what it leaves out, so that what the application has and is
// not declared is sent as cleared; nothing else is, as wrangler would take it for a difference.
func bodyOf(want, have ContainerProps) (kind.Document, error) {
	configuration := map[string]any{}
	if have.SSH != nil {
		configuration["wrangler_ssh"] = map[string]any{"enabled": false}
	}
	if have.AuthorizedKeys != nil {
		configuration["authorized_keys"] = []any{}
	}
	if have.TrustedUserCAKeys != nil {
		configuration["trusted_user_ca_keys"] = []any{}
	}
	doc := kind.Document{"configuration": configuration, "constraints": map[string]any{}}
	if have.Affinities != nil {
		doc["affinities"] = map[string]any{}
	}
	if err := containerTable.Created(want, doc); err != nil {
		return nil, err
	}
	if !want.Logs && !have.Logs {
		delete(configuration, "observability")
	}
	configuration["image"] = want.Image
	switch r := want.Resources; {
	case r == nil:
		configuration["instance_type"] = *want.instanceType()
	case r.typeName() != "":
		configuration["instance_type"] = r.typeName()
	default:
		configuration["vcpu"] = *r.VCPU
		configuration["memory_mib"] = int64(*r.Memory / props.MiB)
		configuration["disk"] = map[string]any{"size_mb": int64(*r.Disk / props.MB)}
	}
	return doc, nil
}

// rolloutOf asks for a rollout.
func rolloutOf(want ContainerProps, configuration any) kind.Document {
	to := want.Rollout.Steps
	if len(to) == 0 {
		if to = []int{10, everything}; *want.MaxInstances < 2 {
			to = []int{everything}
		}
	}
	steps := []any{}
	for i, percent := range to {
		steps = append(steps, kind.Document{
			"step_size":   kind.Document{"percentage": percent},
			"description": fmt.Sprintf("Step %d of %d - rollout at %d%% of instances", i+1, len(to), percent),
		})
	}
	return kind.Document{
		"description": "Progressive update", "strategy": "rolling", "kind": "full_" + *want.Rollout.Mode,
		"target_configuration": configuration, "steps": steps,
	}
}

var (
	errNoImage    = errors.New("the image is not prepared")
	errNoClass    = errors.New("no Worker has the class")
	errOtherThere = errors.New("the class has another container")
)

// Codes of creating an application.
const (
	notEnabled     = 1607 // no Worker says that the class has a container
	hasApplication = 1608
)

// grace is how long a class may be unknown, since a Worker has just been uploaded.
const grace = 15 * time.Second

// createContainer makes an application for its class. One that is there under another name is not replaced.
func createContainer(ctx context.Context, s containerSite) (Container, error) {
	of := ""
	for c, err := range classes(ctx, s.Facts) {
		if err != nil {
			return Container{}, err
		}
		if c.Script == string(s.Want.Script) && c.Class == s.Want.Class {
			of = c.ID
			break
		}
	}
	hint := fmt.Sprintf("declare it in the Worker: durableObjects: {%s: {container: true}}", s.Want.Class)
	if of == "" {
		err := reconcile.WithHint(fmt.Errorf("%w: %s of %s", errNoClass, s.Want.Class, s.Want.Script), "%s", hint)
		if time.Since(s.Since) < grace {
			return Container{}, reconcile.WithClass(err, reconcile.Busy)
		}
		return Container{}, cloudflare.Invalid(err)
	}
	want := s.Want
	var err error
	if want.Image, err = imageOf(ctx, s.Facts, s.Name, s.Assets, s.Want); err != nil {
		return Container{}, err
	}
	body, err := bodyOf(want, ContainerProps{})
	if err != nil {
		return Container{}, err
	}
	body["name"], body["instances"] = s.Name, 0
	body["durable_objects"] = kind.Document{"namespace_id": of}
	var made application
	err = cloudflare.Send(ctx, s.Cloud, http.MethodPost, pathOf(s.Location, ""), body, &made)
	refused, ok := errors.AsType[*cloudflare.Error](err)
	switch {
	case ok && refused.Has(notEnabled):
		err = reconcile.WithHint(err, "%s", hint)
		if time.Since(s.Since) < grace {
			err = reconcile.WithClass(err, reconcile.Busy)
		}
	case ok && refused.Has(hasApplication):
		err = otherThere(ctx, s, of, err)
	}
	return Container{ID: made.id(), Name: s.Name}, err
}

// otherThere tells a class that has another container from a creation whose answer was lost.
func otherThere(ctx context.Context, s containerSite, namespace string, err error) error {
	for a, failed := range applications(ctx, s.Cloud, s.Location) {
		if failed != nil {
			return failed
		}
		if a.namespace() == namespace && a.name() != s.Name {
			return cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %s: %w", errOtherThere, a.name(), err),
				"`athanor adopt %s %s` takes it over, where name declares %s; `wrangler containers delete %s` deletes it", s.Address, a.id(), a.name(), a.id()))
		}
	}
	return err
}
