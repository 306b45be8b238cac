package yamlstack

import (
	"embed"
	"time"
)

// The comments of these structs are the descriptions in the language's schema.
//
//go:embed language.go
var source embed.FS

// document is one file.
type document struct {
	// Stack is the name of the stack: letters, digits, - and _. Only the main file has it.
	Stack string
	// Config are the values that users set with --config NAME=VALUE. ${config.NAME} stands for one.
	Config map[string]configDoc
	// Secrets say where secret values come from. ${secret.NAME} stands for one.
	Secrets map[string]secretDoc
	// Refs are other stacks whose outputs are used. ${ref.NAME.OUTPUT} stands for one.
	Refs map[string]refDoc
	// Providers are settings of providers, by the provider's name, and further sets of settings by names of
	// your own, with "use" naming what they start from.
	Providers map[string]any
	// Include names further files, relative to this one. Their sections are added to those of this file.
	Include []string
	// Read are the objects that are used and not owned, by address.
	Read map[string]readDoc
	// Resources are what is deployed, by address: segments joined by "/".
	Resources map[string]resourceDoc
	// Bind adds rows to the bindings prop of resources, by address and then by key.
	Bind map[string]map[string]any
	// Forget removes addresses that are no longer declared from state: their objects stay, unmanaged.
	Forget []string
	// Outputs are values to publish, by name.
	Outputs map[string]any
}

// configDoc is one config.
type configDoc struct {
	// Type of the value. Default: that of the default, else string.
	Type string `prop:"enum=string|int|bool|duration|list"`
	// Default is the value in every stage that has none of its own.
	Default any
	// Stages are values for single stages.
	Stages map[string]any
	// Required says that there is no default: a value must be given.
	Required bool
	// Description says what it is for.
	Description string
}

// secretDoc is one secret; exactly one of env, file and sealed is set.
type secretDoc struct {
	// Env is an environment variable.
	Env string
	// File is a file relative to the stack's directory; one trailing newline is cut.
	File string
	// Sealed is the sealed file beside the program: athanor secret set NAME.
	Sealed bool
	// AllowEmpty takes an empty value for one; without it that is an error.
	AllowEmpty bool
}

// refDoc is one stage of another stack, or the state of another tool. Exactly one of stack, terraform and pulumi is set.
type refDoc struct {
	// Stack is its name.
	Stack string
	// Stage is that stage of it. Default: the same as this stack's.
	Stage string
	// Store is where its record is, as --store takes it; the path of a file starts in the stack's directory. Default: where
	// this stack's record is.
	Store string
	// Terraform is where a state of Terraform or OpenTofu is: a file, s3://BUCKET/KEY, postgres://… or https://…
	Terraform string
	// Pulumi is where a state of Pulumi is: a file, or s3://BUCKET/KEY.
	Pulumi string
}

// readDoc is one object that is used and not owned. Either id or query is set.
type readDoc struct {
	// Kind of the object.
	Kind string `prop:"required"`
	// ID is its physical identity.
	ID string
	// Query are props that name it: its given name, or properties that exactly one object has.
	Query map[string]any
	// Provider is the provider, or a set of its settings, with which it is looked at.
	Provider string
}

// resourceDoc is one resource, or one for each key of for.
type resourceDoc struct {
	// Kind of the resource.
	Kind string `prop:"required"`
	// Props are what is wanted, as the kind documents it.
	Props map[string]any
	// Options change how the resource is treated.
	Options optionsDoc
	// Role says what a function runs as: own is a role of its own, NAME/role; else the address of a role. Default: own, where
	// grants or consume are and the props name no role.
	Role string
	// LogGroup says whether a function has a log group of its own, NAME/logs. Default: own with a role of its own, else none.
	LogGroup string `prop:"enum=own|none"`
	// Grants are resources that this one may use, by address, each with words such as send or read, or with actions. They
	// stand with a function, or with a role.
	Grants map[string][]string
	// Consume are queues, and tables with a stream, that a function is called with, by address, each with the props of its
	// aws.lambda.EventSourceMapping.
	Consume map[string]map[string]any
	// Provider is the provider, or a set of its settings, that it lives under.
	Provider string
	// For makes one resource for each key of a map, or each word of a list: net/subnet[a]. ${each.key} and
	// ${each.value} stand for the key and the value. Keys are known before anything is looked at.
	For any
}

// optionsDoc are the options of one resource.
type optionsDoc struct {
	// DependsOn are further addresses that must be done before.
	DependsOn []string
	// Protect refuses deletion and replacement, at plan.
	Protect bool
	// Retain forgets the resource instead of deleting it.
	Retain bool
	// DeletedWith is an address whose deletion takes this one along.
	DeletedWith string
	// RenamedFrom are earlier addresses.
	RenamedFrom []string
	// Adopt takes over the object with this identity, whatever its owner; "*" takes what is found by name and has no
	// owner tag.
	Adopt string
	// IgnoreChanges are props that are not compared, as paths; * stands for any key or index.
	IgnoreChanges []string
	// ReplaceOn are props whose change replaces the resource, as paths.
	ReplaceOn []string
	// DeleteFirst deletes the old object before the new one is created.
	DeleteFirst bool
	// AllowReplace gives leave to replace what holds users' data.
	AllowReplace bool
	// AllowDelete gives leave to delete what holds users' data.
	AllowDelete bool
	// Timeout bounds creation, update and deletion, each.
	Timeout time.Duration `prop:"min=0s"`
	// Timeouts bound single operations.
	Timeouts timeoutsDoc
	// Before are shell commands that run before a change, in the stack's directory; one that fails stops it.
	Before []string
	// After are shell commands that run after a change; one that fails is shown, and the change stands.
	After []string
}

// timeoutsDoc are bounds for single operations; unset ones are the kind's.
type timeoutsDoc struct {
	// Create bounds creation.
	Create time.Duration `prop:"min=0s"`
	// Update bounds an update.
	Update time.Duration `prop:"min=0s"`
	// Delete bounds deletion.
	Delete time.Duration `prop:"min=0s"`
}
