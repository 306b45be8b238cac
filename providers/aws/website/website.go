// Package website offers a static website on AWS as one declaration: a private bucket with the files of a folder, a distribution
// of CloudFront in front of it, and, for domains, a certificate and the records that lead to the distribution.
//
// It knows which resources a website is made of, and how they refer to each other. It does not know how any of them is made: each
// is a resource of its own with a kind of its own, that can be seen, drifts and is repaired like any other.
package website

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/cloudfront"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed website.go
var source embed.FS

const websiteType = "aws.Website"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{websiteKind.Erase()},
		Constructs: map[string]athanor.Construct{websiteType: {
			Reads: []tree.Path{"files"},
			Declare: func(s *athanor.Stack, name string, of any, _ athanor.Own, opts ...athanor.Option) {
				NewWebsite(s, name, *of.(*WebsiteProps), opts...)
			},
			Parts: func(athanor.Own) map[string]string {
				return map[string]string{
					partBucket: "aws.s3.Bucket", partControl: "aws.cloudfront.OriginAccessControl",
					partDistribution: "aws.cloudfront.Distribution", partCertificate: "aws.acm.Certificate",
				}
			},
		}},
	}
}

// What the addresses of the parts add to that of the website.
const (
	partBucket       = "bucket"
	partControl      = "control"
	partDistribution = "distribution"
	partCertificate  = "certificate"
)

// WebsiteProps declare a website.
type WebsiteProps struct {
	// Files is the folder whose files are served, relative to the stack's directory. It is read when the stack is read: what builds
	// it runs before. Default: none, others put objects into the bucket.
	Files string `wire:"-"`
	// Index is the file that is served for the root.
	Index *string `prop:"default=index.html,maxlen=255" wire:"-"`
	// NotFound is the file that is served, with status 404, where there is no other. Default: none, an error of CloudFront.
	NotFound string `prop:"maxlen=1024" wire:"-"`
	// SinglePage serves the index, with status 200, for every path that is no file: the page finds out what to show.
	SinglePage bool `prop:"default=false" wire:"-"`
	// CacheControl is the header Cache-Control of all files but those of immutable, such as max-age=60. Caches of CloudFront are
	// emptied when a file changes, those of browsers are not. Default: none.
	CacheControl string `wire:"-"`
	// Immutable are patterns of files whose names change with their content, such as assets/*: browsers keep them for a year. A
	// pattern without / is for names in every folder, * is for any text without /, and ** for any text. Default: none.
	Immutable []string `wire:"-"`
	// Domains are those that the website answers for, in lower case; the first is that of its URL. Default: none, CloudFront's.
	Domains []string `prop:"maxitems=100" wire:"-"`
	// HostedZoneID is the zone of Route 53 that all domains are in. The certificate is proved there, and the records of the domains
	// are written there. Default: none, domains need a certificate, and their records are made by others.
	HostedZoneID string `prop:"maxlen=64" wire:"-"`
	// Certificate is the ARN of a certificate of ACM in us-east-1 for all domains. Default: none, one is made in hostedZoneId.
	Certificate aws.ARN `prop:"maxlen=2048" wire:"-"`
	// PriceClass says which edge locations serve: all, or those of the cheaper regions.
	PriceClass *string `prop:"enum=PriceClass_100|PriceClass_200|PriceClass_All,default=PriceClass_All" wire:"-"`
	// ResponseHeadersPolicy says which headers are added to answers: a name such as SecurityHeadersPolicy, or an identity. Default:
	// none.
	ResponseHeadersPolicy string `prop:"maxlen=64" wire:"-"`
	// ViewerRequest is the ARN of a function of CloudFront that each request passes, such as one that leads /docs/ to
	// /docs/index.html. Default: none.
	ViewerRequest aws.ARN `prop:"maxlen=108" wire:"-"`
	// Tags of the bucket, the distribution and the certificate, beside the owner tags. Default: none.
	Tags map[string]string `wire:"-"`
	// Parts are what the website is made of. Default: none; whatever declares the website sets them.
	Parts Parts `wire:"-"`
}

