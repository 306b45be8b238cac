package ecr

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/asset/image"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const imageType = "aws.ecr.Image"

// NewImage declares an image in a repository. Functions and tasks name it by its URI, which has its digest.
//
//	images := ecr.NewRepository(s, "images", ecr.RepositoryProps{})
//	web := ecr.NewImage(s, "web", ecr.ImageProps{Repository: images.Name, Source: ecr.GoImage("./web")})
//	lambda.NewFunction(s, "web", lambda.FunctionProps{Code: lambda.Image(web.URI)})
func NewImage(s *athanor.Stack, name string, p ImageProps, opts ...athanor.Option) Image {
	return athanor.Declare(s, imageKind, name, p, opts...)
}

// ReadImage uses an image that the stack does not own: by REPOSITORY:TAG, REPOSITORY@DIGEST or its URI. Of a tag it is the
// image that has the tag at the time.
func ReadImage(s *athanor.Stack, name, by string) Image {
	return athanor.Read(s, imageKind, name, by)
}

// ImageProps declare an image. Limits are those of https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_PutImage.html
type ImageProps struct {
	// Repository is the name of the repository, in the account and the region of the image.
	Repository string `prop:"required,immutable" wire:"-"`
	// Source is what the image is made of. Another content is another image: the new one is pushed, what names the old one is
	// changed over, and then the old one is deleted. Replaces.
	Source ImageSource `prop:"required"`
	// Architecture of the processor that the image is for. Replaces.
	Architecture *string `prop:"enum=x86_64|arm64,default=x86_64"`
	// Tags are further tags of the image, such as latest, beside the one that it is found by. A tag that another image of the
	// repository has is moved, which a repository with immutable tags refuses. Default: none.
	Tags []string `prop:"set,maxitems=100" wire:"-"`
}

// ImageSource is what an image is made of: exactly one of go, from and layout.
type ImageSource struct {
	// Go is a program in Go that is compiled on this machine for Linux and put on the base, as /app: the folder of its package
	// main relative to the stack's directory ("./web"), or an import path. Equal sources give an equal image. Replaces. Default: none.
	Go string
	// BuildTags are build tags for go. Default: none.
	BuildTags []string `prop:"needs=go"`
	// LDFlags are flags of the linker for go, such as "-X main.version=1". Default: none.
	LDFlags string `prop:"needs=go"`
	// Base is the reference of the image that go is put on, best with its digest: a tag is asked for at each plan, and a new
	// base behind it is a new image. Default: none, the image holds the program alone, without the certificates of authorities
	// and time zones.
	Base string `prop:"needs=go"`
	// Args are what the program of go is started with. Default: none.
	Args []string `prop:"needs=go"`
	// Env are variables of the program of go, beside those of the base. All who may pull the image can read them: secrets are
	// refused. Default: none.
	Env map[string]string `prop:"needs=go"`
	// User is who the program of go runs as, by name or number, maybe with a group after a colon. Default: none, that of the base.
	User string `prop:"needs=go"`
	// Directory is where the program of go starts. Default: none, that of the base.
	Directory string `prop:"needs=go"`
	// Ports are those of TCP that the program of go listens on, for who runs the image. Default: none, those of the base.
	Ports []int `prop:"needs=go"`
	// Labels are labels of the image of go, beside those of the base. Default: none.
	Labels map[string]string `prop:"needs=go"`
	// From is the reference of an image in another registry or repository, best with its digest, which is copied as it is; of
	// an index it is the image for the architecture. Replaces. Default: none.
	From string
	// Layout is an image that something else has built: an OCI layout, relative to the stack's directory, as a folder or as an
	// archive by tar (docker buildx build --output type=oci,dest=image.tar). Replaces. Default: none.
	Layout string
}

// GoImage is an image of a program in Go, and nothing else.
func GoImage(pkg string) ImageSource { return ImageSource{Go: pkg} }

