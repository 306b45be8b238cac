package lambda

import (
	"context"
	"os"

	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hand changes one aspect of a function as somebody else would.
type hand func(ctx context.Context, c *sdk.Client, name *string, p FunctionProps, to kindtest.Edited) error

// pathsOf are the attributes that a call sets, by the prop at the top that they are in.
func pathsOf[P any](table *kind.Table[P], call string) map[tree.Path][]tree.Path {
	all := map[tree.Path][]tree.Path{}
	for _, a := range table.Attributes() {
		if top, _ := a.Path.First(); a.Wire != "" && !a.Immutable && a.Call == call {
			all[tree.Path(top.Key)] = append(all[tree.Path(top.Key)], a.Path)
		}
	}
	return all
}

// functionHands change each aspect of a function as somebody else would.
func functionHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{"tags": ws.Hand((*world).retag), "architecture": ws.Hand((*world).recode)}
	for _, path := range []tree.Path{"code.directory", "code.zip", "code.bundle", "code.image", "code.sourceKmsKey"} {
		hands[path] = ws.Hand((*world).recode)
	}
	byHand := map[tree.Path]hand{"": goAway, "reservedConcurrency": reserve, "async": resettle, "url": readdress}
	for path, all := range pathsOf(functionTable, "") {
		byHand[path] = func(ctx context.Context, c *sdk.Client, name *string, p FunctionProps, _ kindtest.Edited) error {
			if p.Logging.Group == "" {
				p.Logging.Group = logGroupOf(*name)
			}
			in, err := configuration(p, liveFunction{attrs: Function{Name: *name}, have: p}, all)
			if err != nil {
				return err
			}
			_, err = c.UpdateFunctionConfiguration(ctx, in)
			return err
		}
	}
	for path, do := range byHand {
		hands[path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			name, _ := to.Attrs["name"].(string)
			p := FunctionProps{}
			if len(to.Props) > 0 { // else it is to be deleted
				p = functionDefaults(kindtest.PropsOf(t, functionTable, to.Props))
			}
			return do(context.Background(), w.Others, &name, p, to)
		})
	}
	return hands
}

// recode uploads what somebody else would make of the props.
func (w *world) recode(t kindtest.T, to kindtest.Edited) error {
	p := functionDefaults(kindtest.PropsOf(t, functionTable, to.Props))
	assets, err := prepareCode(t.Context(), kind.Workspace{Dir: w.Dir, Cache: t.TempDir()}, p)
	if err != nil {
		return err
	}
	in := &sdk.UpdateFunctionCodeInput{FunctionName: new(str(to.Attrs["name"])), Architectures: []types.Architecture{types.Architecture(*p.Architecture)}}
	if in.ImageUri = &p.Code.Image; p.Code.Image == "" {
		in.ImageUri, in.SourceKMSKeyArn = nil, new(string(p.Code.SourceKMSKey))
		if in.ZipFile, err = os.ReadFile(assets[codeAsset].Path); err != nil {
			return err
		}
	}
	_, err = w.Others.UpdateFunctionCode(t.Context(), in)
	return err
}

func goAway(ctx context.Context, c *sdk.Client, name *string, _ FunctionProps, _ kindtest.Edited) error {
	_, err := c.DeleteFunction(ctx, &sdk.DeleteFunctionInput{FunctionName: name})
	return err
}

func reserve(ctx context.Context, c *sdk.Client, name *string, p FunctionProps, _ kindtest.Edited) error {
	if p.ReservedConcurrency == nil {
		_, err := c.DeleteFunctionConcurrency(ctx, &sdk.DeleteFunctionConcurrencyInput{FunctionName: name})
		return err
	}
	_, err := c.PutFunctionConcurrency(ctx, &sdk.PutFunctionConcurrencyInput{FunctionName: name, ReservedConcurrentExecutions: new(int32(*p.ReservedConcurrency))})
	return err
}

