// Package lambda offers functions of AWS Lambda, with their code, URL, asynchronous calls and reserved concurrency; the
// statements of their resource policies; the mappings of event sources to them; their published versions, and the aliases
// that lead to those; and layers.
//
// It knows how code is packed for Lambda, which call reads and sets each aspect of a function, when a function or a
// mapping is busy, and what a role needs for each event source. It does not know how archives, programs and bundles are
// made (package asset), how calls are made and judged (package aws), or what a role holds (package iam).
package lambda

import (
	"cmp"
	"context"
	"embed"
	"iter"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed alias.go code.go function.go layer.go mapping.go permission.go version.go
var source embed.FS

const (
	aliasType      = "aws.lambda.Alias"
	functionType   = "aws.lambda.Function"
	layerType      = "aws.lambda.Layer"
	permissionType = "aws.lambda.Permission"
	mappingType    = "aws.lambda.EventSourceMapping"
	versionType    = "aws.lambda.Version"
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{
			functionKind.Erase(), permissionKind.Erase(), mappingKind.Erase(), versionKind.Erase(), aliasKind.Erase(),
			layerKind.Erase(),
		},
		Constructs: map[string]athanor.Construct{
			functionType: functionConstruct(),
		},
		Filters: []string{"lambda"},
		Registry: map[string]string{
			"AWS::Lambda::Function": functionType, "AWS::Lambda::Url": functionType, "AWS::Lambda::EventInvokeConfig": functionType,
			"AWS::Lambda::Permission": permissionType, "AWS::Lambda::EventSourceMapping": mappingType,
		},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			what, name, _ := strings.Cut(p.Resource, ":")
			kind = map[string]string{"function": functionType, "event-source-mapping": mappingType}[what]
			ok = ok && kind != "" && p.Service == "lambda" && !strings.Contains(name, ":") // that is a version or an alias
			if kind == mappingType {
				name = ""
			}
			return kind, string(arn), name, ok
		},
	}
}

// NewFunction declares a function. Without a role it gets one of its own, and a log group (see FunctionProps.Role): the
// role may write to that group and is given what else is granted to the function. Its logs go with it.
func NewFunction(s *athanor.Stack, name string, p FunctionProps, opts ...athanor.Option) Function {
	if p.Role == "" {
		p = ownRole(s, name, p, p.Logging == nil || p.Logging.Group == "", opts)
	}
	fn := athanor.Declare(s, functionKind, name, p, opts...)
	fn.stack, fn.role = s, p.Role
	return fn
}

// ReadFunction uses a function that the stack does not own: by its ARN, or by FunctionProps that name it.
func ReadFunction(s *athanor.Stack, name string, by any) Function {
	return athanor.Read(s, functionKind, name, by)
}

// Granted is the role that the function runs as: grants to the function are grants to it.
func (f Function) Granted() (s *athanor.Stack, role aws.ARN) { return f.stack, f.role }

