// Package ecr offers repositories of Amazon Elastic Container Registry, access to them, and images in them.
//
// It knows a repository's settings, its policies and whether there are images in it, and an image's digest and tags. It does not know how
// images are built, which package image does, nor the registry's own settings (scanning, replication, caches); how calls are made and judged is the business of
// package aws.
package ecr

import (
	"context"
	"embed"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed image.go repository.go
var source embed.FS

const repositoryType = "aws.ecr.Repository"

// Service is what this package offers. Repositories through Cloud Control, AWS::ECR::Repository, stay usable.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{imageKind.Erase(), repositoryKind.Erase()},
		Constructs: map[string]athanor.Construct{
			repositoryType: aws.Usable((func(Repository, RepositoryProps) Repository)(nil), Repository.Grant, map[string]Access{"pull": Pull, "push": Push}),
		},
		Filters: []string{"ecr:repository"},
		Also:    map[string]string{"AWS::ECR::Repository": repositoryType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			name, ok = strings.CutPrefix(p.Resource, "repository/")
			return repositoryType, string(arn), name, ok && p.Service == "ecr"
		},
	}
}

// NewRepository declares a repository.
func NewRepository(s *athanor.Stack, name string, p RepositoryProps, opts ...athanor.Option) Repository {
	return athanor.Declare(s, repositoryKind, name, p, opts...)
}

// ReadRepository uses a repository that the stack does not own: by its name or ARN, or by RepositoryProps that name it.
func ReadRepository(s *athanor.Stack, name string, by any) Repository {
	return athanor.Read(s, repositoryKind, name, by)
}

// RepositoryProps declare a repository. Defaults and limits are those of
// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_CreateRepository.html
type RepositoryProps struct {
	// Name of the repository: 2 to 256 lower case letters, digits and . _ - / between them. Default: none, a name is generated.
	// Changing it replaces the repository.
	Name string
	// TagMutability says whether a tag of an image may be moved to another image.
	TagMutability *string `prop:"enum=MUTABLE|IMMUTABLE,default=MUTABLE" wire:"-"`
	// TagExclusions are patterns of tags for which the contrary of tagMutability holds, each of up to 128 letters, digits and . _ - * with up
	// to two *, such as latest or dev-*. Default: none.
	TagExclusions []string `prop:"set,maxitems=5" wire:"-"`
	// ScanOnPush scans each image for known weaknesses when it is pushed. The registry's own rules for scanning go before it.
	ScanOnPush bool `prop:"default=false" wire:"imageScanningConfiguration.scanOnPush"`
	// Encryption is what images are encrypted with: a key of the service, or one of KMS, once or twice.
	Encryption *string `prop:"enum=AES256|KMS|KMS_DSSE,default=AES256,immutable" wire:"encryptionConfiguration.encryptionType"`
	// KMSKey is the ARN of the key of KMS, with encryption KMS or KMS_DSSE. Default: none, which is for AES256 alone.
	KMSKey aws.ARN `prop:"immutable,maxlen=2048" wire:"encryptionConfiguration.kmsKey"`
	// Policy says who may use the repository: a document (see aws.Policy), or JSON text. Default: none, the account alone.
	Policy any `prop:"deferrable" wire:"-,policy"`
	// LifecyclePolicy says which images expire: a document such as {"rules": […]}, or JSON text. Default: none, images stay.
	// https://docs.aws.amazon.com/AmazonECR/latest/userguide/LifecyclePolicies.html
	LifecyclePolicy any `wire:"-,document"`
	// ForceDelete permits deleting the repository with the images in it.
	ForceDelete bool `prop:"default=false"`
	// Tags of the repository, beside the owner tags. Default: none.
	Tags map[string]string
}

// Repository is what others may refer to of a repository.
type Repository struct {
	// ARN of the repository.
	ARN aws.ARN `attr:"early"`
	// Name of the repository.
	Name string `attr:"early"`
	// URI is what images are pushed to and pulled from, before a colon and a tag.
	URI string `attr:"early"`
}

// liveRepository is an observed repository.
type liveRepository struct {
	attrs     Repository
	have      RepositoryProps
	tags      map[string]string
	hasImages bool
}

type site = kind.Site[RepositoryProps, Repository]

var repositoryTable = kind.TableOf[RepositoryProps](aws.PolicyCodec(), kind.Codec{Name: "document", Form: aws.Document})

