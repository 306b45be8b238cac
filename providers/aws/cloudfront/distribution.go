// Package cloudfront offers distributions of Amazon CloudFront, and the controls by which they read private buckets.
//
// It knows how a distribution is configured, when it is deployed, what is removed from its caches, and that it is disabled before
// it is deleted. It does not know policies and functions of CloudFront, which are named here by what they are called or by their
// identities, nor web ACLs, logging, origin groups, geographic restrictions and signed URLs, which it leaves as they are; how
// calls are made and judged is the business of package aws.
package cloudfront

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed distribution.go control.go
var source embed.FS

const distributionType = "aws.cloudfront.Distribution"

// Service is what this package offers. Distributions and controls through Cloud Control, AWS::CloudFront::Distribution and
// AWS::CloudFront::OriginAccessControl, stay usable.
func Service() aws.Service {
	return aws.Service{
		Kinds:   []reconcile.Any{distributionKind.Erase(), controlKind.Erase()},
		Filters: []string{"cloudfront:distribution"},
		Also:    map[string]string{"AWS::CloudFront::Distribution": distributionType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			id, ok := strings.CutPrefix(p.Resource, "distribution/")
			return distributionType, id, "", ok && p.Service == "cloudfront"
		},
	}
}

// NewDistribution declares a distribution. One that serves a private bucket is allowed by the bucket's policy:
//
//	site := s3.NewBucket(s, "site", s3.BucketProps{Policy: …})
//	control := cloudfront.NewOriginAccessControl(s, "control", cloudfront.OriginAccessControlProps{})
//	cdn := cloudfront.NewDistribution(s, "cdn", cloudfront.DistributionProps{
//		Origins:           map[string]cloudfront.Origin{"site": {Domain: site.RegionalDomainName, S3: true, AccessControl: control.ID}},
//		Default:           cloudfront.Behavior{Origin: "site"},
//		DefaultRootObject: "index.html",
//	})
func NewDistribution(s *athanor.Stack, name string, p DistributionProps, opts ...athanor.Option) Distribution {
	return athanor.Declare(s, distributionKind, name, p, opts...)
}

// ReadDistribution uses a distribution that the stack does not own, by its identity or its ARN.
func ReadDistribution(s *athanor.Stack, name string, by any) Distribution {
	return athanor.Read(s, distributionKind, name, by)
}

// DistributionProps declare a distribution. Defaults and limits are those of
// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_DistributionConfig.html
type DistributionProps struct {
	// Comment of the distribution, which lists show. Default: none.
	Comment string `prop:"maxlen=128" wire:"-"`
	// Disabled: the distribution answers no requests.
	Disabled bool `prop:"default=false" wire:"-"`
	// Aliases are the domains that the distribution answers for beside its own, in lower case. They need a certificate. Default: none.
	Aliases []string `prop:"set,maxitems=100" wire:"-"`
	// Certificate is the ARN of a certificate of ACM in us-east-1 for all aliases. Default: none, that of CloudFront's own domain.
	Certificate aws.ARN `prop:"maxlen=2048" wire:"-"`
	// MinimumTLS is the oldest version of TLS, with its ciphers, that viewers may use.
	MinimumTLS *string `prop:"enum=TLSv1.1_2016|TLSv1.2_2018|TLSv1.2_2019|TLSv1.2_2021|TLSv1.2_2025|TLSv1.3_2025,default=TLSv1.2_2021,with=certificate" wire:"-"`
	// DefaultRootObject is what is served for the root, such as index.html. Default: none.
	DefaultRootObject string `prop:"maxlen=255" wire:"-"`
	// PriceClass says which edge locations serve: all, or those of the cheaper regions.
	PriceClass *string `prop:"enum=PriceClass_100|PriceClass_200|PriceClass_All,default=PriceClass_All" wire:"-"`
	// HTTPVersion is the newest version of HTTP that viewers may use.
	HTTPVersion *string `prop:"enum=http1.1|http2|http3|http2and3,default=http2" wire:"-"`
	// IPv6 lets viewers connect by IPv6.
	IPv6 *bool `prop:"default=true" wire:"-"`
	// Origins are where content comes from, by names of the author's.
	Origins map[string]Origin `prop:"required,maxitems=100" wire:"-,elements"`
	// Default is how requests are served that no other behavior is for.
	Default Behavior `prop:"required" wire:"-"`
	// Behaviors are how requests to some paths are served; the first whose path matches counts. Default: none.
	Behaviors []Behavior `prop:"maxitems=75" wire:"-,elements"`
	// Errors are what is answered where an origin answers with an error. Default: none, the origin's answer.
	Errors []ErrorResponse `prop:"set,maxitems=12" wire:"-,elements"`
	// Invalidate removes content from the caches when what it is made of changes. Default: none, content stays as long as the
	// cache policy says.
	Invalidate *Invalidation
	// Tags of the distribution, beside the owner tags. Default: none.
	Tags map[string]string
}