// FunctionProps declare a function. Defaults and limits are those of
// https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
type FunctionProps struct {
	// Name of the function: up to 64 letters, digits, - and _. Default: none, a name is generated. Changing it replaces
	// the function.
	Name string
	// Description of the function. Default: none.
	Description string `prop:"maxlen=256" wire:"Description"`
	// Code that it runs.
	Code Code `prop:"required"`
	// Role that it runs as: an ARN. In Go programs a function without one gets a role and a log group of its own, in YAML
	// with "role: own" beside the props, or with grants: NAME/role, which may write to the group, do what vpc and tracing
	// need, and what is granted to the function; and NAME/logs.
	Role aws.ARN `prop:"required" wire:"Role"`
	// Runtime of an archive, such as python3.14. Default: provided.al2023 with code.go, nodejs24.x with code.bundle, none
	// with code.image; else it is required.
	Runtime *string `wire:"Runtime"`
	// Handler that is called first, such as index.handler. Default: bootstrap with code.go, index.handler with
	// code.bundle, none with code.image; else it is required.
	Handler *string `prop:"maxlen=128" wire:"Handler"`
	// Architecture of the processor.
	Architecture *string `prop:"enum=x86_64|arm64,default=x86_64" wire:"Architectures,only,call=UpdateFunctionCode"`
	// Memory, and with it the share of a processor, in whole MiB from 128 MiB to 10 GiB.
	Memory *props.Size `prop:"min=128MiB,max=10GiB,default=128MiB,unit=1MiB" wire:"MemorySize"`
	// Timeout is how long one call may take, in whole seconds up to 15 minutes.
	Timeout *time.Duration `prop:"min=1s,max=15m,default=3s" wire:"Timeout"`
	// EphemeralStorage is the size of /tmp, in whole MiB from 512 MiB to 10 GiB.
	EphemeralStorage *props.Size `prop:"min=512MiB,max=10GiB,default=512MiB,unit=1MiB" wire:"EphemeralStorage.Size"`
	// Env are variables of the environment, 4 KiB in all. Values that the program does not name are masked. Default: none.
	Env map[string]string `prop:"deferrable,masklive" wire:"Environment.Variables"`
	// Layers are ARNs of versions of layers, in the order in which they are laid over each other. Default: none.
	Layers []aws.ARN `prop:"maxitems=5" wire:"Layers"`
	// VPC connects the function to a network. Default: none.
	VPC *VPC `prop:"each" wire:"VpcConfig"`
	// DeadLetter is the queue or topic that gets the events of failed asynchronous calls; the role must be allowed to send
	// there. Default: none.
	DeadLetter aws.ARN `prop:"deferrable" wire:"DeadLetterConfig.TargetArn"`
	// Tracing says whether calls are sampled for X-Ray, or only those that were sampled already.
	Tracing *string `prop:"enum=PassThrough|Active,default=PassThrough" wire:"TracingConfig.Mode"`
	// KMSKey encrypts variables, and snapshots: the ARN of a key. Default: none, a key of Lambda.
	KMSKey aws.ARN `wire:"KMSKeyArn"`
	// FileSystems are those of EFS that are mounted. They need vpc. Default: none.
	FileSystems []FileSystem `prop:"maxitems=1" wire:"FileSystemConfigs,elements"`
	// ImageConfig overrides what an image says of itself. Default: none.
	ImageConfig *ImageConfig `prop:"each" wire:"ImageConfig"`
	// Logging says where the function's logs go, and which. Default: text, to /aws/lambda/NAME.
	Logging *Logging `prop:"each" wire:"LoggingConfig"`
	// SnapStart says what starts from a snapshot.
	SnapStart *string `prop:"enum=None|PublishedVersions,default=None" wire:"SnapStart.ApplyOn"`
	// ReservedConcurrency is how many calls may run at a time, which are taken from the account's; 0 stops the function.
	// Default: none, as many as the account has left.
	ReservedConcurrency *int `prop:"min=0" wire:"ReservedConcurrentExecutions,call=PutFunctionConcurrency"`
	// Async says what becomes of asynchronous calls. Default: 2 retries within 6 hours, no destinations.
	Async *Async `prop:"each" wire:"*"`
	// URL is an address of the function's own, for HTTP. Default: none.
	URL *URL `prop:"each" wire:"*"`
	// Tags of the function, beside the owner tags. Default: none.
	Tags map[string]string
}

// VPC is the network of a function.
type VPC struct {
	// Subnets are ids, in no order.
	Subnets []string `prop:"required,set,maxitems=16" wire:"SubnetIds"`
	// SecurityGroups are ids, in no order.
	SecurityGroups []string `prop:"required,set,maxitems=5" wire:"SecurityGroupIds"`
	// IPv6 allows outbound traffic by IPv6 in subnets of both kinds.
	IPv6 bool `prop:"default=false" wire:"Ipv6AllowedForDualStack,omitzero"`
}

// FileSystem is one that a function mounts.
type FileSystem struct {
	// AccessPoint is the ARN of an access point of EFS.
	AccessPoint aws.ARN `prop:"required,maxlen=200" wire:"Arn"`
	// Path where it is mounted, below /mnt/.
	Path string `prop:"required,maxlen=160" wire:"LocalMountPath"`
}

// ImageConfig overrides what an image says of itself.
type ImageConfig struct {
	// EntryPoint is the program with its first arguments. Default: none, the image's.
	EntryPoint []string `prop:"maxitems=1500" wire:"EntryPoint"`
	// Command are arguments of the program. Default: none, the image's.
	Command []string `prop:"maxitems=1500" wire:"Command"`
	// WorkingDirectory of the program. Default: none, the image's.
	WorkingDirectory string `prop:"maxlen=1000" wire:"WorkingDirectory"`
}