var repositoryKind = &kind.Kind[RepositoryProps, liveRepository, Repository]{
	Type: repositoryType,
	Doc: "A repository of Amazon ECR with its policy, lifecycle policy, scanning, encryption and tags. Its images are resources of their own: " +
		"a repository with images in it holds data.",

	Observe:    aws.Together(repositoryType, observeRepository, observeRepositories),
	Create:     createRepository,
	Compare:    compareRepository,
	Attributes: func(live liveRepository) Repository { return live.attrs },
	Delete:     deleteRepository,
	Identity:   func(r Repository) string { return string(r.ARN) },

	Props: repositoryTable,
	Check: checkRepository,
	Unique: func(want RepositoryProps) []string {
		return aws.Declares("AWS::ECR::Repository", want.Name)
	},
	Named: &kind.Named[RepositoryProps, liveRepository]{
		Given: func(want RepositoryProps) string { return want.Name },
		Rule: func(RepositoryProps) kind.NameRule {
			return kind.NameRule{Min: 2, Max: 256, Marks: "._-/", Lower: true, Inner: true}
		},
		Live: func(live liveRepository) string { return live.attrs.Name },
	},
	Owner: aws.Tagged(
		func(want RepositoryProps) map[string]string { return want.Tags },
		func(live liveRepository) map[string]string { return live.tags }, "TagResource", putTags, dropTags),
	HoldsData: &kind.HoldsData[RepositoryProps, liveRepository]{
		Now:       func(live liveRepository) bool { return live.hasImages },
		What:      func(liveRepository) string { return "images" },
		MayDelete: func(want RepositoryProps) bool { return want.ForceDelete },
	},
	Contents: contentsOfRepository,

	List: listRepositories,
	Bulk: aws.InBulk(observeRepository, observeRepositories),

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("ECR", "ecr", aws.Source(source), kind.Permissions{
		Observe: []string{"DescribeRepositories", "ListTagsForResource", "GetRepositoryPolicy", "GetLifecyclePolicy", "ListImages", "tag:GetResources"},
		List:    []string{"DescribeRepositories"},
		Create:  []string{"CreateRepository", "TagResource", "SetRepositoryPolicy", "PutLifecyclePolicy"},
		Only: map[string][]tree.Path{
			"SetRepositoryPolicy": {"policy"}, "DeleteRepositoryPolicy": {"policy"},
			"PutLifecyclePolicy": {"lifecyclePolicy"}, "DeleteLifecyclePolicy": {"lifecyclePolicy"},
		},
		Update: []string{
			"PutImageTagMutability", "PutImageScanningConfiguration", "SetRepositoryPolicy", "DeleteRepositoryPolicy",
			"PutLifecyclePolicy", "DeleteLifecyclePolicy", "TagResource", "UntagResource",
		},
		Delete:   []string{"DeleteRepository"},
		Resource: aws.On("ecr", "repository/"),
		// https://docs.aws.amazon.com/AmazonECR/latest/userguide/encryption-at-rest.html
		Depends: []kind.Dependence{aws.UseKey(0, []string{"CreateRepository"}, []string{"kms:CreateGrant", "kms:DescribeKey", "kms:RetireGrant"}, "kmsKey")},
	}),
}

// service returns ECR as calls reach it.
func service() aws.JSONService {
	return aws.JSONService{
		Name: "ECR", Signing: "ecr", Host: "api.ecr", Target: "AmazonEC2ContainerRegistry_V20150921", Version: "1.1",
	}
}

// named begins every call on one repository.
func named(name string, more kind.Document) kind.Document {
	body := kind.Document{"repositoryName": name}
	maps.Copy(body, more)
	return body
}

func arnOf(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "ecr", "repository/"+name)
}

// checkRepository finds what ECR would refuse, beyond what the table says.
func checkRepository(want RepositoryProps) error {
	var problems props.Errors
	ofKMS := want.Encryption != nil && *want.Encryption != "AES256"
	if p, ok := want.KMSKey.Parse(); want.KMSKey != "" && !token.Has(string(want.KMSKey)) && (!ok || p.Service != "kms") {
		problems.Wrong("kmsKey", "want the ARN of a key")
	}
	switch {
	case want.KMSKey != "" && !ofKMS:
		problems.Wrong("kmsKey", "it counts with encryption KMS or KMS_DSSE alone")
	case want.KMSKey == "" && ofKMS && !token.Has(*want.Encryption):
		problems.Wrong("kmsKey", "encryption by KMS needs a key")
	}
	for i, pattern := range want.TagExclusions {
		if !token.Has(pattern) && (!exclusionForm().MatchString(pattern) || strings.Count(pattern, "*") > 2) {
			problems.Wrong(tree.Path("tagExclusions").Index(i), "want up to 128 letters, digits and . _ - *, with up to two *")
		}
	}
	return problems.OrNil()
}

