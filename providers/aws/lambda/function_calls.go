package lambda

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	errNoCode = errors.New("the code was not prepared: what it is made of is not known")
	errFailed = errors.New("lambda could not do what it was asked")
)

// observeFunction reads the function, then what other calls show of it.
func observeFunction(ctx context.Context, s functionSite) (live liveFunction, err error) {
	name, err := aws.NameOf(s, aws.Names[Function]{
		Of:  func(f Function) string { return f.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, "function:") },
		ARN: functionARN,
	})
	if err != nil {
		return live, err
	}
	client := clientOf(s.Cloud)
	out, err := client.GetFunction(ctx, &sdk.GetFunctionInput{FunctionName: &name})
	if err != nil {
		return live, aws.Absent(err)
	}
	shown, err := answerOf(out)
	if err != nil {
		return live, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		out, err := client.GetFunctionEventInvokeConfig(ctx, &sdk.GetFunctionEventInvokeConfigInput{FunctionName: &name})
		if err == nil {
			shown.GetFunctionEventInvokeConfigOutput = *out
		}
		return aws.OrNone(err)
	})
	group.Go(func() error {
		out, err := client.GetFunctionUrlConfig(ctx, &sdk.GetFunctionUrlConfigInput{FunctionName: &name})
		if err == nil {
			shown.GetFunctionUrlConfigOutput = *out
		}
		if err = aws.OrNone(err); err != nil || shown.FunctionUrl == nil && s.Want.URL == nil {
			return err
		}
		statements, err := statementsOf(ctx, client, name)
		live.isOpen, live.hasPublic = isOpen(statements)
		return err
	})
	if err = group.Wait(); err == nil {
		err = live.read(out, shown)
	}
	if err == nil && out.Configuration.LoggingConfig == nil {
		live.unshownLogging(s)
	}
	return live, err
}

// unshownLogging takes logging for what is declared where an answer has none at all, as emulators answer: Lambda shows the logging
// of each function.
func (l *liveFunction) unshownLogging(s functionSite) {
	declared := aws.OrZero(s.Want.Logging)
	switch {
	case !token.Has(declared.Group):
		declared.Group = cmp.Or(declared.Group, logGroupOf(l.attrs.Name))
	case s.Last == nil:
		return
	default: // it is not known yet what is declared
		declared.Group = s.Last.LogGroup
	}
	l.have.Logging, l.attrs.LogGroup = &declared, declared.Group
}

// hidden is an error that the service gives inside of an answer, about a part that it could not read: that the part is
// not shown does not say that there is none.
func hidden(code, message *string) error {
	return &smithy.GenericAPIError{Code: sdkaws.ToString(code), Message: sdkaws.ToString(message)}
}

// answerOf is what GetFunction shows of the configuration.
func answerOf(out *sdk.GetFunctionOutput) (*answer, error) {
	c := out.Configuration
	if c == nil {
		return nil, errors.New("an answer without a function")
	}
	shown := &answer{FunctionConfiguration: *c}
	switch {
	case out.TagsError != nil:
		return nil, fmt.Errorf("tags: %w", hidden(out.TagsError.ErrorCode, out.TagsError.Message))
	case c.Environment != nil && c.Environment.Error != nil:
		return nil, fmt.Errorf("environment: %w", hidden(c.Environment.Error.ErrorCode, c.Environment.Error.Message))
	case c.ImageConfigResponse != nil && c.ImageConfigResponse.Error != nil:
		return nil, fmt.Errorf("image: %w", hidden(c.ImageConfigResponse.Error.ErrorCode, c.ImageConfigResponse.Error.Message))
	}
	for _, l := range c.Layers {
		shown.Layers = append(shown.Layers, sdkaws.ToString(l.Arn))
	}
	shown.ImageConfig, shown.Concurrency = aws.OrZero(c.ImageConfigResponse).ImageConfig, aws.OrZero(out.Concurrency)
	logging := aws.OrZero(c.LoggingConfig)
	logging.LogGroup = new(cmp.Or(sdkaws.ToString(logging.LogGroup), logGroupOf(sdkaws.ToString(c.FunctionName))))
	if logging.LogFormat != types.LogFormatJson {
		logging.ApplicationLogLevel, logging.SystemLogLevel = "", ""
	}
	shown.LoggingConfig = &logging
	return shown, nil
}