// Logging is what a function logs.
type Logging struct {
	// Format of the lines.
	Format *string `prop:"enum=Text|JSON,default=Text" wire:"LogFormat"`
	// Group is the name of the log group. Default: none, /aws/lambda/NAME.
	Group string `prop:"maxlen=512" wire:"LogGroup"`
	// ApplicationLevel is the least level of what the code logs, with the format JSON. Default: INFO.
	ApplicationLevel *string `prop:"enum=TRACE|DEBUG|INFO|WARN|ERROR|FATAL" wire:"ApplicationLogLevel"`
	// SystemLevel is the least level of what Lambda logs, with the format JSON. Default: INFO.
	SystemLevel *string `prop:"enum=DEBUG|INFO|WARN" wire:"SystemLogLevel"`
}

// Async is what becomes of asynchronous calls.
type Async struct {
	// MaxRetries of a call that failed, up to 2.
	MaxRetries *int `prop:"min=0,max=2,default=2" wire:"MaximumRetryAttempts,call=PutFunctionEventInvokeConfig"`
	// MaxAge of an event that is still tried, in whole seconds from a minute to 6 hours.
	MaxAge *time.Duration `prop:"min=1m,max=6h,default=6h" wire:"MaximumEventAgeInSeconds,call=PutFunctionEventInvokeConfig"`
	// OnSuccess is the queue, topic, function or bus that gets the outcome of calls. Default: none.
	OnSuccess aws.ARN `prop:"deferrable,maxlen=350" wire:"DestinationConfig.OnSuccess.Destination,call=PutFunctionEventInvokeConfig"`
	// OnFailure is the queue, topic, bucket, function or bus that gets the calls that failed for good. Default: none.
	OnFailure aws.ARN `prop:"deferrable,maxlen=350" wire:"DestinationConfig.OnFailure.Destination,call=PutFunctionEventInvokeConfig"`
}

// URL is the HTTP address of a function.
type URL struct {
	// Auth says who may call: NONE is everybody, and adds the two statements to the function's policy that this needs.
	Auth string `prop:"required,enum=AWS_IAM|NONE" wire:"AuthType,call=UpdateFunctionUrlConfig"`
	// InvokeMode says whether answers are sent whole or as they come.
	InvokeMode *string `prop:"enum=BUFFERED|RESPONSE_STREAM,default=BUFFERED" wire:"InvokeMode,call=UpdateFunctionUrlConfig"`
	// CORS says which sites' scripts may call. Default: none.
	CORS *CORS `prop:"each" wire:"Cors"`
}

// CORS says which sites' scripts may call.
type CORS struct {
	// AllowOrigins are sites such as https://example.com, or *. Default: none.
	AllowOrigins []string `prop:"set,deferrable,maxitems=100" wire:"AllowOrigins,call=UpdateFunctionUrlConfig"`
	// AllowMethods are methods such as GET, or *. Default: none.
	AllowMethods []string `prop:"set,maxitems=6" wire:"AllowMethods,call=UpdateFunctionUrlConfig"`
	// AllowHeaders of requests. Default: none.
	AllowHeaders []string `prop:"set,maxitems=100" wire:"AllowHeaders,call=UpdateFunctionUrlConfig"`
	// ExposeHeaders of answers. Default: none.
	ExposeHeaders []string `prop:"set,maxitems=100" wire:"ExposeHeaders,call=UpdateFunctionUrlConfig"`
	// AllowCredentials such as cookies.
	AllowCredentials bool `prop:"default=false" wire:"AllowCredentials,omitzero,call=UpdateFunctionUrlConfig"`
	// MaxAge is how long browsers keep the answer to this, in whole seconds up to a day.
	MaxAge time.Duration `prop:"min=0s,max=24h,default=0s" wire:"MaxAge,omitzero,call=UpdateFunctionUrlConfig"`
}

// Function is what others may refer to of a function.
type Function struct {
	// ARN of the function, without a version.
	ARN aws.ARN `attr:"early"`
	// Name of the function.
	Name string `attr:"early"`
	// Role that it runs as.
	Role aws.ARN `attr:"early,mutable"`
	// URL at which it is called by HTTP; "" without one.
	URL string `attr:"mutable"`
	// LogGroup is the name of the log group that it writes to.
	LogGroup string `attr:"early,mutable"`
	// CodeDigest is the SHA-256 of its archive or image as Lambda writes it, in base64.
	CodeDigest string `attr:"mutable"`

	stack *athanor.Stack
	role  aws.ARN // as declared: the reference that grants go to
}