// Origin is where content comes from: a bucket, or any server that speaks HTTP.
type Origin struct {
	// Domain of the server; of a bucket its regionalDomainName.
	Domain string `prop:"required,maxlen=253"`
	// S3: the domain is a bucket, and not a server (nor the site of a bucket).
	S3 bool `prop:"default=false"`
	// AccessControl is the identity of an origin access control, by which requests to the origin are signed. Default: none, the
	// origin must be public.
	AccessControl string `prop:"maxlen=64"`
	// Path is put before the path of each request, with / at its beginning and none at its end. Default: none.
	Path string `prop:"maxlen=255"`
	// Protocol is how the server is asked; match-viewer as the viewer asked. It counts without s3 alone.
	Protocol *string `prop:"enum=http-only|https-only|match-viewer,default=https-only"`
	// HTTPPort of the server.
	HTTPPort *int `prop:"min=1,max=65535,default=80"`
	// HTTPSPort of the server.
	HTTPSPort *int `prop:"min=1,max=65535,default=443"`
	// ReadTimeout is how long the server may take to answer, in whole seconds.
	ReadTimeout *time.Duration `prop:"min=1s,max=120s,default=30s"`
}

// Behavior is how requests are served.
type Behavior struct {
	// Path is the pattern of the paths that it is for, such as /api/*. Required, and for the default behavior an error. Default: none.
	Path string `prop:"maxlen=255"`
	// Origin is the name of the origin.
	Origin string `prop:"required,maxlen=128"`
	// Viewers is what viewers may use, HTTP and HTTPS or HTTPS alone, to which HTTP may be redirected.
	Viewers *string `prop:"enum=allow-all|https-only|redirect-to-https,default=redirect-to-https"`
	// Methods are those that are passed on: read is GET and HEAD, options OPTIONS too, all PUT, PATCH, POST and DELETE too.
	Methods *string `prop:"enum=read|options|all,default=read"`
	// Compress content for viewers that take it so.
	Compress *bool `prop:"default=true"`
	// CachePolicy says what is cached by what, and for how long: the name of a policy of AWS such as CachingOptimized or
	// CachingDisabled, or the identity of a policy of one's own.
	CachePolicy *string `prop:"default=CachingOptimized,maxlen=64"`
	// OriginRequestPolicy says what of a request the origin sees: a name such as AllViewerExceptHostHeader, or an identity. Default:
	// none, what the cache goes by.
	OriginRequestPolicy string `prop:"maxlen=64"`
	// ResponseHeadersPolicy says which headers are added to answers: a name such as SecurityHeadersPolicy, or an identity. Default: none.
	ResponseHeadersPolicy string `prop:"maxlen=64"`
	// ViewerRequest is the ARN of a function of CloudFront that each request passes. Default: none.
	ViewerRequest aws.ARN `prop:"maxlen=108"`
	// ViewerResponse is the ARN of a function of CloudFront that each answer passes. Default: none.
	ViewerResponse aws.ARN `prop:"maxlen=108"`
}

// ErrorResponse is what is answered in place of an error. An application in one page answers 403 and 404, as private buckets do, with
// its page and status 200.
type ErrorResponse struct {
	// Code of the error: 400, 403, 404, 405, 414, 416, 500, 501, 502, 503 or 504.
	Code int `prop:"required,min=400,max=504"`
	// Page is the path of what is answered, with / at its beginning. Default: none, the origin's answer.
	Page string `prop:"maxlen=4096"`
	// Status of the answer, with a page alone. Default: none, code.
	Status int `prop:"min=0,max=599"`
	// CacheFor is how long the error is not asked for again, in whole seconds.
	CacheFor *time.Duration `prop:"min=0s,max=8760h,default=10s"`
}

