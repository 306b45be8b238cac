package lambda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// NewLayer declares a layer, whose ARN functions name in their layers.
//
//	tools := lambda.NewLayer(s, "tools", lambda.LayerProps{Code: lambda.LayerCode{Directory: "layer"}, Runtimes: []string{"python3.14"}})
//	lambda.NewFunction(s, "worker", lambda.FunctionProps{…, Layers: []aws.ARN{tools.ARN}})
func NewLayer(s *athanor.Stack, name string, p LayerProps, opts ...athanor.Option) Layer {
	return athanor.Declare(s, layerKind, name, p, opts...)
}

// ReadLayer uses the newest version of a layer that the stack does not own: by the layer's ARN or its name, or by LayerProps that
// name it.
func ReadLayer(s *athanor.Stack, name string, by any) Layer {
	return athanor.Read(s, layerKind, name, by)
}

// LayerProps declare a layer. Limits are those of
// https://docs.aws.amazon.com/lambda/latest/api/API_PublishLayerVersion.html
type LayerProps struct {
	// Name of the layer: up to 140 letters, digits, - and _. Default: none, a name is generated. Changing it replaces the layer.
	Name string
	// Code is the content of the layer.
	Code LayerCode `prop:"required"`
	// Description of the version. Default: none.
	Description string `prop:"maxlen=256" wire:"Description"`
	// Runtimes are those that the layer is for, in no order, such as python3.14. Default: none, it says nothing of that.
	Runtimes []string `prop:"set,maxitems=15" wire:"CompatibleRuntimes"`
	// Architectures are the processors that the layer is for, in no order: x86_64, arm64. Default: none, it says nothing of that.
	Architectures []string `prop:"set,maxitems=2" wire:"CompatibleArchitectures"`
	// License of the content: its identifier, a URL or its text. Default: none.
	License string `prop:"maxlen=512" wire:"LicenseInfo"`
	// KeepOlder keeps the older versions when another is published, for functions of others that will still name them.
	KeepOlder bool `prop:"default=false"`
}

// LayerCode is what a layer holds: exactly one of directory, zip and s3. Functions have it in /opt.
type LayerCode struct {
	// Directory is a folder, relative to the stack's directory, whose files are the content as they are. Default: none.
	Directory string
	// Zip is an archive that is there already, relative to the stack's directory. Default: none.
	Zip string
	// S3 is an archive in a bucket of the layer's region, for what is larger than 50 MB packed. Default: none.
	S3 *S3Code
}

// Layer is what others may refer to of a layer.
type Layer struct {
	// ARN of the newest version, which functions name.
	ARN aws.ARN `attr:"mutable"`
	// LayerARN is the ARN of the layer, without a version.
	LayerARN aws.ARN `attr:"early"`
	// Name of the layer.
	Name string `attr:"early"`
	// Version is the number of the newest version.
	Version string `attr:"mutable"`
}

// liveLayer is an observed layer: its newest version.
type liveLayer struct {
	attrs Layer
	have  LayerProps
	// digest is the SHA-256 of the archive in hex.
	digest string
	// older are the numbers of the other versions.
	older []int64
}

type layerSite = kind.Site[LayerProps, Layer]

var layerTable = kind.TableOf[LayerProps]().For(kind.In(sdk.PublishLayerVersionInput{}), kind.Out(sdk.GetLayerVersionOutput{}))

var layerKind = &kind.Kind[LayerProps, liveLayer, Layer]{
	Type: layerType,
	Doc: "A layer of AWS Lambda: files that functions have in /opt. A version of it never changes: any change publishes another one, and deletes " +
		"the older ones unless keepOlder says otherwise. A function that has a deleted version keeps it until it is given another. " +
		"A layer has no owner tag: its name alone says whose it is. Who else may use it is not managed: AWS::Lambda::LayerVersionPermission.",

	Observe:    observeLayer,
	Create:     createLayer,
	Compare:    compareLayer,
	Attributes: func(live liveLayer) Layer { return live.attrs },
	Delete:     deleteLayer,
	Identity:   func(l Layer) string { return string(l.LayerARN) },

	Props:   layerTable,
	Check:   checkLayer,
	Prepare: prepareLayer,
	Files:   []tree.Path{"code.directory", "code.zip"},
	Named: &kind.Named[LayerProps, liveLayer]{
		Given: func(want LayerProps) string { return want.Name },
		Rule:  func(LayerProps) kind.NameRule { return kind.NameRule{Max: 140, Marks: "-_"} },
		Live:  func(live liveLayer) string { return live.attrs.Name },
	},
	List: listLayers,

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Lambda", "lambda", source, kind.Permissions{
		Observe: []string{"ListLayerVersions", "GetLayerVersion"},
		List:    []string{"ListLayers"},
		Create:  []string{"PublishLayerVersion"},
		Update:  []string{"PublishLayerVersion"},
		Calls: map[string][]string{
			"PublishLayerVersion": {"PublishLayerVersion", "DeleteLayerVersion"}, "DeleteLayerVersion": {"DeleteLayerVersion"},
		},
		Delete: []string{"ListLayerVersions", "DeleteLayerVersion"},
		Resource: func(location kind.Location, name string) []string {
			all := aws.On("lambda", "layer:")(location, name)
			return append(all, all[0]+":*")
		},
		Anywhere: []string{"ListLayers"},
		Depends: []kind.Dependence{{
			// https://docs.aws.amazon.com/lambda/latest/dg/creating-deleting-layers.html
			Actions: []string{"s3:GetObject", "s3:GetObjectVersion"}, Calls: []string{"PublishLayerVersion"}, Props: []tree.Path{"code.s3.bucket"},
			Under: "code.s3.key", Resource: archives,
		}},
	}),
}