// Parts are what a website knows of the resources that it is made of.
type Parts struct {
	// Bucket with the files.
	Bucket s3.BucketName
	// Distribution is the identity of the distribution.
	Distribution string
	// DomainName is CloudFront's domain of the distribution.
	DomainName string
	// HostedZoneID is the zone of that domain.
	HostedZoneID string
	// Records are the domains whose records lead to the distribution. Default: none.
	Records []string
}

// Website is what others may refer to of a website.
type Website struct {
	// URL of the website, without / at its end.
	URL string `attr:"mutable=domains|parts"`
	// Bucket with the files.
	Bucket s3.BucketName `attr:"mutable=parts"`
	// DistributionID is the identity of the distribution.
	DistributionID string `attr:"mutable=parts"`
	// DomainName is CloudFront's domain, to which records of other zones lead.
	DomainName string `attr:"mutable=parts"`
	// HostedZoneID is the zone of that domain, for alias records of Route 53.
	HostedZoneID string `attr:"mutable=parts"`
}

var websiteKind = &kind.StateKind[WebsiteProps, Website]{
	Type: websiteType,
	Doc: "A static website: a private bucket with the files of a folder, a distribution of CloudFront that alone may read it, and for " +
		"domains a certificate and the records that lead to it. Each is a resource of its own below the website's address: bucket, control, " +
		"distribution, certificate, file-NAME and record-DOMAIN. Caches are emptied when a file changes.",
	Create: func(_ context.Context, s kind.Site[WebsiteProps, Website]) (Website, error) {
		p, host := s.Want.Parts, s.Want.Parts.DomainName
		if len(s.Want.Domains) > 0 {
			host = s.Want.Domains[0]
		}
		return Website{
			URL: "https://" + host, Bucket: p.Bucket, DistributionID: p.Distribution, DomainName: p.DomainName, HostedZoneID: p.HostedZoneID,
		}, nil
	},
	Props: kind.TableOf[WebsiteProps](),
	Check: checkWebsite,
	API:   kind.API{Source: source},
}

// NewWebsite declares a website with the resources that it is made of: NAME/bucket, NAME/control, NAME/distribution,
// NAME/certificate, a NAME/file-… for each file and a NAME/record-… for each domain.
//
//	site := website.NewWebsite(s, "site", website.WebsiteProps{Files: "dist", SinglePage: true, Immutable: []string{"assets/*"}})
//	s.Output("url", site.URL)
func NewWebsite(s *athanor.Stack, name string, p WebsiteProps, opts ...athanor.Option) Website {
	w := parts{stack: s, name: name, want: websiteKind.WithDefaults(p), opts: opts}
	cdn, records := w.serve(w.content())
	p.Parts = Parts{
		Bucket: w.bucket.Name, Distribution: cdn.ID, DomainName: cdn.DomainName, HostedZoneID: cdn.HostedZoneID, Records: records,
	}
	return athanor.Declare(s, websiteKind, name, p, opts...)
}

// parts declares what a website is made of.
type parts struct {
	stack  *athanor.Stack
	name   string
	want   WebsiteProps
	opts   []athanor.Option
	bucket s3.Bucket
}

// part is the name of a part, and the option by which it is renamed with the website.
func (w *parts) part(part string) (string, athanor.Option) {
	return athanor.Inner(w.name, part), athanor.Along(part, w.opts...)
}

// content declares the bucket and what is in it, and returns what changes with its files.
func (w *parts) content() []string {
	cdn := athanor.Attributes[cloudfront.Distribution](w.stack, athanor.Inner(w.name, partDistribution))
	name, renamed := w.part(partBucket)
	// The policy names the distribution, which names the bucket: the bucket is created without it.
	w.bucket = s3.NewBucket(w.stack, name, s3.BucketProps{
		Tags: w.want.Tags,
		Policy: aws.Policy(aws.Statement{
			Sid: "CloudFront", Principals: map[string][]string{"Service": {"cloudfront.amazonaws.com"}}, Actions: []string{"s3:GetObject"},
			Resources:  []string{string(athanor.Attributes[s3.Bucket](w.stack, name).ARN) + "/*"},
			Conditions: map[string]map[string][]string{"StringEquals": {"AWS:SourceArn": {string(cdn.ARN)}}},
		}),
	}, renamed)
	names, err := w.files()
	if err != nil {
		w.stack.Fail(fmt.Errorf("%s: files: %w", w.stack.Address(w.name), err))
		return nil
	}
	return w.objects(names)
}