// Invalidation removes content from the caches of a distribution. The run waits until it is removed everywhere.
type Invalidation struct {
	// Paths of what is removed, such as /index.html or /docs/*. Each counts for the price of CloudFront. Default: none, /*.
	Paths []string `prop:"maxitems=3000"`
	// When is what the content is made of, such as the hashes of objects: each change of it removes the content.
	When []string `prop:"required"`
}

// Distribution is what others may refer to of a distribution. What refers to its domain waits until it is deployed.
type Distribution struct {
	// ID of the distribution, such as E1A2B3C4D5E6F7.
	ID string `attr:"early"`
	// ARN of the distribution, for the policy of a bucket that it reads.
	ARN aws.ARN `attr:"early"`
	// DomainName is CloudFront's domain for it, such as d111111abcdef8.cloudfront.net.
	DomainName string
	// HostedZoneID is the zone of that domain, for alias records of Route 53.
	HostedZoneID string
}

// liveDistribution is an observed distribution.
type liveDistribution struct {
	attrs  Distribution
	have   DistributionProps
	status string
	tags   map[string]string
	// invalidated is what content was last removed for, see [invalidationOf].
	invalidated string
}

type site = kind.Site[DistributionProps, Distribution]

var distributionTable = kind.TableOf[DistributionProps]()

