package lambda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	errNoCode = errors.New("the code was not prepared: what it is made of is not known")
	errGoing  = errors.New("the function is still there")
	errFailed = errors.New("lambda could not do what it was asked")
)

// update is one comparison's calls, each for all of its paths. Lambda takes one of them at a time.
type update struct {
	want          FunctionProps
	config, codes *reconcile.Operation[liveFunction]
}

// ofCode reports that it was the code that could not be taken, not the configuration.
func (s status) ofCode() bool {
	switch types.LastUpdateStatusReasonCode(s.code) {
	case types.LastUpdateStatusReasonCodeImageDeleted, types.LastUpdateStatusReasonCodeImageAccessDenied,
		types.LastUpdateStatusReasonCodeInvalidImage, types.LastUpdateStatusReasonCodeInvalidZipFileException:
		return true
	}
	return false
}

func failed(why string) *reconcile.Operation[liveFunction] {
	return &reconcile.Operation[liveFunction]{Name: "UpdateFunctionConfiguration", Do: func(context.Context, reconcile.On[liveFunction]) error {
		return fmt.Errorf("%w: %s", errFailed, why)
	}}
}

// configuration is the call that sets the configuration: what differs, and no more.
func (u *update) configuration() *reconcile.Operation[liveFunction] {
	if u.config == nil {
		u.config = &reconcile.Operation[liveFunction]{Name: "UpdateFunctionConfiguration", Alone: true, Do: u.sendConfiguration}
	}
	return u.config
}

func (u *update) code() *reconcile.Operation[liveFunction] {
	if u.codes == nil {
		u.codes = &reconcile.Operation[liveFunction]{Name: "UpdateFunctionCode", Alone: true, Do: u.sendCode}
	}
	return u.codes
}

func (u *update) sendConfiguration(ctx context.Context, on reconcile.On[liveFunction]) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	whole, err := merged(u.want, on.Live.have, on.Changed)
	if err != nil {
		return err
	}
	all := whole.configuration(on.Live.image)
	in := &sdk.UpdateFunctionConfigurationInput{FunctionName: &on.Live.attrs.Name}
	for _, path := range on.Changed {
		if path == statusPath {
			all.FunctionName = in.FunctionName
			in = all
			break
		}
		members[first(path)](in, all)
	}
	_, err = client.UpdateFunctionConfiguration(ctx, in)
	return lag{on.Cloud, whole.Role, on.Since, false}.of(ctx, aws.NotYet(err))
}

// merged is what a thing is to be after a call that settles some paths: as it is, and those as they are wanted. What is
// ignored, or left for later, keeps its live value also where a call sets it together with others.
func merged[P any](want, have P, changed []tree.Path) (P, error) {
	var out P
	w, err := props.Encode(want)
	if err != nil {
		return out, err
	}
	h, err := props.Encode(have)
	if err != nil {
		return out, err
	}
	whole := any(h)
	for _, path := range changed {
		if v, ok := tree.Get(w, path); ok {
			whole = tree.With(whole, path, v)
		} else {
			whole = tree.Without(whole, path)
		}
	}
	result, _ := whole.(map[string]any)
	err = props.Load(result, &out)
	return out, err
}

// first is the prop that a path begins with.
func first(path tree.Path) string {
	end := strings.IndexAny(string(path), ".[")
	if end < 0 {
		return string(path)
	}
	return string(path[:end])
}

type configuration = sdk.UpdateFunctionConfigurationInput

// members are the parts of a configuration by the prop that each is made of.
var members = map[string]func(in, all *configuration){
	"description":      func(in, all *configuration) { in.Description = all.Description },
	"role":             func(in, all *configuration) { in.Role = all.Role },
	"runtime":          func(in, all *configuration) { in.Runtime = all.Runtime },
	"handler":          func(in, all *configuration) { in.Handler = all.Handler },
	"memory":           func(in, all *configuration) { in.MemorySize = all.MemorySize },
	"timeout":          func(in, all *configuration) { in.Timeout = all.Timeout },
	"ephemeralStorage": func(in, all *configuration) { in.EphemeralStorage = all.EphemeralStorage },
	"env":              func(in, all *configuration) { in.Environment = all.Environment },
	"layers":           func(in, all *configuration) { in.Layers = all.Layers },
	"vpc":              func(in, all *configuration) { in.VpcConfig = all.VpcConfig },
	"deadLetter":       func(in, all *configuration) { in.DeadLetterConfig = all.DeadLetterConfig },
	"tracing":          func(in, all *configuration) { in.TracingConfig = all.TracingConfig },
	"kmsKey":           func(in, all *configuration) { in.KMSKeyArn = all.KMSKeyArn },
	"fileSystems":      func(in, all *configuration) { in.FileSystemConfigs = all.FileSystemConfigs },
	"imageConfig":      func(in, all *configuration) { in.ImageConfig = all.ImageConfig },
	"logging":          func(in, all *configuration) { in.LoggingConfig = all.LoggingConfig },
	"snapStart":        func(in, all *configuration) { in.SnapStart = all.SnapStart },
}