func resettle(ctx context.Context, c *sdk.Client, name *string, p FunctionProps, to kindtest.Edited) error {
	if to.Value == nil {
		_, err := c.DeleteFunctionEventInvokeConfig(ctx, &sdk.DeleteFunctionEventInvokeConfigInput{FunctionName: name})
		return err
	}
	in := &sdk.PutFunctionEventInvokeConfigInput{FunctionName: name}
	if err := functionTable.Created(p, kind.Struct(in)); err != nil {
		return err
	}
	_, err := c.PutFunctionEventInvokeConfig(ctx, in)
	return err
}

func readdress(ctx context.Context, c *sdk.Client, name *string, p FunctionProps, to kindtest.Edited) error {
	if to.Value == nil {
		_, err := c.DeleteFunctionUrlConfig(ctx, &sdk.DeleteFunctionUrlConfigInput{FunctionName: name})
		return err
	}
	if to.Attrs["url"] == "" || to.Attrs["url"] == nil {
		in := &sdk.CreateFunctionUrlConfigInput{FunctionName: name}
		if err := functionTable.Created(p, kind.Struct(in)); err != nil {
			return err
		}
		_, err := c.CreateFunctionUrlConfig(ctx, in)
		return err
	}
	in := &sdk.UpdateFunctionUrlConfigInput{FunctionName: name}
	if err := functionTable.Changed(p, p, pathsOf(functionTable, "UpdateFunctionUrlConfig")["url"], kind.Struct(in)); err != nil {
		return err
	}
	_, err := c.UpdateFunctionUrlConfig(ctx, in)
	return err
}

func (w *world) retag(_ kindtest.T, to kindtest.Edited) error {
	ctx, arn := context.Background(), new(str(to.Attrs["arn"]))
	have, err := w.Others.ListTags(ctx, &sdk.ListTagsInput{Resource: arn})
	if err != nil {
		return err
	}
	drop := func(keys []string) error {
		_, err := w.Others.UntagResource(ctx, &sdk.UntagResourceInput{Resource: arn, TagKeys: keys})
		return err
	}
	return awstest.Retag(have.Tags, to, drop, func(tags map[string]string) error {
		_, err := w.Others.TagResource(ctx, &sdk.TagResourceInput{Resource: arn, Tags: tags})
		return err
	})
}

// mappingHands change each aspect of a mapping as somebody else would.
func mappingHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"tags": ws.Hand((*world).retag),
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			_, err := w.Others.DeleteEventSourceMapping(t.Context(), &sdk.DeleteEventSourceMappingInput{UUID: new(str(to.Attrs["id"]))})
			return err
		}),
	}
	for path := range pathsOf(mappingTable, "") {
		hands[path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			p := kindtest.PropsOf(t, mappingTable, to.Props)
			if serviceOf(p.Source) == "sqs" {
				aws.OrDefault(&p.BatchSize, 10)
			}
			aws.OrDefault(&p.BatchSize, 100)
			aws.OrDefault(&p.BatchWindow, 0)
			in, err := changes(p, p, []tree.Path{path})
			if err != nil {
				return err
			}
			in.UUID = new(str(to.Attrs["id"]))
			_, err = w.Others.UpdateEventSourceMapping(context.Background(), in)
			return err
		})
	}
	return hands
}

// permissionHands change each aspect of a statement as somebody else would: by writing it anew.
func permissionHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	drop := func(w *world, _ kindtest.T, to kindtest.Edited) error {
		_, err := w.Others.RemovePermission(context.Background(), &sdk.RemovePermissionInput{
			FunctionName: new(str(to.Attrs["function"])), StatementId: new(str(to.Attrs["statementId"])),
		})
		return err
	}
	hands := map[tree.Path]kindtest.Hand{"": ws.Hand(drop)}
	for _, a := range permissionTable.Attributes() {
		if a.Wire == "" || a.Wire == "-" {
			continue
		}
		hands[a.Path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			if err := drop(w, t, to); err != nil {
				return err
			}
			p := kindtest.PropsOf(t, permissionTable, to.Props)
			return addStatement(context.Background(), w.Others, str(to.Attrs["function"]), str(to.Attrs["statementId"]), p)
		})
	}
	return hands
}
