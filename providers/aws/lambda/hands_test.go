package lambda

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// textIn is a text at a path of props, or the other one.
func textIn(props obj, path tree.Path, otherwise string) string {
	if v, ok := tree.Get(props, path); ok {
		return str(v)
	}
	return otherwise
}

func textsIn(props obj, path tree.Path) []string {
	out := []string{}
	if v, ok := tree.Get(props, path); ok {
		for _, x := range v.([]any) {
			out = append(out, str(x))
		}
	}
	return out
}

func flagIn(props obj, path tree.Path) bool {
	v, _ := tree.Get(props, path)
	is, _ := v.(bool)
	return is
}

func spanIn(p obj, path tree.Path, otherwise time.Duration) *int32 {
	var d struct{ D *time.Duration }
	text := textIn(p, path, otherwise.String())
	if err := props.Decode(obj{"d": text}, &d); err != nil {
		panic(err)
	}
	return new(int32(d.D.Seconds()))
}

func sizeIn(p obj, path tree.Path, otherwise string) *int32 {
	n, err := props.ParseSize(textIn(p, path, otherwise))
	if err != nil {
		panic(err)
	}
	return new(int32(n / props.MiB))
}

// configured are the members by which Lambda keeps what the props say, as somebody else would set them.
var configured = map[tree.Path]func(in *sdk.UpdateFunctionConfigurationInput, p obj){
	"description": func(in *configuration, p obj) { in.Description = new(textIn(p, "description", "")) },
	"role":        func(in *configuration, p obj) { in.Role = new(textIn(p, "role", "")) },
	"runtime":     func(in *configuration, p obj) { in.Runtime = types.Runtime(textIn(p, "runtime", nodeRuntime)) },
	"handler":     func(in *configuration, p obj) { in.Handler = new(textIn(p, "handler", "index.handler")) },
	"memory":      func(in *configuration, p obj) { in.MemorySize = sizeIn(p, "memory", "128MiB") },
	"timeout":     func(in *configuration, p obj) { in.Timeout = spanIn(p, "timeout", 3*time.Second) },
	"kmsKey":      func(in *configuration, p obj) { in.KMSKeyArn = new(textIn(p, "kmsKey", "")) },
	"layers":      func(in *configuration, p obj) { in.Layers = textsIn(p, "layers") },
	"ephemeralStorage": func(in *configuration, p obj) {
		in.EphemeralStorage = &types.EphemeralStorage{Size: sizeIn(p, "ephemeralStorage", "512MiB")}
	},
	"deadLetter": func(in *configuration, p obj) {
		in.DeadLetterConfig = &types.DeadLetterConfig{TargetArn: new(textIn(p, "deadLetter", ""))}
	},
	"tracing": func(in *configuration, p obj) {
		in.TracingConfig = &types.TracingConfig{Mode: types.TracingMode(textIn(p, "tracing", "PassThrough"))}
	},
	"snapStart": func(in *configuration, p obj) {
		in.SnapStart = &types.SnapStart{ApplyOn: types.SnapStartApplyOn(textIn(p, "snapStart", "None"))}
	},
	"env": func(in *configuration, p obj) {
		in.Environment = &types.Environment{Variables: map[string]string{}}
		env, _ := p["env"].(obj)
		for k, v := range env {
			in.Environment.Variables[k] = str(v)
		}
	},
	"vpc": func(in *configuration, p obj) {
		in.VpcConfig = &types.VpcConfig{
			SubnetIds: textsIn(p, "vpc.subnets"), SecurityGroupIds: textsIn(p, "vpc.securityGroups"), Ipv6AllowedForDualStack: new(flagIn(p, "vpc.ipv6")),
		}
	},
	"fileSystems": func(in *configuration, p obj) {
		in.FileSystemConfigs = []types.FileSystemConfig{}
		all, _ := p["fileSystems"].([]any)
		for _, f := range all {
			in.FileSystemConfigs = append(in.FileSystemConfigs, types.FileSystemConfig{
				Arn: new(str(f.(obj)["accessPoint"])), LocalMountPath: new(str(f.(obj)["path"])),
			})
		}
	},
	"imageConfig": func(in *configuration, p obj) {
		in.ImageConfig = &types.ImageConfig{
			EntryPoint: textsIn(p, "imageConfig.entryPoint"), Command: textsIn(p, "imageConfig.command"),
			WorkingDirectory: new(textIn(p, "imageConfig.workingDirectory", "")),
		}
	},
	"logging": func(in *configuration, p obj) {
		in.LoggingConfig = &types.LoggingConfig{LogFormat: types.LogFormat(textIn(p, "logging.format", "Text")), LogGroup: new(textIn(p, "logging.group", "/aws/lambda/"+*in.FunctionName))}
		if in.LoggingConfig.LogFormat == "JSON" {
			in.LoggingConfig.ApplicationLogLevel = types.ApplicationLogLevel(textIn(p, "logging.applicationLevel", "INFO"))
			in.LoggingConfig.SystemLogLevel = types.SystemLogLevel(textIn(p, "logging.systemLevel", "INFO"))
		}
	},
}