// read takes what the calls have shown.
func (l *liveFunction) read(out *sdk.GetFunctionOutput, shown *answer) error {
	have, err := functionTable.Read(kind.Struct(shown))
	if err != nil {
		return err
	}
	l.have, l.tags, l.status = functionDefaults(have), out.Tags, statusOf(out.Configuration)
	l.isImage = shown.PackageType == types.PackageTypeImage
	code := aws.OrZero(out.Code)
	l.have.Code = Code{Image: sdkaws.ToString(code.ImageUri), SourceKMSKey: aws.ARN(sdkaws.ToString(code.SourceKMSKeyArn))}
	l.attrs = Function{
		ARN: aws.ARN(sdkaws.ToString(out.Configuration.FunctionArn)), Name: sdkaws.ToString(shown.FunctionName),
		Role: l.have.Role, LogGroup: l.have.Logging.Group,
		URL: sdkaws.ToString(shown.FunctionUrl), CodeDigest: sdkaws.ToString(shown.CodeSha256),
	}
	return nil
}

func statusOf(c *types.FunctionConfiguration) status {
	s := status{state: c.State, update: c.LastUpdateStatus}
	if s.state == types.StatePending || s.state == types.StateFailed {
		s.why, s.code = sdkaws.ToString(c.StateReason), string(c.StateReasonCode)
		return s
	}
	s.why, s.code = sdkaws.ToString(c.LastUpdateStatusReason), string(c.LastUpdateStatusReasonCode)
	return s
}

// createFunction carries the configuration, the code and all tags in one call. The URL and what else has calls of its
// own follows when the function is active.
func createFunction(ctx context.Context, s functionSite) (Function, error) {
	want := s.Want
	code, err := functionCode(ctx, want.Code, s.Assets)
	if err != nil {
		return Function{}, err
	}
	in := &sdk.CreateFunctionInput{FunctionName: &s.Name, Code: code, PackageType: "Zip", Tags: aws.Tags(s.Cloud, want.Tags, s.Owner)}
	if err := functionTable.Created(want, kind.Struct(in)); err != nil {
		return Function{}, err
	}
	if want.Code.Image != "" {
		in.PackageType, in.SnapStart = "Image", nil
	}
	out, err := clientOf(s.Cloud).CreateFunction(ctx, in)
	if err != nil {
		return Function{}, lag{s.Cloud, want.Role, s.Since, want.needsPermission()}.of(ctx, err)
	}
	return Function{
		ARN: functionARN(s.Location, s.Name), Name: s.Name, Role: want.Role,
		LogGroup: cmp.Or(want.Logging.Group, logGroupOf(s.Name)), CodeDigest: sdkaws.ToString(out.CodeSha256),
	}, nil
}

// needsPermission reports settings that Lambda takes only where the role permits what they need.
func (p FunctionProps) needsPermission() bool {
	return p.VPC != nil || p.DeadLetter != "" || p.KMSKey != "" || len(p.FileSystems) > 0
}

// functionCode is code as both calls take it that write some.
func functionCode(ctx context.Context, want Code, assets map[string]kind.Asset) (code *types.FunctionCode, err error) {
	code = &types.FunctionCode{SourceKMSKeyArn: aws.OrNil(string(want.SourceKMSKey))}
	switch {
	case want.Image != "":
		code.ImageUri = &want.Image
	case want.S3 != nil:
		code.S3Bucket, code.S3Key, code.S3ObjectVersion = &want.S3.Bucket, &want.S3.Key, aws.OrNil(want.S3.Version)
	default:
		code.ZipFile, err = content(ctx, assets)
	}
	return code, err
}