// exclusionForm is the form of a filter:
// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_ImageTagMutabilityExclusionFilter.html
var exclusionForm = props.Pattern(`^[0-9a-zA-Z._*-]{1,128}$`)

// withExclusion ends the mutability of a repository that has exclusions.
const withExclusion = "_WITH_EXCLUSION"

// setMutability writes what holds for tags, as a creation and an update are told it.
func setMutability(want RepositoryProps, body kind.Document) {
	body["imageTagMutability"] = *want.TagMutability
	if len(want.TagExclusions) == 0 {
		return
	}
	var filters []any
	for _, pattern := range want.TagExclusions {
		filters = append(filters, map[string]any{"filterType": "WILDCARD", "filter": pattern})
	}
	body["imageTagMutability"], body["imageTagMutabilityExclusionFilters"] = *want.TagMutability+withExclusion, filters
}

// readMutability reads what holds for tags.
func (p *RepositoryProps) readMutability(r shown) {
	mode, _ := r["imageTagMutability"].(string)
	p.TagMutability = new(strings.TrimSuffix(mode, withExclusion))
	filters, _ := r["imageTagMutabilityExclusionFilters"].([]any)
	for _, f := range filters {
		f, _ := f.(map[string]any)
		pattern, _ := f["filter"].(string)
		p.TagExclusions = append(p.TagExclusions, pattern)
	}
}

// shown is a repository as ECR describes it.
type shown = map[string]any

// contentsOfRepository lists the images, those that a resource of the stage may be under its own tag: each has a name of the stage.
func contentsOfRepository(ctx context.Context, s site, most int) (all []kind.Found, err error) {
	tags, digests := map[string][]string{}, []string(nil)
	in := named(s.Last.Name, kind.Document{"maxResults": 1000})
	for {
		var page struct {
			ImageIDs  []imageID `json:"imageIds"`
			NextToken string    `json:"nextToken"`
		}
		if err := service().Call(ctx, s.Cloud, "ListImages", in, &page); err != nil {
			return nil, err
		}
		for _, i := range page.ImageIDs {
			if _, known := tags[i.Digest]; !known {
				digests = append(digests, i.Digest)
			}
			tags[i.Digest] = append(tags[i.Digest], i.Tag)
		}
		if in["nextToken"] = page.NextToken; page.NextToken == "" {
			break
		}
	}
	ours := s.Owner.Stack + "-" + s.Owner.Stage + "-"
	for _, digest := range digests {
		some := slices.DeleteFunc(tags[digest], func(tag string) bool { return !strings.HasPrefix(tag, ours) })
		for _, tag := range some {
			all = append(all, kind.Found{Kind: imageType, Identity: identityOf(imageOf(s.Location, s.Last.Name, tag, digest, nil))})
		}
		if len(some) == 0 {
			all = append(all, kind.Found{})
		}
	}
	return all[:min(len(all), most)], nil
}

// described goes through repositories: the named ones, or all.
func described(ctx context.Context, cloud kind.Cloud, names []string, yield func(shown) bool) error {
	in := kind.Document{"maxResults": 1000}
	if names != nil {
		in = kind.Document{"repositoryNames": names}
	}
	for {
		var page struct {
			Repositories []shown `json:"repositories"`
			NextToken    string  `json:"nextToken"`
		}
		if err := service().Call(ctx, cloud, "DescribeRepositories", in, &page); err != nil {
			return err
		}
		for _, r := range page.Repositories {
			if !yield(r) {
				return nil
			}
		}
		if in["nextToken"] = page.NextToken; page.NextToken == "" {
			return nil
		}
	}
}

func repositoryIn(r shown) Repository {
	text := func(member string) string { s, _ := r[member].(string); return s }
	return Repository{ARN: aws.ARN(text("repositoryArn")), Name: text("repositoryName"), URI: text("repositoryUri")}
}