// by is a hand that makes one call.
func (ws worlds) by(call func(ctx context.Context, t kindtest.T, c *sdk.Client, name *string, to kindtest.Edited) error) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		name, _ := to.Attrs["name"].(string)
		if err := call(context.Background(), t, ws[w.Dir].others, &name, to); err != nil {
			t.Fatalf("by hand: %v", err)
		}
	}
}

// functionHands change each aspect of a function as somebody else would.
func (ws worlds) functionHands() map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"": ws.by(func(ctx context.Context, _ kindtest.T, c *sdk.Client, name *string, _ kindtest.Edited) error {
			_, err := c.DeleteFunction(ctx, &sdk.DeleteFunctionInput{FunctionName: name})
			return err
		}),
		"reservedConcurrency": ws.by(reserveByHand),
		"async":               ws.by(asyncByHand),
		"url":                 ws.by(urlByHand),
		"tags":                ws.by(retagByHand),
		"architecture":        ws.codeByHand,
	}
	for _, path := range []tree.Path{"code.directory", "code.zip", "code.bundle", "code.image", "code.sourceKmsKey"} {
		hands[path] = ws.codeByHand
	}
	for path, set := range configured {
		hands[path] = ws.by(func(ctx context.Context, _ kindtest.T, c *sdk.Client, name *string, to kindtest.Edited) error {
			in := &sdk.UpdateFunctionConfigurationInput{FunctionName: name}
			set(in, to.Props)
			_, err := c.UpdateFunctionConfiguration(ctx, in)
			return err
		})
	}
	return hands
}

// codeByHand uploads what somebody else would make of the props.
func (ws worlds) codeByHand(t kindtest.T, w kindtest.World, to kindtest.Edited) {
	t.Helper()
	var p FunctionProps
	if err := props.Decode(to.Props, &p); err != nil {
		t.Fatalf("%v", err)
	}
	assets, err := prepareCode(t.Context(), reconcile.Workspace{Dir: w.Dir, Cache: t.TempDir()}, functionDefaults(p))
	if err != nil {
		t.Fatalf("%v", err)
	}
	in := &sdk.UpdateFunctionCodeInput{
		FunctionName: new(str(to.Attrs["name"])), Architectures: []types.Architecture{types.Architecture(textIn(to.Props, "architecture", "x86_64"))},
	}
	if uri := textIn(to.Props, "code.image", ""); uri != "" {
		in.ImageUri = &uri
	} else {
		in.SourceKMSKeyArn = new(textIn(to.Props, "code.sourceKmsKey", ""))
		if in.ZipFile, err = os.ReadFile(assets[codeAsset].Path); err != nil {
			t.Fatalf("%v", err)
		}
	}
	if _, err := ws[w.Dir].others.UpdateFunctionCode(t.Context(), in); err != nil {
		t.Fatalf("by hand: %v", err)
	}
}

