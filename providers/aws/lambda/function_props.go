package lambda

import (
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// FunctionProps declare a function. Defaults and limits are those of
// https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
type FunctionProps struct {
	// Name of the function: up to 64 letters, digits, - and _. Default: none, a name is generated. Changing it replaces
	// the function.
	Name string
	// Description of the function, up to 256 characters. Default: none.
	Description string
	// Code that it runs.
	Code Code `prop:"required"`
	// Role that it runs as: an ARN. In Go programs a function without one gets a role and a log group of its own: NAME/role,
	// which may write to the group, do what vpc and tracing need, and what is granted to the function; and NAME/logs.
	Role aws.ARN `prop:"required"`
	// Runtime of an archive, such as python3.14. Default: provided.al2023 with code.go, nodejs24.x with code.bundle, none with
	// code.image; else it is required.
	Runtime *string
	// Handler that is called first, such as index.handler. Default: bootstrap with code.go, index.handler with code.bundle,
	// none with code.image; else it is required.
	Handler *string
	// Architecture of the processor. Default: x86_64.
	Architecture *string `prop:"enum=x86_64|arm64"`
	// Memory, and with it the share of a processor, in whole MiB from 128 MiB to 10 GiB. Default: 128MiB.
	Memory *props.Size `prop:"min=128MiB,max=10GiB"`
	// Timeout is how long one call may take, in whole seconds up to 15 minutes. Default: 3s.
	Timeout *time.Duration `prop:"min=1s,max=15m"`
	// EphemeralStorage is the size of /tmp, in whole MiB from 512 MiB to 10 GiB. Default: 512MiB.
	EphemeralStorage *props.Size `prop:"min=512MiB,max=10GiB"`
	// Env are variables of the environment, 4 KiB in all. Values that the program does not name are masked. Default: none.
	Env map[string]string
	// Layers are ARNs of versions of layers, up to 5, in the order in which they are laid over each other. Default: none.
	Layers []aws.ARN
	// VPC connects the function to a network. Default: none.
	VPC *VPC
	// DeadLetter is the queue or topic that gets the events of failed asynchronous calls; the role must be allowed to send
	// there. Default: none.
	DeadLetter aws.ARN
	// Tracing says whether calls are sampled for X-Ray, or only those that were sampled already. Default: PassThrough.
	Tracing *string `prop:"enum=PassThrough|Active"`
	// KMSKey encrypts variables, and snapshots: the ARN of a key. Default: none, a key of Lambda.
	KMSKey aws.ARN
	// FileSystems are those of EFS that are mounted. They need vpc. Default: none.
	FileSystems []FileSystem
	// ImageConfig overrides what an image says of itself. Default: none.
	ImageConfig *ImageConfig
	// Logging says where the function's logs go, and which. Default: text, to /aws/lambda/NAME.
	Logging *Logging
	// SnapStart says what starts from a snapshot. Default: None.
	SnapStart *string `prop:"enum=None|PublishedVersions"`
	// ReservedConcurrency is how many calls may run at a time, which are taken from the account's; 0 stops the function.
	// Default: none, as many as the account has left.
	ReservedConcurrency *int `prop:"min=0"`
	// Async says what becomes of asynchronous calls. Default: 2 retries within 6 hours, no destinations.
	Async *Async
	// URL is an address of the function's own, for HTTP. Default: none.
	URL *URL
	// Tags of the function, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// VPC is the network of a function.
type VPC struct {
	// Subnets are ids, in no order.
	Subnets []string `prop:"required"`
	// SecurityGroups are ids, in no order.
	SecurityGroups []string `prop:"required"`
	// IPv6 allows outbound traffic by IPv6 in subnets of both kinds. Default: false.
	IPv6 bool
}

// FileSystem is one that a function mounts.
type FileSystem struct {
	// AccessPoint is the ARN of an access point of EFS.
	AccessPoint aws.ARN `prop:"required"`
	// Path where it is mounted, below /mnt/.
	Path string `prop:"required"`
}

// ImageConfig overrides what an image says of itself.
type ImageConfig struct {
	// EntryPoint is the program with its first arguments. Default: none, the image's.
	EntryPoint []string
	// Command are arguments of the program. Default: none, the image's.
	Command []string
	// WorkingDirectory of the program. Default: none, the image's.
	WorkingDirectory string
}

// Logging is what a function logs.
type Logging struct {
	// Format of the lines. Default: Text.
	Format *string `prop:"enum=Text|JSON"`
	// Group is the name of the log group. Default: none, /aws/lambda/NAME.
	Group string
	// ApplicationLevel is the least level of what the code logs, with the format JSON. Default: INFO.
	ApplicationLevel *string `prop:"enum=TRACE|DEBUG|INFO|WARN|ERROR|FATAL"`
	// SystemLevel is the least level of what Lambda logs, with the format JSON. Default: INFO.
	SystemLevel *string `prop:"enum=DEBUG|INFO|WARN"`
}

// Async is what becomes of asynchronous calls.
type Async struct {
	// MaxRetries of a call that failed, up to 2. Default: 2.
	MaxRetries *int `prop:"min=0,max=2"`
	// MaxAge of an event that is still tried, in whole seconds from a minute to 6 hours. Default: 6h.
	MaxAge *time.Duration `prop:"min=1m,max=6h"`
	// OnSuccess is the queue, topic, function or bus that gets the outcome of calls. Default: none.
	OnSuccess aws.ARN
	// OnFailure is the queue, topic, bucket, function or bus that gets the calls that failed for good. Default: none.
	OnFailure aws.ARN
}

// URL is the HTTP address of a function.
type URL struct {
	// Auth says who may call: NONE is everybody, and adds the two statements to the function's policy that this needs.
	Auth string `prop:"required,enum=AWS_IAM|NONE"`
	// InvokeMode says whether answers are sent whole or as they come. Default: BUFFERED.
	InvokeMode *string `prop:"enum=BUFFERED|RESPONSE_STREAM"`
	// CORS says which sites' scripts may call. Default: none.
	CORS *CORS
}

// CORS says which sites' scripts may call.
type CORS struct {
	// AllowOrigins are sites such as https://example.com, or *. Default: none.
	AllowOrigins []string
	// AllowMethods are methods such as GET, or *. Default: none.
	AllowMethods []string
	// AllowHeaders of requests. Default: none.
	AllowHeaders []string
	// ExposeHeaders of answers. Default: none.
	ExposeHeaders []string
	// AllowCredentials such as cookies. Default: false.
	AllowCredentials bool
	// MaxAge is how long browsers keep the answer to this, in whole seconds up to a day. Default: 0s.
	MaxAge time.Duration `prop:"min=0s,max=24h"`
}

// Function is what others may refer to of a function.
type Function struct {
	// ARN of the function, without a version.
	ARN aws.ARN
	// Name of the function.
	Name string
	// Role that it runs as.
	Role aws.ARN
	// URL at which it is called by HTTP; "" without one.
	URL string
	// LogGroup is the name of the log group that it writes to.
	LogGroup string
	// CodeDigest is the SHA-256 of its archive or image as Lambda writes it, in base64.
	CodeDigest string

	stack *athanor.Stack
	role  aws.ARN // as declared: the reference that grants go to
}
