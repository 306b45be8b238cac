package containers

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type containerSite = kind.Site[ContainerProps, Container]

var containerTable = kind.TableOf[ContainerProps](codecs()...)

var containerKind = &kind.Kind[ContainerProps, liveContainer, Container]{
	Type: containerType,
	Doc: "A container of Cloudflare: an image that runs for each object of a class of Durable Objects, beside it. Environment and " +
		"entrypoint of its instances are what the class starts them with, and are not managed, and neither are images that are pushed and used no more. " +
		"It has no tags, so that the name proves ownership.",

	Observe:    observeContainer,
	Create:     createContainer,
	Compare:    compareContainer,
	Attributes: liveContainer.attrs,
	Delete: func(ctx context.Context, s containerSite) error {
		return cloudflare.Send(ctx, s.Cloud, http.MethodDelete, pathOf(s.Location, s.Last.ID), nil, nil)
	},
	Identity: func(c Container) string { return c.ID },

	Props:   containerTable,
	Default: withDefaults,
	Check:   checkContainer,
	Named: &kind.Named[ContainerProps, liveContainer]{
		Given: func(want ContainerProps) string { return want.Name },
		Rule:  func(ContainerProps) kind.NameRule { return kind.NameRule{Max: 128, Marks: "_-", Lower: true} },
		Live:  func(live liveContainer) string { return live.name },
	},
	Unique: func(want ContainerProps) []string {
		return []string{"the container of class " + want.Class + " of Worker " + string(want.Script)}
	},
	DeleteFirst: true,
	Prepare:     prepareContainer,
	Files:       []tree.Path{"push.layout", "push.go"},
	FilesAt:     []tree.Path{"image"},
	List: func(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
		return cloudflare.FoundIn(scope, applications(ctx, scope.Cloud, scope.Place), func(a application) kind.Found {
			return kind.Found{Kind: containerType, Identity: a.id(), Name: a.name()}
		})
	},

	API: kind.API{
		Source: source,
		Calls: []string{
			"Containers.ListContainerApplications", "Containers.GetContainerApplication", "Containers.CreateContainerApplication",
			"Containers.UpdateContainerApplication", "Containers.CreateContainerApplicationRollout", "Containers.DeleteContainerApplication",
			"Containers.CreateContainerRegistryCredentials",
			"DurableObjects.ListNamespaces",
		},
		Permissions: kind.Permissions{
			Observe: []string{"Workers Containers Read", "Workers Scripts Read"},
			List:    []string{"Workers Containers Read"},
			Create:  []string{"Workers Containers Write", "Workers Scripts Read"},
			Update:  []string{"Workers Containers Write"},
			Delete:  []string{"Workers Containers Write"},
		},
	},
}

// withDefaults fills in what depends on other props.
func withDefaults(want ContainerProps) ContainerProps {
	if want.Placement == nil {
		want.Placement = &Placement{}
	}
	if want.Placement.Tiers == nil {
		at := *want.Placement
		at.Tiers = []int{1, 2}
		want.Placement = &at
	}
	return want
}

// instanceType is the type that is wanted, nil where resources say it.
func (p ContainerProps) instanceType() *string {
	if p.InstanceType == nil && p.Resources == nil {
		return new("lite")
	}
	return p.InstanceType
}

// checkContainer finds what Cloudflare would refuse, or would take without doing it.
func checkContainer(want ContainerProps) error {
	var problems props.Errors
	if want.Resources != nil && want.InstanceType != nil {
		problems.Wrong("resources", "want them, or instanceType")
	}
	switch image := want.Image; {
	case want.Push != nil && image != "":
		problems.Wrong("push", "want it, or image")
	case want.Push != nil:
		problems = append(problems, checkPush(want.Push)...)
	case !token.Has(image) && !imageForm().MatchString(image):
		problems.Wrong("image", "want an image of a registry with its tag, such as docker.io/acme/shop:1.4 or shop:1.4")
	}
	for i, step := range want.Rollout.Steps {
		at := tree.Path("rollout.steps").Index(i)
		switch {
		case step < 10 || step > everything:
			problems.Wrong(at, "want 10 to 100 percent")
		case i > 0 && step <= want.Rollout.Steps[i-1]:
			problems.Wrong(at, "want more than in the step before")
		case i == len(want.Rollout.Steps)-1 && step != everything:
			problems.Wrong(at, "the last step is 100 percent")
		}
	}
	if mode := want.Rollout.Mode; mode != nil && *mode == "none" && len(want.Rollout.Steps) > 0 {
		problems.Wrong("rollout.steps", "mode none has no steps")
	}
	return problems.OrNil()
}