// observeRepository reads the repository, and then at once all that hangs on it.
func observeRepository(ctx context.Context, s site) (live liveRepository, err error) {
	name, err := aws.NameOf(s, aws.Names[Repository]{
		Of:  func(r Repository) string { return r.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, "repository/") },
		ARN: arnOf,
	})
	if err != nil {
		return live, err
	}
	found := shown(nil)
	if err := described(ctx, s.Cloud, []string{name}, func(r shown) bool { found = r; return false }); err != nil {
		return live, aws.Absent(err)
	}
	if found == nil {
		return live, reconcile.ErrAbsent
	}
	return repositoryWith(ctx, s, found, liveRepository{})
}

// mostNames is how many repositories one call describes by their names:
// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_DescribeRepositories.html
const mostNames = 100

// observeRepositories reads the descriptions and the tags of many repositories together, and the policies of each, with its tags where
// the tagging service is behind. One that is not declared, would be replaced or cannot be read is left out. Images are not asked for: a
// repository that stays counts as one with images.
func observeRepositories(ctx context.Context, all []site) ([]*aws.Answer[liveRepository], error) {
	tags, err := aws.TagsTogether(ctx, all,
		func(r Repository) aws.ARN { return r.ARN }, func(want RepositoryProps) map[string]string { return want.Tags })
	if err != nil {
		return nil, err
	}
	found := map[string]shown{}
	for some := range slices.Chunk(all, mostNames) {
		var names []string
		for _, s := range some {
			names = append(names, s.Last.Name)
		}
		err := described(ctx, all[0].Cloud, names, func(r shown) bool { found[repositoryIn(r).Name] = r; return true })
		if err != nil {
			return nil, err
		}
	}
	isApart := func(i int) bool {
		s := all[i]
		return found[s.Last.Name] == nil || s.Want.Encryption == nil || s.Name != s.Last.Name
	}
	answers := aws.EachOf(ctx, all, isApart, func(ctx context.Context, i int, s site) (liveRepository, error) {
		return repositoryWith(ctx, s, found[s.Last.Name], liveRepository{tags: tags[i], hasImages: true})
	})
	for i, a := range answers {
		if a != nil && (a.Err != nil || !stays(all[i].Want, a.Value.have)) {
			answers[i] = nil
		}
	}
	return answers, nil
}

// stays reports whether a repository is declared as one that it can become in place.
func stays(want, have RepositoryProps) bool {
	return want.Encryption != nil && *want.Encryption == *have.Encryption && want.KMSKey == have.KMSKey
}

// repositoryWith reads at once all that hangs on a repository, but what is known of it already: its tags, and that it counts as one
// with images.
func repositoryWith(ctx context.Context, s site, found shown, live liveRepository) (_ liveRepository, err error) {
	live.attrs = repositoryIn(found)
	name := live.attrs.Name
	if live.have, err = repositoryTable.Read(kind.Document(found)); err != nil {
		return live, err
	}
	live.have.readMutability(found)
	group, ctx := errgroup.WithContext(ctx)
	if live.tags == nil {
		group.Go(func() error {
			var out struct {
				Tags []aws.Tag `json:"tags"`
			}
			err := service().Call(ctx, s.Cloud, "ListTagsForResource", kind.Document{"resourceArn": live.attrs.ARN}, &out)
			live.tags = aws.MapOfTags(out.Tags)
			return aws.NotYet(err)
		})
	}
	group.Go(func() error {
		var out struct {
			PolicyText string `json:"policyText"`
		}
		if err := service().Call(ctx, s.Cloud, "GetRepositoryPolicy", named(name, nil), &out); err != nil {
			return orNone(err, "RepositoryPolicyNotFoundException")
		}
		live.have.Policy = out.PolicyText
		return nil
	})
	group.Go(func() error {
		var out struct {
			LifecyclePolicyText string `json:"lifecyclePolicyText"`
		}
		if err := service().Call(ctx, s.Cloud, "GetLifecyclePolicy", named(name, nil), &out); err != nil {
			return orNone(err, "LifecyclePolicyNotFoundException")
		}
		live.have.LifecyclePolicy = out.LifecyclePolicyText
		return nil
	})
	if !live.hasImages {
		group.Go(func() error {
			var out struct {
				ImageIDs []any `json:"imageIds"`
			}
			err := service().Call(ctx, s.Cloud, "ListImages", named(name, kind.Document{"maxResults": 1}), &out)
			live.hasImages = len(out.ImageIDs) > 0
			return aws.NotYet(err)
		})
	}
	err = group.Wait()
	return live, err
}

