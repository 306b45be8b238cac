package lambda

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveFunction is a function as it was seen.
type liveFunction struct {
	attrs Function
	// have is what it is made like, in the shape of its props and with the service's defaults in it. Of its code it has
	// the image and the key.
	have FunctionProps
	tags map[string]string
	// image says that it runs an image, not an archive.
	image bool
	// open says that everybody may call its URL, and leaves that such a policy has both its statements or at least one.
	open, leaves bool
	status       status
}

// status is how far the function's creation or last update has come.
type status struct {
	state  types.State
	update types.LastUpdateStatus
	// why is the service's word on what it waits for, or what went wrong; code stands for that.
	why, code string
}

type (
	functionSite = reconcile.Site[FunctionProps, Function]
	functionDiff = reconcile.Diff[liveFunction]
)

var functionKind = &reconcile.Kind[FunctionProps, liveFunction, Function]{
	Type: functionType,
	Doc: "A function of AWS Lambda with its code, its URL, what becomes of asynchronous calls, and reserved concurrency. Code is built before " +
		"anything is looked at, and compared by the SHA-256 of its archive. Not managed, and left as they are: published versions, " +
		"aliases and provisioned concurrency, code signing, runtime management, recursion detection, tenancy, durable execution and " +
		"capacity providers. The log group that Lambda makes on the first call stays when the function is deleted.",

	Observe:  observeFunction,
	Create:   createFunction,
	Compare:  compareFunction,
	Attrs:    func(live liveFunction) Function { return live.attrs },
	Delete:   deleteFunction,
	Identity: func(f Function) string { return string(f.ARN) },

	Naming: func(FunctionProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 64, Allowed: nameRune}
	},
	Given:    func(want FunctionProps) string { return want.Name },
	Defaults: functionDefaults,
	Check:    checkFunction,
	Prepare:  prepareCode,
	Files:    []tree.Path{"code.go", "code.directory", "code.zip", "code.bundle"},
	Late:     []tree.Path{"env.*", "async", "deadLetter", "url.cors.allowOrigins"},
	AtBirth:  []string{"arn", "name", "role", "logGroup"},
	Moves:    []string{"role", "url", "logGroup", "codeDigest"},
	MaskLive: []tree.Path{"env"},

	Owner: func(live liveFunction) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Busy:  liveFunction.busy,
	List:  listFunctions,
	Logs:  functionLogs,

	Source: source,
	Calls: []string{
		"Lambda.GetFunction", "Lambda.GetFunctionUrlConfig", "Lambda.GetFunctionEventInvokeConfig", "Lambda.GetPolicy", "Lambda.ListFunctions",
		"Lambda.CreateFunction", "Lambda.UpdateFunctionCode", "Lambda.UpdateFunctionConfiguration", "Lambda.DeleteFunction",
		"Lambda.CreateFunctionUrlConfig", "Lambda.UpdateFunctionUrlConfig", "Lambda.DeleteFunctionUrlConfig",
		"Lambda.AddPermission", "Lambda.RemovePermission", "Lambda.PutFunctionConcurrency", "Lambda.DeleteFunctionConcurrency",
		"Lambda.PutFunctionEventInvokeConfig", "Lambda.DeleteFunctionEventInvokeConfig", "Lambda.TagResource", "Lambda.UntagResource",
		"IAM.GetRole", "Logs.FilterLogEvents",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{
			"lambda:GetFunction", "lambda:ListTags", "lambda:GetFunctionUrlConfig", "lambda:GetFunctionEventInvokeConfig", "lambda:GetPolicy",
		},
		List:   []string{"lambda:ListFunctions"},
		Create: slices.Concat([]string{"lambda:CreateFunction", "iam:GetRole", "lambda:GetLayerVersion"}, functionChanges),
		Update: slices.Concat([]string{
			"lambda:UpdateFunctionCode", "lambda:UpdateFunctionConfiguration", "iam:GetRole", "lambda:GetLayerVersion", "lambda:UntagResource",
			"lambda:UpdateFunctionUrlConfig", "lambda:DeleteFunctionUrlConfig", "lambda:RemovePermission",
			"lambda:DeleteFunctionConcurrency", "lambda:DeleteFunctionEventInvokeConfig",
		}, functionChanges),
		Delete: []string{"lambda:DeleteFunction"},
		Resource: func(place reconcile.Place, name string) []string {
			return []string{string(functionARN(place, name))}
		},
		// Roles and layers are none of the function's own ARNs, and the listing has none.
		Anywhere: []string{"lambda:ListFunctions", "iam:GetRole", "lambda:GetLayerVersion"},
		Passes:   map[string][]tree.Path{"iam:PassRole": {"role"}},
	},
}

// functionChanges are what follows a creation where the props ask for it, as well as an update.
var functionChanges = []string{
	"lambda:TagResource", "lambda:CreateFunctionUrlConfig", "lambda:AddPermission", "lambda:PutFunctionConcurrency", "lambda:PutFunctionEventInvokeConfig",
}

// functionARN is how Lambda names a function.
func functionARN(place reconcile.Place, name string) aws.ARN {
	return aws.ARNIn(place, "lambda", "function:"+name)
}