var distributionKind = &kind.Kind[DistributionProps, liveDistribution, Distribution]{
	Type: distributionType,
	Doc: "A distribution of CloudFront: it is ready when all edge locations have its configuration, which takes minutes, and it is disabled " +
		"before it is deleted. Not managed, and left as they are: web ACLs, logging, origin groups, headers that are sent to origins, geographic " +
		"restrictions, signed URLs, functions of Lambda, certificates of IAM, staging distributions and tenants. Cache settings that are no policy are replaced.",

	Observe:    observeDistribution,
	Create:     createDistribution,
	Compare:    compareDistribution,
	Attributes: func(live liveDistribution) Distribution { return live.attrs },
	Delete:     deleteDistribution,
	Identity:   func(d Distribution) string { return d.ID },
	Global:     aws.Global,

	Props: distributionTable,
	Default: func(want DistributionProps) DistributionProps {
		want.Errors = slices.Clone(want.Errors)
		for i, e := range want.Errors {
			if e.Status == e.Code { // which is what it is without one
				want.Errors[i].Status = 0
			}
		}
		return want
	},
	Check: checkDistribution,
	Unique: func(want DistributionProps) (all []string) {
		for _, name := range want.Aliases {
			all = append(all, "domain "+name)
		}
		return all
	},
	Owner: aws.Tagged(
		func(want DistributionProps) map[string]string { return want.Tags },
		func(live liveDistribution) map[string]string { return live.tags }, "TagResource", putTags, dropTags),
	Status: func(live liveDistribution) kind.Status {
		if live.status == inProgress {
			return kind.Busy("not all edge locations have its configuration yet")
		}
		return kind.Ready()
	},
	List:     listDistributions,
	Timeouts: kind.Timeouts{Create: time.Hour, Update: time.Hour, Delete: time.Hour},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("CloudFront", "cloudfront", aws.Source(source), kind.Permissions{
		Observe: []string{"GetDistribution", "ListTagsForResource", "tag:GetResources"},
		List:    []string{"ListDistributions", "tag:GetResources"},
		Create:  []string{"cloudfront:CreateDistribution", "TagResource"},
		Update:  []string{"UpdateDistribution", "TagResource", "UntagResource", "CreateInvalidation", "GetInvalidation"},
		Calls: map[string][]string{
			"TagResource": {"TagResource", "UntagResource"}, "CreateInvalidation": {"CreateInvalidation", "GetInvalidation", "TagResource"},
		},
		Delete: []string{"GetDistribution", "UpdateDistribution", "DeleteDistribution"},
		Resource: func(location kind.Location, _ string) []string {
			return []string{string(arnOf(location, "distribution/*"))}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudfront.html
		Anywhere: []string{"ListDistributions"},
	}, "CloudFront.CreateDistributionWithTags"),
}

// service returns CloudFront as calls reach it.
func service() aws.XMLService {
	return aws.XMLService{Name: "CloudFront", Signing: "cloudfront", Host: "cloudfront"}
}

// version begins the paths of calls.
const version = "/2020-05-31/"

func arnOf(location kind.Location, resource string) aws.ARN {
	return aws.Parts{Partition: aws.Partition(location.Region), Service: "cloudfront", Account: location.Account, Resource: resource}.ARN()
}

// inProgress is the status of what not all edge locations have yet.
const inProgress = "InProgress"

// tagInvalidated keeps what content was last removed for: CloudFront does not say.
const tagInvalidated = "athanor:invalidated"

var (
	errNone       = fmt.Errorf("%w: no distribution has its owner tag", reconcile.ErrAbsent)
	errDisabling  = errors.New("not all edge locations know yet that it is disabled")
	errInCaches   = errors.New("content is still being removed from the caches")
	errUnfinished = errors.New("it was created, and is not shown yet")
)

// shown is a distribution as CloudFront shows it.
type shown struct {
	ID         string `xml:"Id"`
	ARN        aws.ARN
	Status     string
	DomainName string
	Config     config `xml:"DistributionConfig"`
}

func (s shown) attrs(location kind.Location) Distribution {
	zone := "Z2FDTNDATAQYW2" // https://docs.aws.amazon.com/Route53/latest/APIReference/API_AliasTarget.html
	if aws.Partition(location.Region) == "aws-cn" {
		zone = "Z3RFFRIM2A3IF5"
	}
	return Distribution{ID: s.ID, ARN: arnOf(location, "distribution/"+s.ID), DomainName: s.DomainName, HostedZoneID: zone}
}

// call makes one call. A version that is not the newest any more, of a read that was behind, is asked for again.
func call(ctx context.Context, cloud kind.Cloud, c aws.XMLCall) (string, error) {
	etag, err := service().Call(ctx, cloud, c)
	if aws.HasCode(err, "PreconditionFailed", "InvalidIfMatchVersion") {
		err = reconcile.WithClass(err, reconcile.Conflict)
	}
	return etag, err
}

func get(ctx context.Context, cloud kind.Cloud, id string) (out shown, etag string, err error) {
	etag, err = call(ctx, cloud, aws.XMLCall{Operation: "GetDistribution", Method: http.MethodGet, Path: pathOf(id), Out: &out})
	return out, etag, err
}

func pathOf(id string) string { return version + "distribution/" + url.PathEscape(id) }

// observeDistribution reads a distribution by its identity, or finds that of the owner, since CloudFront assigns identities.
func observeDistribution(ctx context.Context, s site) (liveDistribution, error) {
	switch {
	case s.Last != nil:
		return readDistribution(ctx, s, s.Last.ID)
	case s.ID != "":
		id := s.ID
		if p, ok := aws.ARN(id).Parse(); ok {
			id = strings.TrimPrefix(p.Resource, "distribution/")
			if aws.ARN(s.ID) != arnOf(s.Location, "distribution/"+id) {
				return liveDistribution{}, aws.Foreign(s.ID, s.Location)
			}
		}
		return readDistribution(ctx, s, id)
	case s.Owner.IsZero():
		return liveDistribution{}, errNone
	}
	arns, err := aws.MarkedGlobally(ctx, s.Cloud, s.Owner)
	if err != nil {
		return liveDistribution{}, err
	}
	var ids []string
	for _, arn := range arns {
		p, _ := arn.Parse()
		if id, ok := strings.CutPrefix(p.Resource, "distribution/"); ok && p.Service == "cloudfront" {
			ids = append(ids, id)
		}
	}
	ours, _, err := adopt.Find(s.Facts, ids, func(id string) (liveDistribution, error) { return readDistribution(ctx, s, id) },
		func(live liveDistribution) (kind.OwnerTag, string) { return adopt.MarkOf(live.tags), live.attrs.ID })
	if ours == nil {
		return liveDistribution{}, cmp.Or(err, errNone)
	}
	return *ours, nil
}

func readDistribution(ctx context.Context, s site, id string) (live liveDistribution, err error) {
	var tags map[string]string
	err = aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) error {
		d, _, err := get(ctx, s.Cloud, id)
		if err == nil {
			live.attrs, live.status, live.have = d.attrs(s.Location), d.Status, d.Config.props()
		}
		return err
	}, func(ctx context.Context) (err error) {
		tags, err = tagsOf(ctx, s.Cloud, arnOf(s.Location, "distribution/"+id))
		return err
	})
	if live.tags = tags; err != nil {
		return live, err
	}
	live.invalidated = live.tags[tagInvalidated]
	delete(live.tags, tagInvalidated)
	return live, nil
}