const everything = 100 // percent

// The calls that change an application, and that change its running instances too.
const (
	update  = "UpdateContainerApplication"
	rollout = "CreateContainerApplicationRollout"
)

// compareContainer states every aspect. What instances are made of is changed by a rollout after the application, as wrangler does;
// what a cut leaves of the two is seen by the digest of what was applied last.
func compareContainer(d *kind.Diff[liveContainer], want ContainerProps, live liveContainer) {
	have := live.have
	want.InstanceType = want.instanceType()
	if want.Resources != nil || have.InstanceType == nil { // one of them is of no type
		want.InstanceType, want.Resources = nil, cmp.Or(want.Resources, resourcesOfType(want.InstanceType))
		have.InstanceType, have.Resources = nil, cmp.Or(have.Resources, resourcesOfType(have.InstanceType))
	}
	set := change(want, true)
	image := any(want.Image)
	made, prepared := d.Asset(imageAsset)
	switch {
	case want.Push != nil && !prepared:
		image = want.Push // which it is known after
	case want.Push != nil:
		image = live.pushed(live.name, made)
		if had, ok := d.OldAsset(imageAsset); ok && live.have.Image == live.pushed(live.name, had) {
			d.Files("image", imageAsset)
		}
	case !token.Has(want.Image):
		image = live.fullName(want.Image)
	}
	reconcile.Value(d, "image", image, any(live.have.Image), set)
	kind.CompareCall(d, containerTable, want, have, rollout, set)
	switch {
	case slices.ContainsFunc(ofInstances, d.Differs):
	case live.applied != live.digest():
		reconcile.Value(d, "rollout", "of "+live.digest(), "of "+live.applied, set)
	default:
		set = change(want, false)
	}
	kind.CompareCall(d, containerTable, want, have, "", set)
}

// ofInstances are the props that instances are made with.
var ofInstances = []tree.Path{
	"image", "instanceType", "resources", "placement", "schedulingPolicy", "affinities", "logs", "ssh", "authorizedKeys", "trustedUserCaKeys",
}

// change makes an application what is wanted, and its running instances too where they are to be changed.
func change(want ContainerProps, instances bool) *kind.Operation[liveContainer] {
	name := update
	if instances {
		name = rollout
	}
	return kind.Set(name, func(ctx context.Context, u kind.Update[liveContainer]) error {
		to := containerTable.Merged(want, u.Live.have, u.Changed)
		if slices.ContainsFunc(u.Changed, func(p tree.Path) bool { return p.Within("resources") }) {
			to.InstanceType = nil
		} else if slices.Contains(u.Changed, "instanceType") {
			to.Resources = nil
		}
		to.Image = u.Live.have.Image
		if slices.Contains(u.Changed, "image") {
			var err error
			if to.Image, err = imageOf(ctx, u.Facts, u.Live.name, u.Assets, want); err != nil {
				return err
			}
		}
		body, err := bodyOf(to, u.Live.have)
		if err != nil {
			return err
		}
		if !slices.Equal(u.Changed, []tree.Path{"rollout"}) {
			if err := cloudflare.NotYet(cloudflare.Send(ctx, u.Cloud, http.MethodPatch, pathOf(u.Location, u.Live.id), body, nil)); err != nil {
				return err
			}
		}
		if !instances {
			return nil
		}
		if *want.Rollout.Mode != "none" {
			err = cloudflare.Send(ctx, u.Cloud, http.MethodPost, pathOf(u.Location, u.Live.id)+"/rollouts", rolloutOf(to, body["configuration"]), nil)
			if err != nil {
				return cloudflare.NotYet(err)
			}
		}
		now := u.Live.attrs()
		now.Applied = "" // what the next read shows
		u.Store(now)
		return nil
	})
}