func nameRune(r rune) bool {
	return r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// busy says that nothing may be changed yet. An inactive function has not been called for weeks and may be changed.
func (l liveFunction) busy() string {
	switch s := l.status; {
	case s.state == types.StatePending:
		return "the function is being created: " + s.why
	case s.state == types.StateDeleting:
		return "the function is being deleted"
	case s.update == types.LastUpdateStatusInProgress:
		return "an update of the function is under way: " + s.why
	}
	return ""
}

// failed is why the creation or the last update came to nothing, "" when it did not.
func (s status) failed() string {
	if s.state != types.StateFailed && s.update != types.LastUpdateStatusFailed {
		return ""
	}
	return strings.TrimSpace(s.code + " " + s.why)
}

func functionDefaults(want FunctionProps) FunctionProps {
	switch c := want.Code; {
	case c.Go != "":
		aws.OrDefault(&want.Runtime, goRuntime)
		aws.OrDefault(&want.Handler, "bootstrap")
	case c.Bundle != "":
		aws.OrDefault(&want.Runtime, nodeRuntime)
		aws.OrDefault(&want.Handler, "index.handler")
	}
	aws.OrDefault(&want.Architecture, "x86_64")
	aws.OrDefault(&want.Memory, 128*props.MiB)
	aws.OrDefault(&want.Timeout, 3*time.Second)
	aws.OrDefault(&want.EphemeralStorage, 512*props.MiB)
	aws.OrDefault(&want.Tracing, "PassThrough")
	aws.OrDefault(&want.SnapStart, "None")
	want.Logging = new(defaultLogging(want.Logging))
	want.Async = new(defaultAsync(want.Async))
	if want.URL != nil {
		url := *want.URL
		aws.OrDefault(&url.InvokeMode, "BUFFERED")
		want.URL = &url
	}
	return want
}

func defaultLogging(want *Logging) Logging {
	var l Logging
	if want != nil {
		l = *want
	}
	aws.OrDefault(&l.Format, "Text")
	if *l.Format == "JSON" {
		aws.OrDefault(&l.ApplicationLevel, "INFO")
		aws.OrDefault(&l.SystemLevel, "INFO")
	}
	return l
}

func defaultAsync(want *Async) Async {
	var a Async
	if want != nil {
		a = *want
	}
	aws.OrDefault(&a.MaxRetries, 2)
	aws.OrDefault(&a.MaxAge, 6*time.Hour)
	return a
}

// checkFunction finds what Lambda would refuse, or would take without doing it.
func checkFunction(want FunctionProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	if n := want.Name; n != "" && !token.Has(n) && (len(n) > 64 || strings.ContainsFunc(n, func(r rune) bool { return !nameRune(r) })) {
		wrong("name", "want up to 64 letters, digits, - and _")
	}
	if !token.Has(want.Description) && utf8.RuneCountInString(want.Description) > 256 {
		wrong("description", "want up to 256 characters")
	}
	checkCode(want.Code, wrong)
	checkPackage(want, wrong)
	checkSpans(want, wrong)
	checkEnv(want.Env, wrong)
	if len(want.Layers) > 5 {
		wrong("layers", "want at most 5")
	}
	if len(want.FileSystems) > 0 && want.VPC == nil {
		wrong("fileSystems", "they are reached by vpc alone")
	}
	if l := want.Logging; l != nil && (l.Format == nil || *l.Format == "Text") && (l.ApplicationLevel != nil || l.SystemLevel != nil) {
		wrong("logging.format", "levels need JSON")
	}
	return problems.OrNil()
}

// checkPackage: an archive needs to say how it is run, and an image says it itself.
func checkPackage(want FunctionProps, wrong func(tree.Path, string)) {
	if want.Code.Image == "" {
		made := want.Code.Go != "" || want.Code.Bundle != ""
		if want.Runtime == nil && !made {
			wrong("runtime", "is required with this code")
		}
		if want.Handler == nil && !made {
			wrong("handler", "is required with this code")
		}
		if want.ImageConfig != nil {
			wrong("imageConfig", "it is for code.image alone")
		}
		if r := want.Runtime; r != nil && want.Code.Bundle != "" && !token.Has(*r) && !strings.HasPrefix(*r, "nodejs") {
			wrong("runtime", "a bundle runs on nodejs")
		}
		return
	}
	for path, set := range map[tree.Path]bool{"runtime": want.Runtime != nil, "handler": want.Handler != nil, "layers": len(want.Layers) > 0} {
		if set {
			wrong(path, "an image has its own")
		}
	}
}

func checkSpans(want FunctionProps, wrong func(tree.Path, string)) {
	spans := map[tree.Path]*time.Duration{"timeout": want.Timeout}
	if want.Async != nil {
		spans["async.maxAge"] = want.Async.MaxAge
	}
	if want.URL != nil && want.URL.CORS != nil {
		spans["url.cors.maxAge"] = &want.URL.CORS.MaxAge
	}
	for path, span := range spans {
		if span != nil && *span%time.Second != 0 {
			wrong(path, "want whole seconds")
		}
	}
	for path, size := range map[tree.Path]*props.Size{"memory": want.Memory, "ephemeralStorage": want.EphemeralStorage} {
		if size != nil && *size%props.MiB != 0 {
			wrong(path, "want whole MiB")
		}
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