// createDistribution is the same creation when it is made again: CloudFront knows it by its caller reference.
func createDistribution(ctx context.Context, s site) (Distribution, error) {
	cfg := config{CallerReference: "athanor-" + digest(s.Owner.Stack, s.Owner.Stage, s.Owner.Address, s.Nonce, s.New.Deleted)}
	cfg.set(s.Want)
	tags := aws.Tags(s.Cloud, s.Want.Tags, s.Owner)
	if s.Want.Invalidate != nil { // nothing is in the caches yet
		tags[tagInvalidated] = "0 " + invalidationOf(s.Want)
	}
	body := creation{Namespace: namespace, Config: cfg, Tags: tagList(tags)}
	var out shown
	_, err := call(ctx, s.Cloud, aws.XMLCall{
		Operation: "CreateDistributionWithTags", Method: http.MethodPost, Path: version + "distribution", Query: url.Values{"WithTags": {""}}, In: body, Out: &out,
	})
	if aws.HasCode(err, "DistributionAlreadyExists") {
		return Distribution{}, aws.Busy(fmt.Errorf("%w: %w", errUnfinished, err))
	}
	return out.attrs(s.Location), err
}

// digest is a word of 32 letters and digits.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// invalidationOf is what content is removed for, in a form that a tag can hold.
func invalidationOf(want DistributionProps) string { return digest(want.Invalidate.When...) }

// compareDistribution states every aspect. One call sets the whole configuration; content is removed after it.
func compareDistribution(d *kind.Diff[liveDistribution], want DistributionProps, live liveDistribution) {
	want.Default, want.Behaviors = want.Default.named(), slices.Clone(want.Behaviors)
	for i, b := range want.Behaviors {
		want.Behaviors[i] = b.named()
	}
	kind.Compare(d, distributionTable, want, live.have, kind.Set("UpdateDistribution", func(ctx context.Context, u kind.Update[liveDistribution]) error {
		now, etag, err := get(ctx, u.Cloud, u.Live.attrs.ID)
		if err != nil {
			return aws.NotYet(err)
		}
		now.Config.set(distributionTable.Merged(want, u.Live.have, u.Changed))
		return update(ctx, u.Cloud, now, etag)
	}))
	if want.Invalidate == nil {
		return
	}
	count, last, _ := strings.Cut(live.invalidated, " ")
	have := []string{}
	if isKnown := !slices.ContainsFunc(want.Invalidate.When, token.Has); isKnown && last == invalidationOf(want) {
		have = want.Invalidate.When
	}
	reconcile.Value(d, "invalidate.when", want.Invalidate.When, have, kind.Set("CreateInvalidation", func(ctx context.Context, u kind.Update[liveDistribution]) error {
		return invalidate(ctx, u, *want.Invalidate, count)
	}))
}

func update(ctx context.Context, cloud kind.Cloud, d shown, etag string) error {
	_, err := call(ctx, cloud, aws.XMLCall{
		Operation: "UpdateDistribution", Method: http.MethodPut, Path: pathOf(d.ID) + "/config", Match: etag, In: configuration{Namespace: namespace, config: d.Config},
	})
	return aws.NotYet(err)
}