func layerARN(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "lambda", "layer:"+name)
}

var errNoVersion = errors.New("an answer without the version that was asked for")

// checkLayer finds what Lambda would refuse, beyond what the table says.
func checkLayer(want LayerProps) error {
	var problems props.Errors
	ways := 0
	for _, declared := range []bool{want.Code.Directory != "", want.Code.Zip != "", want.Code.S3 != nil} {
		if declared {
			ways++
		}
	}
	if ways != 1 {
		problems.Wrong("code", "want exactly one of directory, zip and s3")
	}
	for i, a := range want.Architectures {
		if !token.Has(a) && a != "x86_64" && a != "arm64" {
			problems.Wrong(tree.Path("architectures").Index(i), "want x86_64 or arm64")
		}
	}
	return problems.OrNil()
}

// local is the prop that names what is packed on this machine, and its value.
func (c LayerCode) local() (tree.Path, string) {
	switch {
	case c.Zip != "":
		return "code.zip", c.Zip
	case c.Directory != "":
		return "code.directory", c.Directory
	}
	return "code", ""
}

// prepareLayer packs the folder, or takes the archive as it is.
func prepareLayer(ctx context.Context, work kind.Workspace, want LayerProps) (map[string]kind.Asset, error) {
	at, from := want.Code.local()
	if from == "" || token.Has(from) {
		return nil, nil
	}
	archive, err := layerArchive(ctx, work, at, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if archive.Size > mostZip {
		return nil, reconcile.WithHint(fmt.Errorf("%s: the archive has %.1f MB, and Lambda takes 50 MB in a call", at, float64(archive.Size)/1e6),
			"upload it with aws.s3.Object and name it with code.s3")
	}
	return map[string]kind.Asset{codeAsset: archive}, nil
}

func layerArchive(ctx context.Context, work kind.Workspace, at tree.Path, from string) (kind.Asset, error) {
	path := filepath.FromSlash(from)
	if !filepath.IsAbs(path) {
		path = filepath.Join(work.Dir, path)
	}
	work.Reads(path)
	if at == "code.zip" {
		return asset.Archive(ctx, path)
	}
	files, err := asset.Tree(ctx, path)
	if err != nil {
		return kind.Asset{}, err
	}
	return asset.Zip(ctx, work, files)
}

// observeLayer reads the newest version of the layer. A layer without versions is none.
func observeLayer(ctx context.Context, s layerSite) (live liveLayer, err error) {
	name, err := aws.NameOf(s, aws.Names[Layer]{
		Of: func(l Layer) string { return l.Name }, In: func(resource string) string { return strings.TrimPrefix(resource, "layer:") }, ARN: layerARN,
	})
	if err != nil {
		return live, err
	}
	client := clientOf(s.Cloud)
	versions, err := layerVersions(ctx, client, name)
	if err != nil {
		return live, aws.Absent(err)
	}
	if len(versions) == 0 {
		return live, reconcile.ErrAbsent
	}
	out, err := client.GetLayerVersion(ctx, &sdk.GetLayerVersionInput{LayerName: &name, VersionNumber: &versions[0]})
	if err != nil {
		return live, aws.Absent(err)
	}
	if out.Content == nil {
		return live, errNoVersion
	}
	live.attrs = layerOf(s.Location, name, versions[0])
	live.digest, live.older = inHex(sdkaws.ToString(out.Content.CodeSha256)), versions[1:]
	live.have, err = layerTable.Read(kind.Struct(out))
	live.have.Name = name
	return live, err
}

func layerOf(location kind.Location, name string, version int64) Layer {
	arn, number := layerARN(location, name), strconv.FormatInt(version, 10)
	return Layer{ARN: arn + aws.ARN(":"+number), LayerARN: arn, Name: name, Version: number}
}

// layerVersions are the numbers of a layer's versions, the newest first.
func layerVersions(ctx context.Context, client *sdk.Client, name string) (all []int64, err error) {
	next := func(out *sdk.ListLayerVersionsOutput) *string { return out.NextMarker }
	in := &sdk.ListLayerVersionsInput{LayerName: &name}
	for page, err := range aws.PagesByToken(ctx, client.ListLayerVersions, in, &in.Marker, next) {
		if err != nil {
			return nil, err
		}
		for _, v := range page.LayerVersions {
			all = append(all, v.Version)
		}
	}
	slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
	return all, nil
}

// compareLayer states every aspect: what differs is published, whole. The content of an archive in S3 is not compared: what was
// written last counts.
func compareLayer(d *kind.Diff[liveLayer], want LayerProps, live liveLayer) {
	set := kind.Set("PublishLayerVersion", func(ctx context.Context, u kind.Update[liveLayer]) error {
		if _, err := publishLayer(ctx, clientOf(u.Cloud), u.Assets, u.Live.attrs.Name, want); err != nil {
			return aws.NotYet(err)
		}
		if want.KeepOlder {
			return nil
		}
		number, err := strconv.ParseInt(u.Live.attrs.Version, 10, 64)
		if err != nil {
			return err
		}
		return dropLayers(ctx, clientOf(u.Cloud), u.Live.attrs.Name, append([]int64{number}, u.Live.older...))
	})
	path, from := want.Code.local()
	have := "sha256:" + live.digest
	switch archive, ok := d.Asset(codeAsset); {
	case want.Code.S3 != nil:
	case ok:
		reconcile.Value(d, path, "sha256:"+archive.Digest, have, set)
		if was, told := d.OldAsset(codeAsset); told && was.Digest == live.digest {
			d.Files(path, codeAsset)
		}
	case d.Unknown(path, from), from == "": // nothing is declared, as when somebody asks what is there
		reconcile.Value(d, path, from, have, set)
	}
	reconcile.Written(d, "code.s3", want.Code.S3, set)
	kind.Compare(d, layerTable, want, live.have, set)
	if len(live.older) > 0 && !want.KeepOlder {
		reconcile.Value(d, "keepOlder", false, true, kind.Set("DeleteLayerVersion", func(ctx context.Context, u kind.Update[liveLayer]) error {
			return dropLayers(ctx, clientOf(u.Cloud), u.Live.attrs.Name, u.Live.older)
		}))
	}
}

// publishLayer makes a version, with all that a layer has.
func publishLayer(ctx context.Context, client *sdk.Client, assets map[string]kind.Asset, name string, want LayerProps) (int64, error) {
	in := &sdk.PublishLayerVersionInput{LayerName: &name, Content: &types.LayerVersionContentInput{}}
	if err := layerTable.Created(want, kind.Struct(in)); err != nil {
		return 0, err
	}
	if want.Code.S3 != nil {
		in.Content.S3Bucket, in.Content.S3Key, in.Content.S3ObjectVersion = &want.Code.S3.Bucket, &want.Code.S3.Key, aws.OrNil(want.Code.S3.Version)
	} else {
		archive, err := content(ctx, assets)
		if err != nil {
			return 0, err
		}
		in.Content.ZipFile = archive
	}
	out, err := client.PublishLayerVersion(ctx, in)
	if err != nil {
		return 0, err
	}
	return out.Version, nil
}

func createLayer(ctx context.Context, s layerSite) (Layer, error) {
	version, err := publishLayer(ctx, clientOf(s.Cloud), s.Assets, s.Name, s.Want)
	if err != nil {
		return Layer{}, err
	}
	return layerOf(s.Location, s.Name, version), nil
}

// dropLayers deletes versions, the oldest first. Functions that have one keep it.
func dropLayers(ctx context.Context, client *sdk.Client, name string, versions []int64) error {
	for _, version := range slices.Backward(versions) {
		if _, err := client.DeleteLayerVersion(ctx, &sdk.DeleteLayerVersionInput{LayerName: &name, VersionNumber: &version}); aws.OrNone(err) != nil {
			return err
		}
	}
	return nil
}

// deleteLayer deletes all versions.
func deleteLayer(ctx context.Context, s layerSite) error {
	versions, err := layerVersions(ctx, clientOf(s.Cloud), s.Last.Name)
	if err != nil {
		return err
	}
	return dropLayers(ctx, clientOf(s.Cloud), s.Last.Name, versions)
}

func listLayers(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	next := func(out *sdk.ListLayersOutput) *string { return out.NextMarker }
	in := &sdk.ListLayersInput{}
	for page, err := range aws.PagesByToken(ctx, clientOf(scope.Cloud).ListLayers, in, &in.Marker, next) {
		if err != nil {
			return nil, err
		}
		for _, l := range page.Layers {
			if name := sdkaws.ToString(l.LayerName); strings.HasPrefix(name, scope.Prefix) {
				all = append(all, kind.Found{Kind: layerType, Place: scope.Place, Identity: string(layerARN(scope.Place, name)), Name: name})
			}
		}
	}
	return all, nil
}