// Image is what others may refer to of an image.
type Image struct {
	// URI names the image by its digest: what functions and tasks take.
	URI string `attr:"early"`
	// Digest of the manifest, sha256:HEX.
	Digest string `attr:"early"`
	// Repository is the name of the repository.
	Repository string `attr:"early"`
	// Tag is the one that the image is found by, which no other image has.
	Tag string `attr:"early"`
	// Tags are the further tags.
	Tags []string `attr:"mutable=tags"`
}

// liveImage is an observed image.
type liveImage struct {
	attrs Image
	have  ImageProps
}

type (
	imageSite = kind.Site[ImageProps, Image]
	imageOn   = kind.Update[liveImage]
)

var imageTable = kind.TableOf[ImageProps]()

var imageKind = &kind.Kind[ImageProps, liveImage, Image]{
	Type: imageType,
	Doc: "An image in a repository of Amazon ECR, built of a program in Go or copied, and pushed without a container engine. An image never changes: " +
		"another content replaces it. It has no owner tag: a tag with its name says whose it is, and deleting the resource takes away its own tags alone. " +
		"ECR deletes an image that has no tags left. Tags that others give to the image are not managed, and neither are indexes, " +
		"signatures and scans.",

	Observe:    observeImage,
	Create:     createImage,
	Compare:    compareImage,
	Attributes: func(live liveImage) Image { return live.attrs },
	Delete:     deleteImage,
	Identity:   func(i Image) string { return identityOf(i) },

	Props:   imageTable,
	Check:   checkImage,
	Prepare: prepareImage,
	Files:   []tree.Path{"source.go", "source.layout"},
	Named: &kind.Named[ImageProps, liveImage]{
		// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_ImageIdentifier.html
		Rule: func(ImageProps) kind.NameRule { return kind.NameRule{Max: 128, Marks: "._-", Inner: true} },
	},

	EventuallyVisible: aws.EventuallyVisible,
	Timeouts:          kind.Timeouts{Create: 30 * time.Minute},

	API: aws.API("ECR", "ecr", aws.Source(source), kind.Permissions{
		Observe: []string{"DescribeImages"},
		// What the registry asks for: https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-push-iam.html
		Create: []string{
			"GetAuthorizationToken", "PutImage", "BatchGetImage",
			"ecr:BatchCheckLayerAvailability", "ecr:CompleteLayerUpload", "ecr:InitiateLayerUpload", "ecr:UploadLayerPart",
		},
		Only:   map[string][]tree.Path{"BatchGetImage": {"tags"}},
		Update: []string{"BatchGetImage", "PutImage", "BatchDeleteImage"},
		Delete: []string{"BatchDeleteImage"},
		Calls: map[string][]string{
			"PutImage": {"BatchGetImage", "PutImage", "BatchDeleteImage"},
		},
		Of:       "repository",
		Resource: aws.On("ecr", "repository/"),
		Anywhere: []string{"GetAuthorizationToken"},
	}),
}