// liveFunction is an observed function.
type liveFunction struct {
	attrs Function
	// have is the function in the shape of its props. Of its code it has the image and the key.
	have FunctionProps
	tags map[string]string
	// isImage: it runs an image, not an archive.
	isImage bool
	// isOpen: everybody may call its URL. hasPublic: its policy has at least one of the statements for that.
	isOpen, hasPublic bool
	status            status
}

// status is how far the function's creation or last update has come.
type status struct {
	state  types.State
	update types.LastUpdateStatus
	// why is the service's word on what it waits for, or what went wrong; code stands for that.
	why, code string
}

type (
	functionSite = kind.Site[FunctionProps, Function]
	functionDiff = kind.Diff[liveFunction]
	functionOn   = kind.Update[liveFunction]
	functionOp   = kind.Operation[liveFunction]
)

// answer is what the calls that read a function show of it together, by the names of the calls that set it.
type answer struct {
	types.FunctionConfiguration
	types.Concurrency
	sdk.GetFunctionEventInvokeConfigOutput
	sdk.GetFunctionUrlConfigOutput
	ImageConfig *types.ImageConfig
	Layers      []string
}

var functionTable = kind.TableOf[FunctionProps](kind.Codec{
	Name:  "only", // a list that has one element
	Write: func(prop any) (any, error) { return []any{prop}, nil },
	Read: func(wire any) (any, error) {
		if list, ok := wire.([]any); ok && len(list) > 0 {
			return list[0], nil
		}
		return nil, nil //nolint:nilnil // nothing is shown
	},
}).For(kind.In(sdk.CreateFunctionInput{}), kind.In(sdk.PutFunctionConcurrencyInput{}),
	kind.In(sdk.PutFunctionEventInvokeConfigInput{}), kind.In(sdk.CreateFunctionUrlConfigInput{}), kind.Out(answer{}))

var functionKind = &kind.Kind[FunctionProps, liveFunction, Function]{
	Type: functionType,
	Doc: "A function of AWS Lambda with its code, its URL, what becomes of asynchronous calls, and reserved concurrency. Code is built before " +
		"anything is looked at, and compared by the SHA-256 of its archive. Not managed, and left as they are: " +
		"published versions and aliases (aws.lambda.Version, aws.lambda.Alias), code signing, runtime management, recursion detection, tenancy, durable execution and " +
		"capacity providers. The log group that Lambda makes on the first call stays when the function is deleted.",

	Observe:    observeFunction,
	Create:     createFunction,
	Compare:    compareFunction,
	Attributes: func(live liveFunction) Function { return live.attrs },
	Delete:     deleteFunction,
	Identity:   func(f Function) string { return string(f.ARN) },

	Props:   functionTable,
	Default: functionDefaults,
	Check:   checkFunction,
	Named: &kind.Named[FunctionProps, liveFunction]{
		Given: func(want FunctionProps) string { return want.Name },
		Rule:  func(FunctionProps) kind.NameRule { return kind.NameRule{Max: 64, Marks: "-_"} },
		Live:  func(live liveFunction) string { return live.attrs.Name },
	},
	Owner: tagged(
		func(want FunctionProps) map[string]string { return want.Tags },
		func(live liveFunction) (map[string]string, aws.ARN) { return live.tags, live.attrs.ARN }),
	Status:  liveFunction.readiness,
	List:    listFunctions,
	Prepare: prepareCode,
	Files:   []tree.Path{"code.go", "code.directory", "code.zip", "code.bundle"},
	Logs: func(ctx context.Context, s functionSite, query kind.LogQuery) iter.Seq2[kind.LogLine, error] {
		return logs.Tail(ctx, s.Cloud, cmp.Or(s.Last.LogGroup, logGroupOf(s.Last.Name)), query)
	},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Lambda", "lambda", source, kind.Permissions{
		// A read shows the tags to those who may list them.
		Observe: []string{"GetFunction", "lambda:ListTags", "GetFunctionUrlConfig", "GetFunctionEventInvokeConfig", "GetPolicy"},
		List:    []string{"ListFunctions"},
		Create: []string{
			"CreateFunction", "TagResource", "CreateFunctionUrlConfig", "AddPermission", "PutFunctionConcurrency", "PutFunctionEventInvokeConfig",
		},
		Only: map[string][]tree.Path{
			"GetPolicy": {"url"}, "CreateFunctionUrlConfig": {"url"}, "AddPermission": {"url"},
			"PutFunctionConcurrency": {"reservedConcurrency"}, "PutFunctionEventInvokeConfig": {"async"},
		},
		Calls: map[string][]string{
			"CreateFunctionUrlConfig": {"CreateFunctionUrlConfig", "AddPermission"},
			"UpdateFunctionUrlConfig": {"UpdateFunctionUrlConfig", "AddPermission", "RemovePermission"},
			"DeleteFunctionUrlConfig": {"DeleteFunctionUrlConfig", "RemovePermission"},
		},
		Update: []string{
			"UpdateFunctionCode", "UpdateFunctionConfiguration", "TagResource", "UntagResource",
			"CreateFunctionUrlConfig", "UpdateFunctionUrlConfig", "DeleteFunctionUrlConfig", "AddPermission", "RemovePermission",
			"PutFunctionConcurrency", "DeleteFunctionConcurrency", "PutFunctionEventInvokeConfig", "DeleteFunctionEventInvokeConfig",
		},
		Delete:   []string{"DeleteFunction"},
		Resource: aws.On("lambda", "function:"),
		Anywhere: []string{"ListFunctions"},
		Depends:  functionDependences(),
	}, "IAM.GetRole", "Logs.FilterLogEvents"),
}