// invalidate removes content from all caches. Its reference counts up, so that a removal that was cut is the same one when it is made
// again, and one for what content was made of before is another.
func invalidate(ctx context.Context, u kind.Update[liveDistribution], want Invalidation, count string) error {
	n, _ := strconv.Atoi(count)
	next := fmt.Sprintf("%d %s", n+1, digest(want.When...))
	paths := want.Paths
	if len(paths) == 0 {
		paths = []string{"/*"}
	}
	batch := invalidationBatch{
		Namespace: namespace, Paths: pathList{Quantity: len(paths), Items: paths}, CallerReference: "athanor-" + digest(append([]string{next}, paths...)...),
	}
	var out struct {
		ID     string `xml:"Id"`
		Status string
	}
	at := pathOf(u.Live.attrs.ID) + "/invalidation"
	if _, err := call(ctx, u.Cloud, aws.XMLCall{Operation: "CreateInvalidation", Method: http.MethodPost, Path: at, In: batch, Out: &out}); err != nil {
		return aws.NotYet(err)
	}
	id := out.ID
	err := reconcile.Until(ctx, u.Cloud, time.Second, 10*time.Second, errInCaches, func(ctx context.Context) (bool, time.Duration, error) {
		if out.Status != inProgress {
			return true, 0, nil
		}
		_, err := call(ctx, u.Cloud, aws.XMLCall{Operation: "GetInvalidation", Method: http.MethodGet, Path: at + "/" + url.PathEscape(id), Out: &out})
		return false, 0, aws.NotYet(err)
	})
	if err != nil {
		return err
	}
	return aws.NotYet(tagResource(ctx, u.Cloud, u.Live.attrs.ARN, map[string]string{tagInvalidated: next}))
}

// deleteDistribution disables the distribution, waits until all edge locations know, and deletes it.
func deleteDistribution(ctx context.Context, s site) error {
	id := s.Last.ID
	return reconcile.Until(ctx, s.Cloud, time.Second, 20*time.Second, errDisabling, func(ctx context.Context) (bool, time.Duration, error) {
		d, etag, err := get(ctx, s.Cloud, id)
		if err == nil && d.Config.Enabled {
			if err := disable(ctx, s.Cloud, d, etag); err != nil {
				return false, 0, err
			}
			d, etag, err = get(ctx, s.Cloud, id)
		}
		if err != nil || d.Config.Enabled || d.Status == inProgress {
			return false, 0, err
		}
		_, err = call(ctx, s.Cloud, aws.XMLCall{Operation: "DeleteDistribution", Method: http.MethodDelete, Path: pathOf(id), Match: etag})
		return err == nil, 0, err
	})
}

// disable makes a distribution answer nothing, and leaves the rest of its configuration as it is.
func disable(ctx context.Context, cloud kind.Cloud, d shown, etag string) error {
	to := d.Config.props()
	to.Disabled = true
	d.Config.set(to)
	return update(ctx, cloud, d, etag)
}

// listDistributions returns the owner tags too: the tagging service knows distributions in one region alone.
func listDistributions(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	marks, err := aws.MarksGlobally(ctx, scope.Cloud, "cloudfront:distribution")
	if err != nil {
		return nil, err
	}
	err = pages(ctx, scope.Cloud, "ListDistributions", "distribution", func(page listing) {
		for _, d := range page.Distributions {
			found := kind.Found{Kind: distributionType, Place: scope.Place, Identity: d.ID}
			if mark, ok := marks[arnOf(scope.Place, "distribution/"+d.ID)]; ok {
				found.Mark = &mark
			}
			all = append(all, found)
		}
	})
	return all, err
}

// listing is one page of what CloudFront lists.
type listing struct {
	Distributions []struct {
		ID string `xml:"Id"`
	} `xml:"Items>DistributionSummary"`
	Controls []struct {
		ID   string `xml:"Id"`
		Name string
	} `xml:"Items>OriginAccessControlSummary"`
	IsTruncated bool
	NextMarker  string
}

func pages(ctx context.Context, cloud kind.Cloud, operation, path string, each func(listing)) error {
	query := url.Values{"MaxItems": {"100"}}
	for {
		var page listing
		if _, err := call(ctx, cloud, aws.XMLCall{Operation: operation, Method: http.MethodGet, Path: version + path, Query: query, Out: &page}); err != nil {
			return err
		}
		each(page)
		if query.Set("Marker", page.NextMarker); !page.IsTruncated || page.NextMarker == "" {
			return nil
		}
	}
}