// orNone is nil for the code of a policy that is not there. That the repository is not there is not believed: it was just read.
func orNone(err error, code string) error {
	if aws.HasCode(err, code) {
		return nil
	}
	return aws.NotYet(err)
}

// createRepository carries everything but the policies, which the update that follows sets.
func createRepository(ctx context.Context, s site) (Repository, error) {
	body := named(s.Name, kind.Document{"tags": aws.JSONTags[aws.Tag](aws.Tags(s.Cloud, s.Want.Tags, s.Owner))})
	setMutability(s.Want, body)
	if err := repositoryTable.Created(s.Want, body); err != nil {
		return Repository{}, err
	}
	var out struct {
		Repository shown `json:"repository"`
	}
	if err := service().Call(ctx, s.Cloud, "CreateRepository", body, &out); err != nil {
		return Repository{}, err
	}
	return repositoryIn(out.Repository), nil
}

func listRepositories(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	err = described(ctx, scope.Cloud, nil, func(r shown) bool {
		if a := repositoryIn(r); strings.HasPrefix(a.Name, scope.Prefix) {
			all = append(all, kind.Found{Kind: repositoryType, Place: scope.Place, Identity: string(a.ARN), Name: a.Name})
		}
		return true
	})
	return all, err
}

// compareRepository states every aspect, each with the call that sets it.
func compareRepository(d *kind.Diff[liveRepository], want RepositoryProps, live liveRepository) {
	set := func(operation string, body func() (kind.Document, error)) *kind.Operation[liveRepository] {
		return kind.Set(operation, func(ctx context.Context, u kind.Update[liveRepository]) error {
			more, err := body()
			if err != nil {
				return err
			}
			return aws.NotYet(service().Call(ctx, u.Cloud, operation, named(u.Live.attrs.Name, more), nil))
		})
	}
	// policy sets a document, or takes it away.
	policy := func(put, drop, member string, document any) *kind.Operation[liveRepository] {
		if document == nil || document == "" {
			return set(drop, func() (kind.Document, error) { return nil, nil })
		}
		return set(put, func() (kind.Document, error) {
			text, err := aws.DocumentText(document)
			return kind.Document{member: text}, err
		})
	}
	mutability := kind.Set("PutImageTagMutability", func(ctx context.Context, u kind.Update[liveRepository]) error {
		body := kind.Document{}
		setMutability(repositoryTable.Merged(want, u.Live.have, u.Changed), body)
		return aws.NotYet(service().Call(ctx, u.Cloud, "PutImageTagMutability", named(u.Live.attrs.Name, body), nil))
	})
	kind.CompareEach(d, repositoryTable, want, live.have, map[tree.Path]*kind.Operation[liveRepository]{
		"tagMutability": mutability, "tagExclusions": mutability,
		"scanOnPush": set("PutImageScanningConfiguration", func() (kind.Document, error) {
			return kind.Document{"imageScanningConfiguration": kind.Document{"scanOnPush": want.ScanOnPush}}, nil
		}),
		"policy":          policy("SetRepositoryPolicy", "DeleteRepositoryPolicy", "policyText", want.Policy),
		"lifecyclePolicy": policy("PutLifecyclePolicy", "DeleteLifecyclePolicy", "lifecyclePolicyText", want.LifecyclePolicy),
	})
}

// deleteRepository deletes images only where the runner has permission for that.
func deleteRepository(ctx context.Context, s site) error {
	return service().Call(ctx, s.Cloud, "DeleteRepository", named(s.Last.Name, kind.Document{"force": s.MayDelete}), nil)
}

func putTags(ctx context.Context, u kind.Update[liveRepository], tags map[string]string) error {
	return service().Call(ctx, u.Cloud, "TagResource", kind.Document{"resourceArn": u.Live.attrs.ARN, "tags": aws.JSONTags[aws.Tag](tags)}, nil)
}

func dropTags(ctx context.Context, u kind.Update[liveRepository], keys []string) error {
	return service().Call(ctx, u.Cloud, "UntagResource", kind.Document{"resourceArn": u.Live.attrs.ARN, "tagKeys": keys}, nil)
}