// functionDependences are what Lambda checks of its caller beside the call.
func functionDependences() []kind.Dependence {
	configuration, code := []string{"UpdateFunctionConfiguration"}, []string{"UpdateFunctionCode"}
	return []kind.Dependence{
		aws.PassRole("lambda.amazonaws.com", true, configuration, "role"),
		// Where Lambda refuses a role, its age says whether to wait.
		{Actions: []string{"iam:GetRole"}, Props: []tree.Path{"role"}, Resource: aws.RoleResources},
		// https://docs.aws.amazon.com/lambda/latest/dg/permissions-user-function.html
		{Actions: []string{"lambda:GetLayerVersion"}, Calls: configuration, Props: []tree.Path{"layers"}, Where: []tree.Path{"layers"}, Resource: aws.ARNOr("lambda", "layer:*:*")},
		// https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions
		{
			Actions: []string{"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"}, Calls: configuration,
			Props: []tree.Path{"vpc.subnets"}, Where: []tree.Path{"vpc"}, Resource: aws.Everything,
		},
		// https://docs.aws.amazon.com/lambda/latest/dg/configuration-filesystem-efs.html
		{
			Actions: []string{"elasticfilesystem:DescribeMountTargets"}, Calls: configuration, Props: []tree.Path{"fileSystems.*.accessPoint"},
			Where: []tree.Path{"fileSystems"}, Resource: aws.Everything,
		},
		// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars-encryption.html
		aws.UseKeyWhere([]tree.Path{"kmsKey", "env"}, []string{"kms:CreateGrant", "kms:Encrypt"}, "kmsKey"),
		aws.UseKey(reconcile.Observing, nil, []string{"kms:Decrypt"}, "kmsKey", "code.sourceKmsKey"),
		// https://docs.aws.amazon.com/lambda/latest/dg/encrypt-zip-package.html
		aws.UseKey(0, code, []string{"kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"}, "code.sourceKmsKey"),
		// https://docs.aws.amazon.com/lambda/latest/dg/permissions-user-function.html
		{
			Actions: []string{"s3:GetObject", "s3:GetObjectVersion"}, Calls: code, Props: []tree.Path{"code.s3.bucket"}, Under: "code.s3.key", Resource: archives,
		},
		// https://docs.aws.amazon.com/lambda/latest/dg/images-create.html#configuration-images-permissions
		{
			Actions: []string{"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:GetRepositoryPolicy", "ecr:SetRepositoryPolicy"},
			Calls:   code, Props: []tree.Path{"code.image"}, Resource: repositories,
		},
	}
}

// archives are objects of S3, each as the bucket and the key.
func archives(location kind.Location, object string) []string {
	return []string{"arn:" + aws.Partition(location.Region) + ":s3:::" + object}
}

var imageURI = props.Pattern(`^([0-9]{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([^:@]+)`)

// repositories are those of ECR that hold an image.
func repositories(location kind.Location, image string) []string {
	if m := imageURI().FindStringSubmatch(image); m != nil {
		return []string{string(aws.ARNIn(kind.Location{Account: m[1], Region: m[2]}, "ecr", "repository/"+m[3]))}
	}
	return []string{string(aws.ARNIn(location, "ecr", "repository/*"))}
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

// functionARN is how Lambda names a function.
func functionARN(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "lambda", "function:"+name)
}