// objects declares an object for each file. The index comes after the files that it names by their content.
func (w *parts) objects(names []string) (content []string) {
	const year = "public, max-age=31536000, immutable"
	immutable := asset.ReadIgnore(strings.Join(w.want.Immutable, "\n"))
	var before []any
	object := func(file, cacheControl string, opts ...athanor.Option) s3.Object {
		name, renamed := w.part("file-" + word(file))
		o := s3.NewObject(w.stack, name, s3.ObjectProps{
			Bucket: w.bucket.Name, Key: file, Source: path.Join(w.want.Files, file), CacheControl: cacheControl,
		}, append(opts, renamed)...)
		content = append(content, file+" "+o.ETag)
		return o
	}
	for _, file := range names {
		switch {
		case file == *w.want.Index:
		case immutable.Excludes(file, false, false):
			before = append(before, object(file, year))
		default:
			object(file, w.want.CacheControl)
		}
	}
	if slices.Contains(names, *w.want.Index) {
		var after []athanor.Option
		if len(before) > 0 {
			after = append(after, athanor.DependsOn(before...))
		}
		object(*w.want.Index, w.want.CacheControl, after...)
	}
	return content
}

// files are the names of the files that are served, with slashes, in order.
func (w *parts) files() (names []string, err error) {
	if w.want.Files == "" {
		return nil, nil
	}
	if token.Has(w.want.Files) {
		return nil, errReference
	}
	dir := w.want.Files
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(w.stack.Dir(), filepath.FromSlash(dir))
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	all, err := asset.Tree(context.Background(), dir) //nolint:forbidigo // a program declares without a context; the loader of YAML checks bounds
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if isHidden(f.Name) {
			continue
		}
		if f.Link != "" {
			if info, err := os.Stat(f.Path); err != nil || info.IsDir() {
				return nil, &asset.PathError{Path: f.Path, Problem: "a link that leads to no file"}
			}
		}
		names = append(names, f.Name)
	}
	for _, want := range []string{*w.want.Index, w.want.NotFound} {
		if want != "" && !slices.Contains(names, want) {
			return nil, &asset.PathError{Path: filepath.Join(dir, filepath.FromSlash(want)), Problem: fs.ErrNotExist.Error()}
		}
	}
	return names, nil
}

var (
	errReference = errors.New("a reference: the files are read when the stack is read")
	errDomain    = errors.New("a reference: the addresses of records are made of domains, so write it out")
)

// isHidden reports whether a file, or a folder that it is in, has a name that begins with a dot. That of RFC 8615 is served.
func isHidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && part != ".well-known"
	})
}

// serve declares the distribution with what it needs, and the records that lead to it.
func (w *parts) serve(content []string) (cdn cloudfront.Distribution, records []string) {
	name, renamed := w.part(partControl)
	control := cloudfront.NewOriginAccessControl(w.stack, name, cloudfront.OriginAccessControlProps{}, renamed)
	name, renamed = w.part(partDistribution)
	comment := "The website " + w.stack.Address(w.name)
	p := cloudfront.DistributionProps{
		Comment: comment[:min(len(comment), 128)], Aliases: w.want.Domains, Certificate: w.certificate(), PriceClass: w.want.PriceClass,
		DefaultRootObject: *w.want.Index, Errors: w.errors(), Tags: w.want.Tags,
		Origins: map[string]cloudfront.Origin{"files": {Domain: w.bucket.RegionalDomainName, S3: true, AccessControl: control.ID}},
		Default: cloudfront.Behavior{
			Origin: "files", ResponseHeadersPolicy: w.want.ResponseHeadersPolicy, ViewerRequest: w.want.ViewerRequest,
		},
	}
	if len(content) > 0 {
		p.Invalidate = &cloudfront.Invalidation{When: content}
	}
	cdn = cloudfront.NewDistribution(w.stack, name, p, renamed)
	if w.want.HostedZoneID == "" {
		return cdn, nil
	}
	for i, domain := range w.want.Domains {
		if token.Has(domain) {
			w.stack.Fail(fmt.Errorf("%s: domains[%d]: %w", w.stack.Address(w.name), i, errDomain))
			continue
		}
		for _, typ := range []string{"A", "AAAA"} {
			name, renamed = w.part("record-" + word(domain) + "-" + strings.ToLower(typ))
			r := route53.NewRecord(w.stack, name, route53.RecordProps{
				HostedZoneID: w.want.HostedZoneID, Name: domain, Type: typ,
				Alias: &route53.Alias{HostedZoneID: cdn.HostedZoneID, DNSName: cdn.DomainName},
			}, renamed)
			records = append(records, r.Name)
		}
	}
	return cdn, records
}