// tagRule is what ECR takes as a tag: https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_PutImage.html
var tagRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`) })

// way is a prop of the source, with its value.
type way struct {
	path  tree.Path
	value string
}

// way returns what an image is made of: of several the first, and none where nothing is declared.
func (s ImageSource) way() way {
	if all := s.ways(); len(all) > 0 {
		return all[0]
	}
	return way{path: "source"}
}

func (s ImageSource) ways() []way {
	all := []way{{"source.go", s.Go}, {"source.from", s.From}, {"source.layout", s.Layout}}
	return slices.DeleteFunc(all, func(w way) bool { return w.value == "" })
}

// checkImage finds what cannot be an image, beyond what the table says.
func checkImage(want ImageProps) error {
	var problems props.Errors
	if len(want.Source.ways()) != 1 {
		problems.Wrong("source", "want exactly one of go, from and layout")
	}
	for i, tag := range want.Tags {
		if !token.Has(tag) && !tagRule().MatchString(tag) {
			problems.Wrong(tree.Path("tags").Index(i), "want up to 128 letters, digits and . _ -, which does not begin with . or -")
		}
	}
	for i, port := range want.Source.Ports {
		if port < 1 || port > 65535 {
			problems.Wrong(tree.Path("source.ports").Index(i), "want a port from 1 to 65535")
		}
	}
	if strings.ContainsAny(want.Repository, ":@") && !token.Has(want.Repository) {
		problems.Wrong("repository", "want the name of the repository, without a registry, a tag or a digest")
	}
	return problems.OrNil()
}

// imageAsset is the name under which Prepare gives the image.
const imageAsset = "image"

var architectures = map[string]string{"x86_64": "amd64", "arm64": "arm64"}

// prepareImage builds the image, or reads what is to be copied.
func prepareImage(ctx context.Context, work kind.Workspace, want ImageProps) (map[string]kind.Asset, error) {
	if want.Source.way().value == "" || slices.ContainsFunc(want.ingredients(), func(w way) bool { return token.Has(w.value) }) {
		return nil, nil
	}
	made, err := want.Source.prepare(ctx, work, architectures[*want.Architecture])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", want.Source.way().path, err)
	}
	return map[string]kind.Asset{imageAsset: made}, nil
}

// ingredients are the texts that an image depends on beside files.
func (p ImageProps) ingredients() []way {
	s := p.Source
	all := append(s.ways(), way{"architecture", *p.Architecture}, way{"source.ldFlags", s.LDFlags}, way{"source.base", s.Base},
		way{"source.user", s.User}, way{"source.directory", s.Directory})
	for path, some := range map[tree.Path][]string{"source.buildTags": s.BuildTags, "source.args": s.Args} {
		for i, text := range some {
			all = append(all, way{path.Index(i), text})
		}
	}
	for path, some := range map[tree.Path]map[string]string{"source.env": s.Env, "source.labels": s.Labels} {
		for name, text := range some {
			all = append(all, way{path.Key(name), text})
		}
	}
	slices.SortFunc(all, func(a, b way) int { return cmp.Compare(a.path, b.path) })
	return all
}

func (s ImageSource) prepare(ctx context.Context, work kind.Workspace, arch string) (kind.Asset, error) {
	switch {
	case s.From != "":
		return image.Copy(ctx, work, s.From, arch)
	case s.Layout != "":
		return image.Layout(ctx, work, s.Layout, arch)
	}
	return image.Program{
		Go:   asset.Go{Package: s.Go, Arch: arch, Tags: s.BuildTags, LDFlags: s.LDFlags},
		Base: s.Base, Args: s.Args, Env: s.Env, User: s.User, Directory: s.Directory, Ports: s.Ports, Labels: s.Labels,
	}.Build(ctx, work)
}

// registryHost is the registry of an account in a region.
func registryHost(location kind.Location) string {
	return location.Account + ".dkr.ecr." + location.Region + "." + aws.Domain(location.Region)
}

func imageOf(location kind.Location, repository, tag, digest string, tags []string) Image {
	return Image{URI: registryHost(location) + "/" + repository + "@" + digest, Digest: digest, Repository: repository, Tag: tag, Tags: tags}
}

// identityOf names an image by its digest and by the tag that says whose it is: two resources with an equal image do not share one.
func identityOf(i Image) string {
	name, digest, _ := strings.Cut(i.URI, "@")
	return name + ":" + i.Tag + "@" + digest
}

// reference is what leads to an image: a tag, a digest, or both.
type reference struct{ repository, tag, digest string }

// referenceIn reads an identity, a URI, REPOSITORY:TAG or REPOSITORY@DIGEST.
func referenceIn(id string, location kind.Location) (r reference, err error) {
	r.repository, r.digest, _ = strings.Cut(id, "@")
	if i := strings.LastIndexByte(r.repository, ':'); i > strings.LastIndexByte(r.repository, '/') {
		r.repository, r.tag = r.repository[:i], r.repository[i+1:]
	}
	if host, name, ok := strings.Cut(r.repository, "/"); ok && strings.Contains(host, ".dkr.ecr.") {
		if host != registryHost(location) {
			return r, aws.Foreign(id, location)
		}
		r.repository = name
	}
	if r.repository == "" || r.tag == "" && r.digest == "" {
		return r, fmt.Errorf("%w: %s", errNoReference, id)
	}
	return r, nil
}

var (
	errNoReference = errors.New("want REPOSITORY:TAG or REPOSITORY@DIGEST")
	errNoTag       = errors.New("the image has no tag, by which it could be told whose it is")
	errNoImage     = errors.New("the image is not built")
	errSecret      = errors.New("it is a secret, and all who may pull the image could read it")
)

// shownImage is an image as ECR describes it.
type shownImage struct {
	Digest string   `json:"imageDigest"`
	Tags   []string `json:"imageTags"`
}

type imageID struct {
	Digest string `json:"imageDigest,omitempty"`
	Tag    string `json:"imageTag,omitempty"`
}

// describeImage reads the image that has a tag, or a digest.
func describeImage(ctx context.Context, cloud kind.Cloud, repository string, id imageID) (shownImage, error) {
	var out struct {
		Details []shownImage `json:"imageDetails"`
	}
	err := service().Call(ctx, cloud, "DescribeImages", named(repository, kind.Document{"imageIds": []imageID{id}}), &out)
	if err != nil {
		return shownImage{}, aws.Absent(err)
	}
	if len(out.Details) == 0 {
		return shownImage{}, reconcile.ErrAbsent
	}
	return out.Details[0], nil
}

// observeImage reads the image that has the resource's own tag. One that lost the tag, or another one that has it now, is not the resource's.
func observeImage(ctx context.Context, s imageSite) (live liveImage, err error) {
	r := reference{repository: s.Want.Repository, tag: s.Name}
	switch {
	case s.Last != nil:
		r = reference{s.Last.Repository, s.Last.Tag, s.Last.Digest}
	case s.ID != "":
		if r, err = referenceIn(s.ID, s.Location); err != nil {
			return live, err
		}
	case token.Has(r.repository):
		return live, reconcile.ErrAbsent // what is not known yet has no images
	}
	id := imageID{Tag: r.tag}
	if r.tag == "" {
		id.Digest = r.digest
	}
	found, err := describeImage(ctx, s.Cloud, r.repository, id)
	if err != nil {
		return live, err
	}
	if r.digest != "" && found.Digest != r.digest {
		return live, reconcile.ErrAbsent
	}
	slices.Sort(found.Tags)
	if r.tag == "" {
		if len(found.Tags) == 0 {
			return live, reconcile.WithHint(fmt.Errorf("%s@%s: %w", r.repository, r.digest, errNoTag), "give it a tag, and name it by REPOSITORY:TAG")
		}
		if r.tag = found.Tags[0]; slices.Contains(found.Tags, s.Name) {
			r.tag = s.Name
		}
	}
	// Tags that neither the declaration nor state has are others'. Where nothing is declared, as when somebody asks what is there, all count.
	ours := slices.DeleteFunc(found.Tags, func(tag string) bool {
		return tag == r.tag || (s.Want.Repository != "" || s.Last != nil) && !slices.Contains(s.Want.Tags, tag) &&
			(s.Last == nil || !slices.Contains(s.Last.Tags, tag))
	})
	live.attrs = imageOf(s.Location, r.repository, r.tag, found.Digest, ours)
	live.have = ImageProps{Repository: r.repository, Tags: ours}
	return live, nil
}

// compareImage compares contents by their digest, and tags.
func compareImage(d *kind.Diff[liveImage], want ImageProps, live liveImage) {
	of := want.Source.way()
	switch made, ok := d.Asset(imageAsset); {
	case ok:
		reconcile.Fixed(d, of.path, "sha256:"+made.Digest, live.attrs.Digest)
		if was, told := d.OldAsset(imageAsset); told && "sha256:"+was.Digest == live.attrs.Digest {
			d.Files(of.path, imageAsset)
		}
	case of.value == "": // nothing is declared, as when somebody asks what is there
		reconcile.Fixed(d, of.path, of.value, live.attrs.Digest)
	default: // it is not built yet, for want of what is known later
		for _, w := range want.ingredients() {
			if d.Unknown(w.path, w.value) {
				reconcile.Fixed(d, w.path, w.value, live.attrs.Digest)
			}
		}
	}
	kind.Compare(d, imageTable, want, live.have, kind.Set("PutImage", func(ctx context.Context, u imageOn) error {
		return retag(ctx, u, want.Tags)
	}))
}

// retag gives an image the tags that are declared, and takes away those of the resource that are not any more.
func retag(ctx context.Context, u imageOn, want []string) error {
	i := u.Live.attrs
	add := without(want, i.Tags)
	if len(add) > 0 {
		manifest, err := manifestOf(ctx, u.Cloud, i)
		if err != nil {
			return aws.NotYet(err)
		}
		for _, tag := range add {
			if err := putImage(ctx, u.Cloud, i.Repository, manifest, tag); err != nil {
				return aws.NotYet(immutable(err, tag))
			}
		}
	}
	return untag(ctx, u.Cloud, i.Repository, without(i.Tags, want))
}

func without(tags, others []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return slices.Contains(others, tag) })
}

// immutable explains why a tag is not moved.
func immutable(err error, tag string) error {
	if !aws.HasCode(err, "ImageTagAlreadyExistsException") {
		return err
	}
	return reconcile.WithHint(reconcile.WithClass(err, reconcile.Invalid),
		"another image has the tag %s, and the tags of the repository are immutable: declare another tag, or delete that image", tag)
}

// manifest is what PutImage is given of an image.
type manifest struct {
	Manifest  string `json:"imageManifest"`
	MediaType string `json:"imageManifestMediaType"`
	digest    string
}

// manifestOf reads the manifest of an image in its repository.
func manifestOf(ctx context.Context, cloud kind.Cloud, i Image) (manifest, error) {
	var out struct {
		Images   []manifest `json:"images"`
		Failures failures   `json:"failures"`
	}
	err := service().Call(ctx, cloud, "BatchGetImage", named(i.Repository, kind.Document{"imageIds": []imageID{{Digest: i.Digest}}}), &out)
	switch {
	case err != nil:
		return manifest{}, err
	case len(out.Images) == 0:
		return manifest{}, cmp.Or(out.Failures.orNil(), reconcile.ErrAbsent)
	}
	out.Images[0].digest = i.Digest
	return out.Images[0], nil
}

// putImage gives an image a tag. What is there already is as it should be.
func putImage(ctx context.Context, cloud kind.Cloud, repository string, m manifest, tag string) error {
	body := named(repository, kind.Document{"imageManifest": m.Manifest, "imageTag": tag, "imageDigest": m.digest})
	if m.MediaType != "" {
		body["imageManifestMediaType"] = m.MediaType
	}
	err := service().Call(ctx, cloud, "PutImage", body, nil)
	if aws.HasCode(err, "ImageAlreadyExistsException") {
		return nil
	}
	return err
}

// failures are the images for which a call did nothing.
type failures []struct {
	ID     imageID `json:"imageId"`
	Code   string  `json:"failureCode"`
	Reason string  `json:"failureReason"`
}

func (f failures) orNil() error {
	for _, one := range f {
		if one.Code != "ImageNotFound" {
			return fmt.Errorf("%s: %s: %s", cmp.Or(one.ID.Tag, one.ID.Digest), one.Code, one.Reason)
		}
	}
	return nil
}

// untag takes tags away. ECR deletes an image with its last tag.
func untag(ctx context.Context, cloud kind.Cloud, repository string, tags []string) error {
	ids := make([]imageID, len(tags))
	for i, tag := range tags {
		ids[i].Tag = tag
	}
	return dropImages(ctx, cloud, repository, ids)
}

func dropImages(ctx context.Context, cloud kind.Cloud, repository string, ids []imageID) error {
	if len(ids) == 0 {
		return nil
	}
	var out struct {
		Failures failures `json:"failures"`
	}
	if err := service().Call(ctx, cloud, "BatchDeleteImage", named(repository, kind.Document{"imageIds": ids}), &out); err != nil {
		return err
	}
	return out.Failures.orNil()
}

// createImage uploads what the repository lacks, and then the manifest with the resource's own tag, by which the image is there. The update that
// follows gives it further tags.
func createImage(ctx context.Context, s imageSite) (Image, error) {
	made, ok := s.Assets[imageAsset]
	if !ok {
		return Image{}, errNoImage
	}
	for path := range s.Secret {
		if path.Within("source") {
			return Image{}, reconcile.WithClass(fmt.Errorf("%s: %w", path, errSecret), reconcile.Invalid)
		}
	}
	to, err := registry(ctx, s.Cloud)
	if err != nil {
		return Image{}, err
	}
	to.Name += "/" + s.Want.Repository
	if err := image.Upload(ctx, made, to); err != nil {
		return Image{}, err
	}
	data, mediaType, err := image.Manifest(ctx, made)
	if err != nil {
		return Image{}, err
	}
	digest := "sha256:" + made.Digest
	if err := putImage(ctx, s.Cloud, s.Want.Repository, manifest{string(data), mediaType, digest}, s.Name); err != nil {
		return Image{}, err
	}
	return imageOf(s.Location, s.Want.Repository, s.Name, digest, nil), nil
}

// deleteImage takes away the tags that are the resource's and still lead to the image. One without any tags, which nothing leads to, is deleted.
func deleteImage(ctx context.Context, s imageSite) error {
	found, err := describeImage(ctx, s.Cloud, s.Last.Repository, imageID{Digest: s.Last.Digest})
	if err != nil {
		return err
	}
	if len(found.Tags) == 0 {
		return dropImages(ctx, s.Cloud, s.Last.Repository, []imageID{{Digest: s.Last.Digest}})
	}
	return untag(ctx, s.Cloud, s.Last.Repository, slices.DeleteFunc(found.Tags, func(tag string) bool {
		return tag != s.Last.Tag && !slices.Contains(s.Last.Tags, tag)
	}))
}

// signedIn is who signs in at the registry of a location.
type signedIn struct {
	asking chan struct{} // held while a token is asked for, and what follows is read
	as     image.Repository
	since  time.Time
}

// tokenLife is how long a token is used. ECR gives them for 12 hours:
// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_GetAuthorizationToken.html
const tokenLife = 6 * time.Hour

var errNoToken = errors.New("GetAuthorizationToken gave no token of a registry")

// registry signs in at the registry of the account, once for all images of a run. The name of the registry is where it is reached.
func registry(ctx context.Context, cloud kind.Cloud) (image.Repository, error) {
	known := aws.Shared(cloud, "ecr.registry", func() *signedIn { return &signedIn{asking: make(chan struct{}, 1)} })
	select {
	case known.asking <- struct{}{}:
		defer func() { <-known.asking }()
	case <-ctx.Done():
		return image.Repository{}, ctx.Err()
	}
	if known.as.Name != "" && time.Since(known.since) < tokenLife {
		return known.as, nil
	}
	var out struct {
		Data []struct {
			Token    string `json:"authorizationToken"`
			Endpoint string `json:"proxyEndpoint"`
		} `json:"authorizationData"`
	}
	if err := service().Call(ctx, cloud, "GetAuthorizationToken", kind.Document{}, &out); err != nil {
		return image.Repository{}, err
	}
	if len(out.Data) == 0 {
		return image.Repository{}, errNoToken
	}
	pair, err := base64.StdEncoding.DecodeString(out.Data[0].Token)
	if err != nil {
		return image.Repository{}, errNoToken // the error would tell of the token
	}
	server, err := url.Parse(out.Data[0].Endpoint)
	if err != nil || server.Host == "" {
		return image.Repository{}, errNoToken
	}
	as := image.Repository{Name: server.Host, Insecure: server.Scheme == "http"}
	as.User, as.Password, _ = strings.Cut(string(pair), ":")
	if as.Transport, err = aws.Transport(cloud); err != nil {
		return image.Repository{}, err
	}
	known.as, known.since = as, time.Now()
	return as, nil
}