// configuration is all of it, as a call sets it: what there is none of is empty, which clears it.
func (p FunctionProps) configuration(image bool) *configuration {
	vpc := orZero(p.VPC)
	in := &configuration{
		Description: &p.Description, Role: new(string(p.Role)), Handler: p.Handler, Runtime: types.Runtime(orZero(p.Runtime)),
		MemorySize: new(int32(*p.Memory / props.MiB)), Timeout: inSeconds(*p.Timeout),
		EphemeralStorage: &types.EphemeralStorage{Size: new(int32(*p.EphemeralStorage / props.MiB))},
		Environment:      &types.Environment{Variables: p.Env}, Layers: make([]string, 0, len(p.Layers)),
		VpcConfig: &types.VpcConfig{
			SubnetIds: append([]string{}, vpc.Subnets...), SecurityGroupIds: append([]string{}, vpc.SecurityGroups...), Ipv6AllowedForDualStack: &vpc.IPv6,
		},
		DeadLetterConfig: &types.DeadLetterConfig{TargetArn: new(string(p.DeadLetter))},
		TracingConfig:    &types.TracingConfig{Mode: types.TracingMode(*p.Tracing)}, KMSKeyArn: new(string(p.KMSKey)),
		FileSystemConfigs: make([]types.FileSystemConfig, 0, len(p.FileSystems)),
		LoggingConfig:     p.Logging.config(), SnapStart: &types.SnapStart{ApplyOn: types.SnapStartApplyOn(*p.SnapStart)},
	}
	if p.Env == nil {
		in.Environment.Variables = map[string]string{}
	}
	for _, l := range p.Layers {
		in.Layers = append(in.Layers, string(l))
	}
	for _, f := range p.FileSystems {
		in.FileSystemConfigs = append(in.FileSystemConfigs, types.FileSystemConfig{Arn: new(string(f.AccessPoint)), LocalMountPath: &f.Path})
	}
	if image {
		i := orZero(p.ImageConfig)
		in.ImageConfig = &types.ImageConfig{
			Command: append([]string{}, i.Command...), EntryPoint: append([]string{}, i.EntryPoint...), WorkingDirectory: &i.WorkingDirectory,
		}
		in.Runtime, in.Handler, in.Layers, in.SnapStart = "", nil, nil, nil // an image has its own
	}
	return in
}

func (l *Logging) config() *types.LoggingConfig {
	c := &types.LoggingConfig{LogFormat: types.LogFormat(*l.Format), LogGroup: aws.OrNil(l.Group)}
	if *l.Format == "JSON" {
		c.ApplicationLogLevel = types.ApplicationLogLevel(orZero(l.ApplicationLevel))
		c.SystemLogLevel = types.SystemLogLevel(orZero(l.SystemLevel))
	}
	return c
}

func inSeconds(d time.Duration) *int32 { return new(int32(d / time.Second)) }

// sendCode uploads. Without RevisionId the last writer wins, as with every other call.
func (u *update) sendCode(ctx context.Context, on reconcile.On[liveFunction]) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	code, err := functionCode(u.want.Code, on.Assets)
	if err != nil {
		return err
	}
	if code.SourceKMSKeyArn == nil && on.Live.have.Code.SourceKMSKey != "" {
		code.SourceKMSKeyArn = new("") // which clears it
	}
	_, err = client.UpdateFunctionCode(ctx, &sdk.UpdateFunctionCodeInput{
		FunctionName: &on.Live.attrs.Name, Architectures: []types.Architecture{types.Architecture(*u.want.Architecture)},
		ZipFile: code.ZipFile, S3Bucket: code.S3Bucket, S3Key: code.S3Key, S3ObjectVersion: code.S3ObjectVersion, ImageUri: code.ImageUri,
		SourceKMSKeyArn: code.SourceKMSKeyArn,
	})
	return aws.NotYet(err)
}