// certificate is that of the domains, which is declared where none is given. CloudFront takes those of one region alone.
func (w *parts) certificate() aws.ARN {
	if w.want.Certificate != "" || len(w.want.Domains) == 0 || w.want.HostedZoneID == "" {
		return w.want.Certificate
	}
	name, renamed := w.part(partCertificate)
	return acm.NewCertificate(aws.In(w.stack, aws.Region("us-east-1")), name, acm.CertificateProps{
		Domain: w.want.Domains[0], AlternativeNames: w.want.Domains[1:], HostedZoneID: w.want.HostedZoneID, Tags: w.want.Tags,
	}, renamed).ARN
}

// errors are what is answered where there is no file. A bucket that nobody may list answers 403 for those.
func (w *parts) errors() []cloudfront.ErrorResponse {
	page, status := w.want.NotFound, http.StatusNotFound
	if w.want.SinglePage {
		page, status = *w.want.Index, http.StatusOK
	}
	if page == "" {
		return nil
	}
	return []cloudfront.ErrorResponse{
		{Code: http.StatusForbidden, Page: "/" + page, Status: status},
		{Code: http.StatusNotFound, Page: "/" + page, Status: status},
	}
}

// word is a file or a domain as a part of an address: no two have the same. What has neither - nor _ in it is readable in both
// directions; anything else has a digest at its end.
func word(name string) string {
	const longest = 100
	slug := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			return r
		case r == '/':
			return '_'
		}
		return '-'
	}, name)
	if len(slug) <= longest && strings.Trim(name, plain) == "" {
		return slug
	}
	sum := sha256.Sum256([]byte(name))
	return slug[:min(len(slug), longest)] + "-" + hex.EncodeToString(sum[:4])
}

// plain are the characters of names that a word has no digest for.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./"

var domainForm = props.Pattern(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$`)

// checkWebsite finds what does not go together.
func checkWebsite(want WebsiteProps) error {
	var problems props.Errors
	if want.NotFound != "" && want.SinglePage {
		problems.Wrong("notFound", "a single page answers for every path")
	}
	const noFile = "want the name of a file, without / at its beginning"
	if want.Index != nil && (*want.Index == "" || strings.HasPrefix(*want.Index, "/")) {
		problems.Wrong("index", noFile)
	}
	if strings.HasPrefix(want.NotFound, "/") {
		problems.Wrong("notFound", noFile)
	}
	for i, domain := range want.Domains {
		at := tree.Path("domains").Index(i)
		if !token.Has(domain) && (len(domain) > 253 || !domainForm().MatchString(domain)) {
			problems.Wrong(at, "want a domain in lower case, such as www.shop.example")
		}
		if slices.Contains(want.Domains[:i], domain) {
			problems.Wrong(at, "the domain stands there twice")
		}
	}
	switch {
	case len(want.Domains) > 0 && want.Certificate == "" && want.HostedZoneID == "":
		problems.Wrong("domains", "they need hostedZoneId, or a certificate")
	case len(want.Domains) == 0 && want.HostedZoneID != "":
		problems.Wrong("hostedZoneId", "it counts with domains alone")
	case len(want.Domains) == 0 && want.Certificate != "":
		problems.Wrong("certificate", "it counts with domains alone")
	}
	return problems.OrNil()
}