// deleteFunction deletes the function with its URL, its policy and its settings of asynchronous calls.
func deleteFunction(ctx context.Context, s functionSite) error {
	_, err := clientOf(s.Cloud).DeleteFunction(ctx, &sdk.DeleteFunctionInput{FunctionName: &s.Last.Name})
	return err
}

// compareFunction states every aspect. One call sets all of the configuration, another the code.
func compareFunction(d *functionDiff, want FunctionProps, live liveFunction) {
	configuration, code := setConfiguration(want), setCode(want)
	// Lambda takes the next of these calls only when it has done what the one before asks.
	configuration.Alone, code.Alone = true, true
	compareStatus(d, live, configuration, code)
	compareConfiguration(d, want, live, configuration)
	compareCode(d, want, live, code)
	kind.CompareCall(d, functionTable, want, live.have, "PutFunctionConcurrency", setConcurrency(want))
	kind.CompareCall(d, functionTable, want, live.have, "PutFunctionEventInvokeConfig", setAsync(want))
	compareURL(d, want, live)
}

// statusPath is where a creation or an update that failed shows.
const statusPath tree.Path = "state"

// compareStatus: what failed is tried once more in a run; that it failed again is an error.
func compareStatus(d *functionDiff, live liveFunction, call, code *functionOp) {
	why := live.status.failed()
	switch {
	case why == "":
		return
	case d.Made(statusPath):
		call = kind.Set(call.Name, func(context.Context, functionOn) error { return fmt.Errorf("%w: %s", errFailed, why) })
	case live.status.ofCode():
		call = code
	}
	reconcile.Value(d, statusPath, "Active", "Failed: "+why, call)
}

// compareConfiguration leaves out what does not count: levels of lines that are text, and how an archive is run where
// there is an image or is to be one.
func compareConfiguration(d *functionDiff, want FunctionProps, live liveFunction, call *functionOp) {
	have := live.have
	logging, shown := *want.Logging, *have.Logging
	if logging.Group == "" {
		logging.Group = logGroupOf(live.attrs.Name)
	}
	if *logging.Format != "JSON" {
		shown.ApplicationLevel, shown.SystemLevel = logging.ApplicationLevel, logging.SystemLevel
	}
	want.Logging, have.Logging = &logging, &shown
	if live.isImage || want.Code.Image != "" {
		want.Runtime, want.Handler = have.Runtime, have.Handler
	}
	kind.CompareCall(d, functionTable, want, have, "", call)
}

// compareCode compares archives by their digest, images by their URI. Of an archive in S3 nothing is shown: what was
// written last counts. An archive never becomes an image.
func compareCode(d *functionDiff, want FunctionProps, live liveFunction, set *functionOp) {
	code := want.Code
	path := code.path()
	if isImage := code.Image != ""; isImage != live.isImage {
		names := map[bool]string{false: "an archive", true: "an image"}
		reconcile.Fixed(d, "code.image", names[isImage], names[live.isImage])
		return
	}
	kind.CompareCall(d, functionTable, want, live.have, "UpdateFunctionCode", set)
	switch archive, ok := d.Asset(codeAsset); {
	case live.isImage:
		reconcile.Value(d, path, code.Image, live.have.Code.Image, set)
	case code.S3 != nil:
	case ok:
		have := inHex(live.attrs.CodeDigest)
		reconcile.Value(d, path, "sha256:"+archive.Digest, "sha256:"+have, set)
		if was, told := d.OldAsset(codeAsset); told && was.Digest == have {
			d.Files(path, codeAsset)
		}
	case d.Unknown(path, code.source()), code.source() == "": // nothing is declared, as when somebody asks what is there
		reconcile.Value(d, path, code.source(), "sha256:"+inHex(live.attrs.CodeDigest), set)
	}
	reconcile.Written(d, "code.s3", code.S3, set)
	if !live.isImage {
		reconcile.Value(d, "code.sourceKmsKey", code.SourceKMSKey, live.have.Code.SourceKMSKey, set)
	}
}

// inHex is a digest that Lambda writes in base64.
func inHex(digest string) string {
	sum, err := base64.StdEncoding.DecodeString(digest)
	if err != nil {
		return digest
	}
	return hex.EncodeToString(sum)
}

