package containers

import (
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// ContainerProps declare a container. Defaults are those of wrangler, and limits those of
// https://developers.cloudflare.com/containers/platform-details/limits/
type ContainerProps struct {
	// Name of the application in the account: up to 128 lower-case letters, digits, _ and -. Default: none, a name is generated.
	// Changing it replaces the application.
	Name string
	// Script is the name of the Worker that has the class.
	Script cloudflare.WorkerName `prop:"required,immutable" wire:"-"`
	// Class is the class of Durable Objects whose objects have the container each. The Worker declares it in durableObjects, with
	// container: true. A class has one container at most.
	Class string `prop:"required,immutable" wire:"-"`
	// Image that runs, for linux/amd64: one of Docker Hub or of another registry that Cloudflare is configured for, such as
	// docker.io/acme/shop:1.4, or one that the account's own registry has, such as shop:1.4 or
	// registry.cloudflare.com/ACCOUNT/shop:1.4. What a tag means is not looked up: a new image needs a new tag, or a digest. Default: none,
	// push says it.
	Image string
	// Push is an image that is pushed to the account's own registry, and runs from there. Images that nothing runs any more stay in
	// the registry. Default: none, image says it.
	Push *Push
	// InstanceType is how much each instance has: lite (1/16 of a processor, 256 MiB of memory, 2 GB of disk), basic (1/4, 1 GiB,
	// 4 GB), standard-1 (1/2, 4 GiB, 8 GB), standard-2 (1, 6 GiB, 12 GB), standard-3 (2, 8 GiB, 16 GB) or standard-4 (4, 12 GiB,
	// 20 GB). Default: lite, or none with resources.
	InstanceType *string `prop:"enum=lite|basic|standard-1|standard-2|standard-3|standard-4" wire:"-,call=CreateContainerApplicationRollout"`
	// Resources are what each instance has, in place of instanceType, for accounts that may choose them. Default: none.
	Resources *Resources `wire:"-,call=CreateContainerApplicationRollout"`
	// MaxInstances is how many instances may run at once.
	MaxInstances *int `prop:"min=1,default=20" wire:"max_instances"`
	// Placement says where instances run. Default: anywhere in Cloudflare's tiers 1 and 2.
	Placement *Placement `prop:"each" wire:"constraints"`
	// SchedulingPolicy says how Cloudflare chooses machines for instances.
	SchedulingPolicy *string `prop:"enum=default|moon|regional,default=default" wire:"scheduling_policy,call=CreateContainerApplicationRollout"`
	// Affinities say which machines are preferred. Default: none is.
	Affinities *Affinities `prop:"each" wire:"affinities"`
	// Logs keeps what instances print. Cloudflare shows it with the logs of the Worker.
	Logs bool `prop:"default=false" wire:"configuration.observability.logs.enabled,call=CreateContainerApplicationRollout"`
	// SSH lets those who may change the container into its instances by `wrangler containers ssh`. Default: nobody is let in.
	SSH *SSH `wire:"configuration.wrangler_ssh,ssh,call=CreateContainerApplicationRollout"`
	// AuthorizedKeys are the keys that SSH takes. The order does not count. Default: none.
	AuthorizedKeys []Key `prop:"set" wire:"configuration.authorized_keys,keys,call=CreateContainerApplicationRollout"`
	// TrustedUserCAKeys are the keys of authorities whose users SSH takes. The order does not count. Default: none.
	TrustedUserCAKeys []Key `prop:"set" wire:"configuration.trusted_user_ca_keys,keys,call=CreateContainerApplicationRollout"`
	// GracePeriod is how long an instance that is in use stays before it gets another image, in whole seconds.
	GracePeriod *time.Duration `prop:"min=0s,default=0s" wire:"rollout_active_grace_period"`
	// Rollout says how running instances get another image or other resources. It says how a change is made, and is none itself.
	Rollout Rollout
}

// Push is an image that is pushed: of one of layout, copy and go.
type Push struct {
	// Layout is an image on this machine as an OCI layout: a folder, or an archive as docker buildx build --output type=oci and docker save
	// write one. It has an image for linux/amd64. Default: none.
	Layout string
	// Copy is the reference of an image in another registry, such as ghcr.io/acme/shop:1.4. It is read with the credentials of docker login.
	// Default: none.
	Copy string
	// Go is package main of a program that is built for linux/amd64: its folder when it begins with a dot, else its import path. No
	// Docker is needed. Default: none.
	Go string
	// Base is the image that the program is put on, best with its digest. Default: none, the image holds the program alone.
	Base string
	// Args are what the program is started with. Default: none.
	Args []string
	// Env is the environment of the program. All who may pull the image can read it. Default: that of the base.
	Env map[string]string
	// Ports are those of TCP that the program listens on. Default: those of the base.
	Ports []int
}

// Resources are what each instance has.
type Resources struct {
	// VCPU is the share of processors.
	VCPU *float64 `prop:"min=0.0625,default=0.0625"`
	// Memory of each instance, in whole MiB.
	Memory *props.Size `prop:"min=1MiB,default=256MiB,unit=1MiB"`
	// Disk of each instance, in whole MB.
	Disk *props.Size `prop:"min=1MB,default=2GB,unit=1MB"`
}

// Placement says where instances run.
type Placement struct {
	// Tiers of Cloudflare's places. The order does not count. Default: 1 and 2.
	Tiers []int `prop:"set" wire:"tiers,call=CreateContainerApplicationRollout"`
	// Regions such as ENAM or WEUR. The order does not count. Default: all.
	Regions []string `prop:"set,enum=AFR|APAC|EEUR|ENAM|WNAM|ME|OC|SAM|WEUR" wire:"regions,call=CreateContainerApplicationRollout"`
	// Cities, in lower case. The order does not count. Default: all.
	Cities []string `prop:"set" wire:"cities,call=CreateContainerApplicationRollout"`
	// Jurisdiction is the boundary of law that instances stay inside of: eu or fedramp. Default: none.
	Jurisdiction *string `prop:"enum=eu|fedramp" wire:"jurisdiction,call=CreateContainerApplicationRollout"`
}

// Affinities say which machines are preferred.
type Affinities struct {
	// Colocation datacenter keeps instances in one data centre. Default: none.
	Colocation *string `prop:"enum=datacenter" wire:"colocation,call=CreateContainerApplicationRollout"`
	// HardwareGeneration highest-overall-performance prefers the fastest machines. Default: none.
	HardwareGeneration *string `prop:"enum=highest-overall-performance" wire:"hardware_generation,call=CreateContainerApplicationRollout"`
}

// SSH lets people into instances.
type SSH struct {
	// Port that the server of SSH listens at. Default: none, as Cloudflare chooses.
	Port *int `prop:"min=1,max=65535"`
}

// Key is a public key of SSH.
type Key struct {
	// Name of the key, for people. Default: none.
	Name string
	// PublicKey as it stands in a file .pub.
	PublicKey string `prop:"required"`
}

// Rollout is how a change reaches the instances that run.
type Rollout struct {
	// Mode auto goes on from step to step by itself, manual waits before each step for somebody, and none changes no instance that
	// runs: each has the old image until it ends.
	Mode *string `prop:"enum=auto|manual|none,default=auto"`
	// Steps are how many percent of the instances have the change after each step, the last of them 100. Default: 10 and 100, or 100 where
	// maxInstances is 1.
	Steps []int
}

// Container is what others may refer to of a container.
type Container struct {
	// ID of the application.
	ID string `attr:"early"`
	// Name of the application.
	Name string `attr:"early"`
	// Image with its registry and account.
	Image string `attr:"mutable=image|push"`
	// Applied is the digest of what running instances were last changed to: the image and what they have.
	Applied string `attr:"mutable"`
}