func reserveByHand(ctx context.Context, _ kindtest.T, c *sdk.Client, name *string, to kindtest.Edited) error {
	n, ok := to.Value.(int64)
	if !ok {
		_, err := c.DeleteFunctionConcurrency(ctx, &sdk.DeleteFunctionConcurrencyInput{FunctionName: name})
		return err
	}
	_, err := c.PutFunctionConcurrency(ctx, &sdk.PutFunctionConcurrencyInput{FunctionName: name, ReservedConcurrentExecutions: new(int32(n))})
	return err
}

func asyncByHand(ctx context.Context, _ kindtest.T, c *sdk.Client, name *string, to kindtest.Edited) error {
	if to.Value == nil {
		_, err := c.DeleteFunctionEventInvokeConfig(ctx, &sdk.DeleteFunctionEventInvokeConfigInput{FunctionName: name})
		return err
	}
	retries := int32(2)
	if n, ok := tree.Get(to.Props, "async.maxRetries"); ok {
		retries = int32(n.(int64))
	}
	destination := func(path tree.Path) *string {
		if text := textIn(to.Props, path, ""); text != "" {
			return &text
		}
		return nil
	}
	_, err := c.PutFunctionEventInvokeConfig(ctx, &sdk.PutFunctionEventInvokeConfigInput{
		FunctionName: name, MaximumRetryAttempts: &retries, MaximumEventAgeInSeconds: spanIn(to.Props, "async.maxAge", 6*time.Hour),
		DestinationConfig: &types.DestinationConfig{
			OnSuccess: &types.OnSuccess{Destination: destination("async.onSuccess")}, OnFailure: &types.OnFailure{Destination: destination("async.onFailure")},
		},
	})
	return err
}

func urlByHand(ctx context.Context, _ kindtest.T, c *sdk.Client, name *string, to kindtest.Edited) error {
	if to.Value == nil {
		_, err := c.DeleteFunctionUrlConfig(ctx, &sdk.DeleteFunctionUrlConfigInput{FunctionName: name})
		return err
	}
	auth := types.FunctionUrlAuthType(textIn(to.Props, "url.auth", ""))
	mode := types.InvokeMode(textIn(to.Props, "url.invokeMode", "BUFFERED"))
	cors := &types.Cors{
		AllowOrigins: textsIn(to.Props, "url.cors.allowOrigins"), AllowMethods: textsIn(to.Props, "url.cors.allowMethods"),
		AllowHeaders: textsIn(to.Props, "url.cors.allowHeaders"), ExposeHeaders: textsIn(to.Props, "url.cors.exposeHeaders"),
		AllowCredentials: new(flagIn(to.Props, "url.cors.allowCredentials")), MaxAge: spanIn(to.Props, "url.cors.maxAge", 0),
	}
	if to.Attrs["url"] == "" || to.Attrs["url"] == nil {
		_, err := c.CreateFunctionUrlConfig(ctx, &sdk.CreateFunctionUrlConfigInput{FunctionName: name, AuthType: auth, InvokeMode: mode, Cors: cors})
		return err
	}
	_, err := c.UpdateFunctionUrlConfig(ctx, &sdk.UpdateFunctionUrlConfigInput{FunctionName: name, AuthType: auth, InvokeMode: mode, Cors: cors})
	return err
}

func retagByHand(ctx context.Context, t kindtest.T, c *sdk.Client, _ *string, to kindtest.Edited) error {
	t.Helper()
	arn := new(str(to.Attrs["arn"]))
	have, err := c.ListTags(ctx, &sdk.ListTagsInput{Resource: arn})
	if err != nil {
		return err
	}
	want := map[string]string{}
	tags, _ := to.Value.(map[string]any)
	for k, v := range tags {
		want[k] = str(v)
	}
	drop := slices.DeleteFunc(slices.Collect(maps.Keys(have.Tags)), func(k string) bool { _, wanted := want[k]; return wanted || adopt.IsMark(k) })
	if len(drop) > 0 {
		if _, err := c.UntagResource(ctx, &sdk.UntagResourceInput{Resource: arn, TagKeys: drop}); err != nil {
			return err
		}
	}
	if len(want) > 0 {
		_, err = c.TagResource(ctx, &sdk.TagResourceInput{Resource: arn, Tags: want})
	}
	return err
}