// checkDistribution finds what CloudFront would refuse, beyond what the table says.
func checkDistribution(want DistributionProps) error {
	var problems props.Errors
	if len(want.Aliases) > 0 && want.Certificate == "" {
		problems.Wrong("aliases", "they need a certificate")
	}
	if p, ok := want.Certificate.Parse(); ok && (p.Service != "acm" || p.Region != "us-east-1") && p.Partition == "aws" {
		problems.Wrong("certificate", "want the ARN of a certificate of ACM in us-east-1")
	}
	if strings.HasPrefix(want.DefaultRootObject, "/") {
		problems.Wrong("defaultRootObject", "want a name without / at its beginning")
	}
	for name, o := range want.Origins {
		checkOrigin(&problems, tree.Path("origins").Key(name), name, o)
	}
	checkBehavior(&problems, "default", want, want.Default)
	if want.Default.Path != "" {
		problems.Wrong("default.path", "the default behavior is for all paths")
	}
	for i, b := range want.Behaviors {
		at := tree.Path("behaviors").Index(i)
		if checkBehavior(&problems, at, want, b); b.Path == "" {
			problems.Wrong(at.Join("path"), "want the pattern of the paths that it is for")
		}
		if slices.ContainsFunc(want.Behaviors[:i], func(o Behavior) bool { return o.Path == b.Path }) {
			problems.Wrong(at.Join("path"), "a behavior before it is for the same paths")
		}
	}
	for i, e := range want.Errors {
		checkError(&problems, tree.Path("errors").Index(i), e)
		if slices.ContainsFunc(want.Errors[:i], func(o ErrorResponse) bool { return o.Code == e.Code }) {
			problems.Wrong(tree.Path("errors").Index(i).Join("code"), "it is answered twice")
		}
	}
	if want.Invalidate != nil {
		for i, path := range want.Invalidate.Paths {
			if !token.Has(path) && !strings.HasPrefix(path, "/") {
				problems.Wrong(tree.Path("invalidate.paths").Index(i), "want / at its beginning")
			}
		}
	}
	return problems.OrNil()
}

func checkOrigin(problems *props.Errors, at tree.Path, name string, o Origin) {
	switch {
	case name == "" || len(name) > 128:
		problems.Wrong(at, "want a name of up to 128 characters")
	case !token.Has(o.Domain) && strings.ContainsAny(o.Domain, "/:"):
		problems.Wrong(at.Join("domain"), "want a domain, without protocol, port and path")
	case o.Path != "" && !token.Has(o.Path) && (!strings.HasPrefix(o.Path, "/") || strings.HasSuffix(o.Path, "/")):
		problems.Wrong(at.Join("path"), "want / at its beginning, and none at its end")
	case o.ReadTimeout != nil && *o.ReadTimeout%time.Second != 0:
		problems.Wrong(at.Join("readTimeout"), "want whole seconds")
	}
}

func checkBehavior(problems *props.Errors, at tree.Path, want DistributionProps, b Behavior) {
	if _, ok := want.Origins[b.Origin]; !ok && !token.Has(b.Origin) && b.Origin != "" {
		problems.Wrong(at.Join("origin"), "no origin has this name")
	}
	policy := func(prop tree.Path, named map[string]string, value string) {
		if _, err := policyID(named, value); err != nil && value != "" && !token.Has(value) {
			problems.Wrong(at.Join(prop), err.Error())
		}
	}
	if b.CachePolicy != nil {
		policy("cachePolicy", cachePolicies(), *b.CachePolicy)
	}
	policy("originRequestPolicy", originRequestPolicies(), b.OriginRequestPolicy)
	policy("responseHeadersPolicy", responseHeadersPolicies(), b.ResponseHeadersPolicy)
}

func checkError(problems *props.Errors, at tree.Path, e ErrorResponse) {
	switch {
	case !slices.Contains([]int{400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504}, e.Code):
		problems.Wrong(at.Join("code"), "want 400, 403, 404, 405, 414, 416 or 500 to 504")
	case e.Page != "" && !token.Has(e.Page) && !strings.HasPrefix(e.Page, "/"):
		problems.Wrong(at.Join("page"), "want / at its beginning")
	case e.Status != 0 && e.Page == "":
		problems.Wrong(at.Join("status"), "it counts with a page alone")
	case e.CacheFor != nil && *e.CacheFor%time.Second != 0:
		problems.Wrong(at.Join("cacheFor"), "want whole seconds")
	}
}