// logGroupOf is the log group of a function that names none.
func logGroupOf(name string) string { return "/aws/lambda/" + name }

// readiness: nothing may be changed while a change is under way. An inactive function was not called for weeks and may
// be changed.
func (l liveFunction) readiness() kind.Status {
	switch s := l.status; {
	case s.state == types.StatePending:
		return kind.Busy("the function is not ready: " + s.why)
	case s.state == types.StateDeleting:
		return kind.Busy("the function is being deleted")
	case s.update == types.LastUpdateStatusInProgress:
		return kind.Busy("an update of the function is under way: " + s.why)
	}
	return kind.Ready()
}

// failed is why the creation or the last update failed, "" when it did not.
func (s status) failed() string {
	if s.state != types.StateFailed && s.update != types.LastUpdateStatusFailed {
		return ""
	}
	return strings.TrimSpace(s.code + " " + s.why)
}

// ofCode reports that Lambda could not take the code, rather than the configuration.
func (s status) ofCode() bool {
	return slices.Contains([]types.LastUpdateStatusReasonCode{
		types.LastUpdateStatusReasonCodeImageDeleted, types.LastUpdateStatusReasonCodeImageAccessDenied,
		types.LastUpdateStatusReasonCodeInvalidImage, types.LastUpdateStatusReasonCodeInvalidZipFileException,
	}, types.LastUpdateStatusReasonCode(s.code))
}

// functionDefaults are those that depend on other props. Logging and asynchronous calls have settings in any case.
func functionDefaults(want FunctionProps) FunctionProps {
	switch c := want.Code; {
	case c.Go != "":
		aws.OrDefault(&want.Runtime, goRuntime)
		aws.OrDefault(&want.Handler, "bootstrap")
	case c.Bundle != "":
		aws.OrDefault(&want.Runtime, nodeRuntime)
		aws.OrDefault(&want.Handler, "index.handler")
	}
	logging, async := aws.OrZero(want.Logging), aws.OrZero(want.Async)
	want.Logging, want.Async = &logging, &async
	if logging.Format != nil && *logging.Format == "JSON" {
		aws.OrDefault(&logging.ApplicationLevel, "INFO")
		aws.OrDefault(&logging.SystemLevel, "INFO")
	}
	functionTable.Default(&want)
	return want
}

// checkFunction finds what Lambda would refuse, or would take without doing it, beyond what the table says.
func checkFunction(want FunctionProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if len(want.Code.ways()) != 1 {
		wrong("code", "want exactly one of go, directory, zip, bundle, s3 and image")
	}
	checkPackage(want, wrong)
	checkEnv(want.Env, wrong)
	if len(want.FileSystems) > 0 && want.VPC == nil {
		wrong("fileSystems", "they are reached by vpc alone")
	}
	levels := aws.OrZero(want.Logging).ApplicationLevel != nil || aws.OrZero(want.Logging).SystemLevel != nil
	if f := aws.OrZero(want.Logging).Format; levels && (f == nil || *f == "Text") {
		wrong("logging.format", "levels need JSON")
	}
	return problems.OrNil()
}

// checkPackage: an archive needs to say how it is run, unless it is built here, and an image says it itself.
func checkPackage(want FunctionProps, wrong func(tree.Path, string)) {
	isImage, built := want.Code.Image != "", want.Code.Go != "" || want.Code.Bundle != ""
	for path, set := range map[tree.Path]bool{
		"runtime": want.Runtime != nil, "handler": want.Handler != nil, "layers": len(want.Layers) > 0,
	} {
		switch {
		case isImage && set:
			wrong(path, "an image has its own")
		case !isImage && !set && !built && path != "layers":
			wrong(path, "is required with this code")
		}
	}
	if !isImage && want.ImageConfig != nil {
		wrong("imageConfig", "it is for code.image alone")
	}
	if r := want.Runtime; r != nil && want.Code.Bundle != "" && !token.Has(*r) && !strings.HasPrefix(*r, "nodejs") {
		wrong("runtime", "a bundle runs on nodejs")
	}
}

func checkEnv(env map[string]string, wrong func(tree.Path, string)) {
	size := 0
	for name, value := range env {
		if token.Has(name) || token.Has(value) {
			return
		}
		size += len(name) + len(value)
	}
	if size > 4<<10 {
		wrong("env", "has more than the 4 KiB that Lambda takes")
	}
}