// compareURL closes before it changes anything else, and opens last.
func compareURL(d *functionDiff, want FunctionProps, live liveFunction) {
	known := want.URL == nil || !d.Unknown("url.auth", want.URL.Auth)
	public := want.URL != nil && want.URL.Auth == "NONE"
	if known && !public && live.hasPublic {
		reconcile.Value(d, "url.permission", everybody[false], everybody[true], setOpen(false))
	}
	switch have := live.have.URL; {
	case want.URL == nil && have == nil:
	case have == nil:
		call := aws.CallOf(clientOf, (*sdk.Client).CreateFunctionUrlConfig)
		reconcile.Value(d, "url", want.URL, nil, send("CreateFunctionUrlConfig", call, want.created))
	case want.URL == nil:
		call := aws.CallOf(clientOf, (*sdk.Client).DeleteFunctionUrlConfig)
		reconcile.Value(d, "url", nil, have, send("DeleteFunctionUrlConfig", call, nil))
	default:
		call := aws.CallOf(clientOf, (*sdk.Client).UpdateFunctionUrlConfig)
		update := send("UpdateFunctionUrlConfig", call, func(into kind.Wire, u functionOn) error {
			return functionTable.Changed(want, u.Live.have, u.Changed, into)
		})
		kind.CompareCall(d, functionTable, want, live.have, "UpdateFunctionUrlConfig", update)
	}
	if known && public && !live.isOpen {
		reconcile.Value(d, "url.permission", everybody[true], everybody[false], setOpen(true))
	}
}

// everybody is how it reads whether the policy lets everybody call.
var everybody = map[bool]string{false: "closed to the public", true: "open to the public"}

// target is a function that calls are made on.
type target struct {
	*sdk.Client
	name *string
}

// set is a call on a function.
func set(name string, do func(ctx context.Context, t target, u functionOn) error) *functionOp {
	return kind.Set(name, func(ctx context.Context, u functionOn) error {
		return aws.NotYet(do(ctx, target{clientOf(u.Cloud), &u.Live.attrs.Name}, u))
	})
}

// send is a call on a function whose input has its name; fill writes the rest, nil where there is none.
func send(name string, call aws.Call, fill func(into kind.Wire, u functionOn) error) *functionOp {
	return kind.Set(name, func(ctx context.Context, u functionOn) error {
		in := call.Input()
		into := kind.Struct(in)
		if into.Set("FunctionName", u.Live.attrs.Name); fill != nil {
			if err := fill(into, u); err != nil {
				return err
			}
		}
		return aws.NotYet(call.Send(ctx, u.Cloud, in))
	})
}

// setConfiguration sets what differs of the configuration.
func setConfiguration(want FunctionProps) *functionOp {
	return set("UpdateFunctionConfiguration", func(ctx context.Context, t target, u functionOn) error {
		in, err := configuration(want, u.Live, u.Changed)
		if err != nil {
			return err
		}
		_, err = t.UpdateFunctionConfiguration(ctx, in)
		role := cmp.Or(aws.ARN(sdkaws.ToString(in.Role)), u.Live.have.Role)
		return lag{u.Cloud, role, u.Since, want.needsPermission()}.of(ctx, aws.NotYet(err))
	})
}

// configuration is what is changed of it, and no more; after an update that failed, all of it.
func configuration(want FunctionProps, live liveFunction, changed []tree.Path) (
	*sdk.UpdateFunctionConfigurationInput, error,
) {
	in := &sdk.UpdateFunctionConfigurationInput{FunctionName: &live.attrs.Name}
	if slices.Contains(changed, statusPath) {
		if err := functionTable.Created(live.have, kind.Struct(in)); err != nil {
			return nil, err
		}
	}
	if err := functionTable.Changed(want, live.have, changed, kind.Struct(in)); err != nil {
		return nil, err
	}
	if live.isImage {
		in.SnapStart = nil
	}
	if l := in.LoggingConfig; l != nil {
		if l.LogGroup = aws.OrNil(sdkaws.ToString(l.LogGroup)); l.LogFormat != types.LogFormatJson {
			l.ApplicationLogLevel, l.SystemLogLevel = "", ""
		}
	}
	return in, nil
}