func functionCode(want Code, assets map[string]reconcile.Asset) (*types.FunctionCode, error) {
	switch {
	case want.Image != "":
		return &types.FunctionCode{ImageUri: &want.Image}, nil
	case want.S3 != nil:
		return &types.FunctionCode{
			S3Bucket: &want.S3.Bucket, S3Key: &want.S3.Key, S3ObjectVersion: aws.OrNil(want.S3.Version), SourceKMSKeyArn: aws.OrNil(string(want.SourceKMSKey)),
		}, nil
	}
	archive, err := content(assets)
	return &types.FunctionCode{ZipFile: archive, SourceKMSKeyArn: aws.OrNil(string(want.SourceKMSKey))}, err
}

// createFunction carries the configuration, the code and all tags in one call. The URL and what else has calls of its own
// follows when the function is active.
func createFunction(ctx context.Context, site functionSite) (Function, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Function{}, err
	}
	want := site.Want
	code, err := functionCode(want.Code, site.Assets)
	if err != nil {
		return Function{}, err
	}
	all := want.configuration(want.Code.Image != "")
	in := &sdk.CreateFunctionInput{
		FunctionName: &site.Name, Code: code, Role: all.Role, Handler: all.Handler, Runtime: all.Runtime, PackageType: types.PackageTypeZip,
		Architectures: []types.Architecture{types.Architecture(*want.Architecture)}, Description: all.Description, MemorySize: all.MemorySize,
		Timeout: all.Timeout, EphemeralStorage: all.EphemeralStorage, Layers: all.Layers, KMSKeyArn: aws.OrNil(string(want.KMSKey)),
		TracingConfig: all.TracingConfig, LoggingConfig: all.LoggingConfig, SnapStart: all.SnapStart, ImageConfig: all.ImageConfig,
		Tags: aws.Tags(want.Tags, site.Mark),
	}
	if want.Code.Image != "" {
		in.PackageType = types.PackageTypeImage
	}
	if len(want.Env) > 0 {
		in.Environment = all.Environment
	}
	if want.VPC != nil {
		in.VpcConfig = all.VpcConfig
	}
	if want.DeadLetter != "" {
		in.DeadLetterConfig = all.DeadLetterConfig
	}
	if len(want.FileSystems) > 0 {
		in.FileSystemConfigs = all.FileSystemConfigs
	}
	out, err := client.CreateFunction(ctx, in)
	if err != nil {
		return Function{}, lag{site.Cloud, want.Role, site.Since, false}.of(ctx, err)
	}
	group := logGroupOf(site.Name)
	if want.Logging.Group != "" {
		group = want.Logging.Group
	}
	return Function{
		ARN: functionARN(site.Place, site.Name), Name: site.Name, Role: want.Role, LogGroup: group, CodeDigest: sdkaws.ToString(out.CodeSha256),
	}, nil
}

// deleteFunction returns when Lambda no longer shows the function. Its URL, policy and settings of asynchronous calls go with it.
func deleteFunction(ctx context.Context, site functionSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	name := site.Last.Name
	if _, err := client.DeleteFunction(ctx, &sdk.DeleteFunctionInput{FunctionName: &name}); err != nil {
		return err
	}
	if _, err := client.GetFunction(ctx, &sdk.GetFunctionInput{FunctionName: &name}); err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(errGoing)
}

func putFunctionTags(ctx context.Context, on reconcile.On[liveFunction], tags map[string]string) error {
	return putTags(ctx, on.Cloud, on.Live.attrs.ARN, tags)
}

func dropFunctionTags(ctx context.Context, on reconcile.On[liveFunction], keys []string) error {
	return dropTags(ctx, on.Cloud, on.Live.attrs.ARN, keys)
}

func putTags(ctx context.Context, cloud reconcile.Cloud, arn aws.ARN, tags map[string]string) error {
	client, err := clientOf(cloud)
	if err != nil {
		return err
	}
	_, err = client.TagResource(ctx, &sdk.TagResourceInput{Resource: new(string(arn)), Tags: tags})
	return aws.NotYet(err)
}

func dropTags(ctx context.Context, cloud reconcile.Cloud, arn aws.ARN, keys []string) error {
	client, err := clientOf(cloud)
	if err != nil {
		return err
	}
	_, err = client.UntagResource(ctx, &sdk.UntagResourceInput{Resource: new(string(arn)), TagKeys: slices.Clone(keys)})
	return aws.NotYet(err)
}
