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
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

func functionNames() aws.Names[Function] {
	return aws.Names[Function]{
		Of:  func(f Function) string { return f.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, "function:") },
		ARN: functionARN,
	}
}

// observeFunction asks for the function, then for what it has beside itself.
func observeFunction(ctx context.Context, site functionSite) (liveFunction, error) {
	name, err := aws.NameOf(site, functionNames())
	if err != nil {
		return liveFunction{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveFunction{}, err
	}
	out, err := client.GetFunction(ctx, &sdk.GetFunctionInput{FunctionName: &name})
	if err != nil {
		return liveFunction{}, aws.Absent(err)
	}
	live, err := functionOf(out)
	if err != nil {
		return live, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return live.readAsync(ctx, client) })
	group.Go(func() error { return live.readURL(ctx, client, site.Want.URL != nil) })
	return live, group.Wait()
}

// hidden is an error that the service gives inside of an answer: a part that it could not read. What is not told is not
// nothing.
func hidden(code, message *string) error {
	return &smithy.GenericAPIError{Code: sdkaws.ToString(code), Message: sdkaws.ToString(message)}
}

func functionOf(out *sdk.GetFunctionOutput) (liveFunction, error) {
	c := out.Configuration
	if c == nil {
		return liveFunction{}, errors.New("an answer without a function")
	}
	live := liveFunction{tags: out.Tags, image: c.PackageType == types.PackageTypeImage, status: statusOf(c)}
	live.attrs = Function{
		ARN: aws.ARN(sdkaws.ToString(c.FunctionArn)), Name: sdkaws.ToString(c.FunctionName), Role: aws.ARN(sdkaws.ToString(c.Role)),
		CodeDigest: sdkaws.ToString(c.CodeSha256),
	}
	switch {
	case out.TagsError != nil:
		return live, fmt.Errorf("tags: %w", hidden(out.TagsError.ErrorCode, out.TagsError.Message))
	case c.Environment != nil && c.Environment.Error != nil:
		return live, fmt.Errorf("environment: %w", hidden(c.Environment.Error.ErrorCode, c.Environment.Error.Message))
	case c.ImageConfigResponse != nil && c.ImageConfigResponse.Error != nil:
		return live, fmt.Errorf("image: %w", hidden(c.ImageConfigResponse.Error.ErrorCode, c.ImageConfigResponse.Error.Message))
	}
	live.have = configurationOf(c)
	if out.Concurrency != nil && out.Concurrency.ReservedConcurrentExecutions != nil {
		live.have.ReservedConcurrency = new(int(*out.Concurrency.ReservedConcurrentExecutions))
	}
	if out.Code != nil {
		live.have.Code = Code{Image: sdkaws.ToString(out.Code.ImageUri), SourceKMSKey: aws.ARN(sdkaws.ToString(out.Code.SourceKMSKeyArn))}
	}
	live.attrs.LogGroup = live.have.Logging.Group
	return live, nil
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

// configurationOf is a configuration in the shape of props.
func configurationOf(c *types.FunctionConfiguration) FunctionProps {
	p := FunctionProps{
		Name: sdkaws.ToString(c.FunctionName), Description: sdkaws.ToString(c.Description), Role: aws.ARN(sdkaws.ToString(c.Role)),
		Runtime: aws.OrNil(string(c.Runtime)), Handler: aws.OrNil(sdkaws.ToString(c.Handler)), Architecture: new("x86_64"),
		Memory: new(props.Size(sdkaws.ToInt32(c.MemorySize)) * props.MiB), Timeout: new(seconds(c.Timeout)), EphemeralStorage: new(512 * props.MiB),
		KMSKey: aws.ARN(sdkaws.ToString(c.KMSKeyArn)), Tracing: new("PassThrough"), SnapStart: new("None"),
		Logging: new(loggingOf(c)),
	}
	if len(c.Architectures) > 0 {
		p.Architecture = new(string(c.Architectures[0]))
	}
	if c.EphemeralStorage != nil {
		p.EphemeralStorage = new(props.Size(sdkaws.ToInt32(c.EphemeralStorage.Size)) * props.MiB)
	}
	if c.Environment != nil {
		p.Env = c.Environment.Variables
	}
	for _, l := range c.Layers {
		p.Layers = append(p.Layers, aws.ARN(sdkaws.ToString(l.Arn)))
	}
	if v := c.VpcConfig; v != nil && len(v.SubnetIds)+len(v.SecurityGroupIds) > 0 {
		p.VPC = &VPC{Subnets: v.SubnetIds, SecurityGroups: v.SecurityGroupIds, IPv6: sdkaws.ToBool(v.Ipv6AllowedForDualStack)}
	}
	if c.DeadLetterConfig != nil {
		p.DeadLetter = aws.ARN(sdkaws.ToString(c.DeadLetterConfig.TargetArn))
	}
	if c.TracingConfig != nil && c.TracingConfig.Mode != "" {
		p.Tracing = new(string(c.TracingConfig.Mode))
	}
	for _, f := range c.FileSystemConfigs {
		p.FileSystems = append(p.FileSystems, FileSystem{AccessPoint: aws.ARN(sdkaws.ToString(f.Arn)), Path: sdkaws.ToString(f.LocalMountPath)})
	}
	if r := c.ImageConfigResponse; r != nil && r.ImageConfig != nil {
		i := ImageConfig{EntryPoint: r.ImageConfig.EntryPoint, Command: r.ImageConfig.Command, WorkingDirectory: sdkaws.ToString(r.ImageConfig.WorkingDirectory)}
		if len(i.EntryPoint)+len(i.Command)+len(i.WorkingDirectory) > 0 {
			p.ImageConfig = &i
		}
	}
	if c.SnapStart != nil && c.SnapStart.ApplyOn != "" {
		p.SnapStart = new(string(c.SnapStart.ApplyOn))
	}
	return p
}

func loggingOf(c *types.FunctionConfiguration) Logging {
	l := Logging{Format: new("Text"), Group: logGroupOf(sdkaws.ToString(c.FunctionName))}
	have := c.LoggingConfig
	if have == nil {
		return l
	}
	if g := sdkaws.ToString(have.LogGroup); g != "" {
		l.Group = g
	}
	if have.LogFormat == types.LogFormatJson {
		l.Format, l.ApplicationLevel, l.SystemLevel = new("JSON"), new(string(have.ApplicationLogLevel)), new(string(have.SystemLogLevel))
	}
	return l
}

// logGroupOf is where a function writes to that does not say.
func logGroupOf(name string) string { return "/aws/lambda/" + name }

func seconds(n *int32) time.Duration { return time.Duration(sdkaws.ToInt32(n)) * time.Second }

// readAsync asks what becomes of asynchronous calls.
func (l *liveFunction) readAsync(ctx context.Context, client *sdk.Client) error {
	have := defaultAsync(nil)
	l.have.Async = &have
	out, err := client.GetFunctionEventInvokeConfig(ctx, &sdk.GetFunctionEventInvokeConfigInput{FunctionName: &l.attrs.Name})
	if aws.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if n := out.MaximumRetryAttempts; n != nil {
		have.MaxRetries = new(int(*n))
	}
	if n := out.MaximumEventAgeInSeconds; n != nil {
		have.MaxAge = new(seconds(n))
	}
	have.OnSuccess, have.OnFailure = destinationsOf(out.DestinationConfig)
	return nil
}

func destinationsOf(c *types.DestinationConfig) (success, failure aws.ARN) {
	if c == nil {
		return "", ""
	}
	if c.OnSuccess != nil {
		success = aws.ARN(sdkaws.ToString(c.OnSuccess.Destination))
	}
	if c.OnFailure != nil {
		failure = aws.ARN(sdkaws.ToString(c.OnFailure.Destination))
	}
	return success, failure
}

// readURL asks for the URL, and where there is or is to be one, who may call it.
func (l *liveFunction) readURL(ctx context.Context, client *sdk.Client, wanted bool) error {
	out, err := client.GetFunctionUrlConfig(ctx, &sdk.GetFunctionUrlConfigInput{FunctionName: &l.attrs.Name})
	switch {
	case aws.IsAbsent(err):
	case err != nil:
		return err
	default:
		l.attrs.URL = sdkaws.ToString(out.FunctionUrl)
		l.have.URL = &URL{Auth: string(out.AuthType), InvokeMode: new("BUFFERED"), CORS: corsOf(out.Cors)}
		if out.InvokeMode == types.InvokeModeResponseStream {
			l.have.URL.InvokeMode = new("RESPONSE_STREAM")
		}
	}
	if l.have.URL == nil && !wanted {
		return nil
	}
	statements, err := statementsOf(ctx, client, l.attrs.Name)
	l.open, l.leaves = isOpen(statements)
	return err
}

func corsOf(c *types.Cors) *CORS {
	if c == nil {
		return nil
	}
	out := CORS{
		AllowOrigins: c.AllowOrigins, AllowMethods: c.AllowMethods, AllowHeaders: c.AllowHeaders, ExposeHeaders: c.ExposeHeaders,
		AllowCredentials: sdkaws.ToBool(c.AllowCredentials), MaxAge: seconds(c.MaxAge),
	}
	if len(out.AllowOrigins)+len(out.AllowMethods)+len(out.AllowHeaders)+len(out.ExposeHeaders) == 0 && !out.AllowCredentials && out.MaxAge == 0 {
		return nil
	}
	return &out
}

func listFunctions(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	pages := sdk.NewListFunctionsPaginator(listFunctionsCall(client.ListFunctions), &sdk.ListFunctionsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range page.Functions {
			name := sdkaws.ToString(f.FunctionName)
			if strings.HasPrefix(name, scope.Prefix) {
				all = append(all, reconcile.Found{Kind: functionType, Place: scope.Place, Identity: string(functionARN(scope.Place, name)), Name: name})
			}
		}
	}
	return all, nil
}

// sorted is a list whose order does not count.
func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