// setCode uploads. Without RevisionId the last writer wins, as with every other call.
func setCode(want FunctionProps) *functionOp {
	return set("UpdateFunctionCode", func(ctx context.Context, t target, u functionOn) error {
		code, err := functionCode(ctx, want.Code, u.Assets)
		if err != nil {
			return err
		}
		if code.SourceKMSKeyArn == nil && u.Live.have.Code.SourceKMSKey != "" {
			code.SourceKMSKeyArn = new("") // which clears it
		}
		_, err = t.UpdateFunctionCode(ctx, &sdk.UpdateFunctionCodeInput{
			FunctionName: t.name, Architectures: []types.Architecture{types.Architecture(*want.Architecture)},
			ZipFile: code.ZipFile, S3Bucket: code.S3Bucket, S3Key: code.S3Key, S3ObjectVersion: code.S3ObjectVersion,
			ImageUri: code.ImageUri, SourceKMSKeyArn: code.SourceKMSKeyArn,
		})
		return err
	})
}

func setConcurrency(want FunctionProps) *functionOp {
	if want.ReservedConcurrency == nil {
		return send("DeleteFunctionConcurrency", aws.CallOf(clientOf, (*sdk.Client).DeleteFunctionConcurrency), nil)
	}
	return send("PutFunctionConcurrency", aws.CallOf(clientOf, (*sdk.Client).PutFunctionConcurrency), want.created)
}

// created writes what a call takes of the props that is made anew.
func (p FunctionProps) created(w kind.Wire, _ functionOn) error { return functionTable.Created(p, w) }

// setAsync writes the settings whole; those of the service's defaults are none.
func setAsync(want FunctionProps) *functionOp {
	if reflect.DeepEqual(want.Async, functionDefaults(FunctionProps{}).Async) {
		return send("DeleteFunctionEventInvokeConfig", aws.CallOf(clientOf, (*sdk.Client).DeleteFunctionEventInvokeConfig), nil)
	}
	return set("PutFunctionEventInvokeConfig", func(ctx context.Context, t target, u functionOn) error {
		in := &sdk.PutFunctionEventInvokeConfigInput{FunctionName: t.name}
		if err := functionTable.Created(functionTable.Merged(want, u.Live.have, u.Changed), kind.Struct(in)); err != nil {
			return err
		}
		_, err := t.PutFunctionEventInvokeConfig(ctx, in)
		return lag{u.Cloud, u.Live.attrs.Role, u.Since, true}.of(ctx, err)
	})
}

// setOpen writes the statements for the public anew, or removes them.
func setOpen(open bool) *functionOp {
	name := map[bool]string{false: "RemovePermission", true: "AddPermission"}
	return set(name[open], func(ctx context.Context, t target, u functionOn) error {
		for _, s := range publicStatements {
			if u.Live.hasPublic {
				_, err := t.RemovePermission(ctx, &sdk.RemovePermissionInput{FunctionName: t.name, StatementId: &s.StatementID})
				if err := aws.OrNone(err); err != nil {
					return err
				}
			}
			if open {
				if err := addStatement(ctx, t.Client, *t.name, s.StatementID, s); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func listFunctions(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	next := func(out *sdk.ListFunctionsOutput) *string { return out.NextMarker }
	in := &sdk.ListFunctionsInput{}
	for page, err := range aws.PagesByToken(ctx, clientOf(scope.Cloud).ListFunctions, in, &in.Marker, next) {
		if err != nil {
			return nil, err
		}
		for _, f := range page.Functions {
			name := sdkaws.ToString(f.FunctionName)
			if strings.HasPrefix(name, scope.Prefix) {
				arn := functionARN(scope.Place, name)
				all = append(all, kind.Found{Kind: functionType, Place: scope.Place, Identity: string(arn), Name: name})
			}
		}
	}
	return all, nil
}
