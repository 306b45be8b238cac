// Package acm offers certificates of AWS Certificate Manager, with the records that prove their domains.
//
// It knows how a certificate is asked for, which records prove its domains, and when it is issued. It does not know certificates
// that are imported, of a private authority, or proved by mail; how calls are made and judged is the business of package aws, and
// how zones are changed that of package route53.
package acm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed certificate.go
var source embed.FS

const certificateType = "aws.acm.Certificate"

// Service is what this package offers. Certificates through Cloud Control, AWS::CertificateManager::Certificate, stay usable.
func Service() aws.Service {
	return aws.Service{
		Kinds:   []reconcile.Any{certificateKind.Erase()},
		Filters: []string{"acm:certificate"},
		Also:    map[string]string{"AWS::CertificateManager::Certificate": certificateType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			return certificateType, string(arn), "", p.Service == "acm" && strings.HasPrefix(p.Resource, "certificate/")
		},
	}
}

// NewCertificate declares a certificate. What CloudFront serves needs one in us-east-1, wherever the rest of the stack is:
//
//	east := aws.In(s, aws.Region("us-east-1"))
//	cert := acm.NewCertificate(east, "cert", acm.CertificateProps{Domain: "shop.example", HostedZoneID: zone.ID})
func NewCertificate(s *athanor.Stack, name string, p CertificateProps, opts ...athanor.Option) Certificate {
	return athanor.Declare(s, certificateKind, name, p, opts...)
}

// ReadCertificate uses a certificate that the stack does not own, by its ARN.
func ReadCertificate(s *athanor.Stack, name string, by any) Certificate {
	return athanor.Read(s, certificateKind, name, by)
}

// CertificateProps declare a certificate. Defaults and limits are those of
// https://docs.aws.amazon.com/acm/latest/APIReference/API_RequestCertificate.html
type CertificateProps struct {
	// Domain is what the certificate is for, such as shop.example or *.shop.example, in lower case.
	Domain string `prop:"required,immutable,maxlen=253" wire:"DomainName"`
	// AlternativeNames are further domains that the certificate is for. Default: none.
	AlternativeNames []string `prop:"set,immutable,maxitems=99" wire:"-"`
	// KeyAlgorithm is the form of the key pair.
	KeyAlgorithm *string `prop:"enum=RSA_2048|EC_prime256v1|EC_secp384r1,default=RSA_2048,immutable" wire:"KeyAlgorithm,algorithm"`
	// HostedZoneID is the zone of Route 53 that the records are written to which prove the domains: all of them must be in it.
	// Default: none, the records are made by others, as of validationName and validationValue, and the certificate waits for them.
	HostedZoneID string `prop:"maxlen=64" wire:"-"`
	// Tags of the certificate, beside the owner tags. Default: none.
	Tags map[string]string
}

// Certificate is what others may refer to of a certificate. What needs it waits until it is issued; records that prove its
// domains do not.
type Certificate struct {
	// ARN of the certificate.
	ARN aws.ARN
	// Domain that it is for.
	Domain string `attr:"early"`
	// ValidationName is the name of the CNAME that proves the domain, and the one that differs from it by "*." alone.
	ValidationName string `attr:"early"`
	// ValidationValue is what that record leads to.
	ValidationValue string `attr:"early"`
}

// liveCertificate is an observed certificate.
type liveCertificate struct {
	attrs   Certificate
	have    CertificateProps
	records []route53.CNAME
	tags    map[string]string
	// status is that of ACM, with the reason of a failure.
	status, reason string
	// zone is where its records are, as its tags say.
	zone string
	// isProved: the records are where they are wanted, or they are not this resource's business.
	isProved bool
}

type site = kind.Site[CertificateProps, Certificate]

var certificateTable = kind.TableOf[CertificateProps](kind.Codec{Name: "algorithm", Read: func(wire any) (any, error) {
	name, _ := wire.(string)
	return strings.ReplaceAll(name, "-", "_"), nil // ACM answers RSA-2048, and takes RSA_2048
}, Write: func(prop any) (any, error) { return prop, nil }})

var certificateKind = &kind.Kind[CertificateProps, liveCertificate, Certificate]{
	Type: certificateType,
	Doc: "A certificate of AWS Certificate Manager with the records that prove its domains in a zone of Route 53: it is ready when it is " +
		"issued, and its records are removed with it unless another certificate of the location needs them. Certificates that are " +
		"imported, of a private authority, exportable or proved by mail are not managed.",

	Observe:    aws.Together(certificateType, observeCertificate, observeCertificates),
	Create:     createCertificate,
	Compare:    compareCertificate,
	Attributes: func(live liveCertificate) Certificate { return live.attrs },
	Delete:     deleteCertificate,
	Identity:   func(c Certificate) string { return string(c.ARN) },

	Props: certificateTable,
	Check: checkCertificate,
	Owner: aws.Tagged(
		func(want CertificateProps) map[string]string { return want.Tags },
		func(live liveCertificate) map[string]string { return live.tags }, "AddTagsToCertificate", putTags, dropTags),
	Status: func(live liveCertificate) kind.Status {
		if live.status == "PENDING_VALIDATION" && live.isProved {
			return kind.Busy("it is not issued until ACM has seen the record " + live.attrs.ValidationName)
		}
		return kind.Ready()
	},
	Bulk: aws.InBulk(observeCertificate, observeCertificates),

	// ACM gives up after 72 hours; records that are right are mostly seen within minutes.
	Timeouts: kind.Timeouts{Create: time.Hour, Update: time.Hour},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("ACM", "acm", aws.Source(source), kind.Permissions{
		Observe: []string{"DescribeCertificate", "ListTagsForCertificate", "tag:GetResources"},
		Create:  []string{"RequestCertificate", "AddTagsToCertificate"},
		Update:  []string{"AddTagsToCertificate", "RemoveTagsFromCertificate"},
		Calls: map[string][]string{
			"ChangeResourceRecordSets": {"AddTagsToCertificate", "RemoveTagsFromCertificate", "ListCertificates"},
		},
		Delete: []string{"DeleteCertificate", "ListCertificates"},
		Resource: func(location kind.Location, _ string) []string {
			return []string{string(aws.ARNIn(location, "acm", "certificate/*"))}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awscertificatemanager.html
		Anywhere: []string{"ListCertificates", "RequestCertificate"},
		// https://docs.aws.amazon.com/acm/latest/userguide/dns-validation.html
		Depends: []kind.Dependence{
			{Actions: []string{"route53:ListResourceRecordSets"}, Phase: reconcile.Observing | reconcile.Deleting, Props: []tree.Path{"hostedZoneId"}, Resource: zoneARN},
			{
				Actions: []string{"route53:ChangeResourceRecordSets"}, Phase: reconcile.Creating | reconcile.Updating | reconcile.Deleting,
				Calls: []string{"ChangeResourceRecordSets"}, Props: []tree.Path{"hostedZoneId"}, Resource: zoneARN,
			},
			{
				Actions: []string{"route53:GetChange"}, Calls: []string{"ChangeResourceRecordSets"}, Props: []tree.Path{"hostedZoneId"},
				Resource: func(location kind.Location, _ string) []string {
					return []string{"arn:" + aws.Partition(location.Region) + ":route53:::change/*"}
				},
			},
		},
	}, "Route53.ListResourceRecordSets", "Route53.ChangeResourceRecordSets", "Route53.GetChange"),
}

func zoneARN(location kind.Location, zone string) []string {
	return []string{"arn:" + aws.Partition(location.Region) + ":route53:::hostedzone/" + zone}
}

// service returns ACM as calls reach it.
func service() aws.JSONService {
	return aws.JSONService{Name: "ACM", Signing: "acm", Host: "acm", Target: "CertificateManager", Version: "1.1"}
}

// tagZone keeps where the records are: who removes a certificate may know nothing of its declaration.
const tagZone = "athanor:hosted-zone"

var (
	domainForm = props.Pattern(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$`)
	errNone    = fmt.Errorf("%w: no certificate has its owner tag", reconcile.ErrAbsent)
	errNoProof = errors.New("ACM has not said yet which records prove the domains")
	errInUse   = errors.New("it is in use")
)

// checkCertificate finds what ACM would refuse, beyond what the table says.
func checkCertificate(want CertificateProps) error {
	var problems props.Errors
	domain := func(path tree.Path, name string) {
		if !token.Has(name) && (len(name) > 253 || !domainForm().MatchString(name)) {
			problems.Wrong(path, "want a domain in lower case, such as shop.example or *.shop.example")
		}
	}
	domain("domain", want.Domain)
	for i, name := range want.AlternativeNames {
		if domain(tree.Path("alternativeNames").Index(i), name); name == want.Domain {
			problems.Wrong(tree.Path("alternativeNames").Index(i), "the domain itself is no alternative")
		}
	}
	return problems.OrNil()
}

// shown is a certificate as ACM describes it.
type shown struct {
	CertificateArn, DomainName, Status, FailureReason, KeyAlgorithm string
	SubjectAlternativeNames, InUseBy                                []string
	DomainValidationOptions                                         []struct {
		DomainName     string
		ResourceRecord *struct{ Name, Value string }
	}
}

func describe(ctx context.Context, cloud kind.Cloud, arn aws.ARN) (shown, error) {
	var out struct{ Certificate shown }
	err := service().Call(ctx, cloud, "DescribeCertificate", kind.Document{"CertificateArn": arn}, &out)
	return out.Certificate, err
}

// records are those that prove the domains, each once: a domain and all below it have the same.
func (c shown) records() (all []route53.CNAME, whole bool) {
	whole = len(c.DomainValidationOptions) > 0
	for _, o := range c.DomainValidationOptions {
		if o.ResourceRecord == nil {
			whole = false
		} else if r := (route53.CNAME{Name: o.ResourceRecord.Name, Value: o.ResourceRecord.Value}); !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b route53.CNAME) int { return cmp.Compare(a.Name, b.Name) })
	return all, whole
}

func (c shown) attrs() Certificate {
	made := Certificate{ARN: aws.ARN(c.CertificateArn), Domain: c.DomainName}
	for _, o := range c.DomainValidationOptions {
		if o.DomainName == c.DomainName && o.ResourceRecord != nil {
			made.ValidationName, made.ValidationValue = strings.TrimSuffix(o.ResourceRecord.Name, "."), strings.TrimSuffix(o.ResourceRecord.Value, ".")
		}
	}
	return made
}

// observeCertificate reads a certificate by its ARN, or finds that of the owner, since ACM assigns its identity.
func observeCertificate(ctx context.Context, s site) (liveCertificate, error) {
	switch {
	case s.Last != nil:
		return readCertificate(ctx, s, s.Last.ARN, nil)
	case s.ID != "":
		if p, ok := aws.ARN(s.ID).Parse(); !ok || p.Service != "acm" || p.Region != s.Location.Region || p.Account != s.Location.Account {
			return liveCertificate{}, aws.Foreign(s.ID, s.Location)
		}
		return readCertificate(ctx, s, aws.ARN(s.ID), nil)
	case s.Owner.IsZero():
		return liveCertificate{}, errNone
	}
	arns, err := aws.Marked(ctx, s.Cloud, s.Owner)
	if err != nil {
		return liveCertificate{}, err
	}
	arns = slices.DeleteFunc(arns, func(arn aws.ARN) bool { p, _ := arn.Parse(); return p.Service != "acm" })
	ours, _, err := adopt.Find(s.Facts, arns, func(arn aws.ARN) (liveCertificate, error) { return readCertificate(ctx, s, arn, nil) },
		func(live liveCertificate) (kind.OwnerTag, string) {
			return adopt.MarkOf(live.tags), string(live.attrs.ARN)
		})
	if ours == nil {
		return liveCertificate{}, cmp.Or(err, errNone)
	}
	return *ours, nil
}

// observeCertificates reads the tags of many certificates together, and the records of each zone at the same time. ACM has no call
// that describes several.
func observeCertificates(ctx context.Context, all []site) ([]*aws.Answer[liveCertificate], error) {
	tags, err := aws.TagsTogether(ctx, all, func(c Certificate) aws.ARN { return c.ARN }, func(want CertificateProps) map[string]string {
		declared := maps.Clone(want.Tags)
		if want.HostedZoneID != "" {
			if declared == nil {
				declared = map[string]string{}
			}
			declared[tagZone] = want.HostedZoneID
		}
		return declared
	})
	if err != nil {
		return nil, err
	}
	return aws.EachOf(ctx, all, func(i int) bool { return tags[i] == nil }, func(ctx context.Context, i int, s site) (liveCertificate, error) {
		return readCertificate(ctx, s, s.Last.ARN, tags[i])
	}), nil
}

// readCertificate reads a certificate, its tags unless they are known, and whether its records are where they are to be.
func readCertificate(ctx context.Context, s site, arn aws.ARN, tags map[string]string) (live liveCertificate, err error) {
	c, err := describe(ctx, s.Cloud, arn)
	if err != nil {
		return live, aws.Absent(err)
	}
	live.attrs, live.status, live.reason = c.attrs(), c.Status, c.FailureReason
	live.records, _ = c.records()
	if live.have, err = certificateTable.Read(kind.Document{"DomainName": c.DomainName, "KeyAlgorithm": c.KeyAlgorithm}); err != nil {
		return live, err
	}
	for _, name := range c.SubjectAlternativeNames {
		if name != c.DomainName {
			live.have.AlternativeNames = append(live.have.AlternativeNames, name)
		}
	}
	slices.Sort(live.have.AlternativeNames)
	if live.tags = maps.Clone(tags); tags == nil {
		var out struct{ Tags []aws.Tag }
		if err := service().Call(ctx, s.Cloud, "ListTagsForCertificate", kind.Document{"CertificateArn": arn}, &out); err != nil {
			return live, aws.NotYet(err)
		}
		live.tags = aws.MapOfTags(out.Tags)
	}
	live.zone = live.tags[tagZone]
	delete(live.tags, tagZone)
	if live.zone != "" {
		live.have.HostedZoneID = live.zone
		for _, r := range live.records {
			has, err := route53.HasCNAME(ctx, s.Cloud, live.zone, r)
			if err != nil {
				return live, err
			}
			if !has {
				live.have.HostedZoneID = ""
			}
		}
	}
	live.isProved = s.Want.HostedZoneID == live.have.HostedZoneID
	return live, nil
}

// createCertificate asks for the certificate, and returns when ACM has said which records prove its domains: those of others can
// be made then. The records in the zone are the update's that follows.
func createCertificate(ctx context.Context, s site) (Certificate, error) {
	names := append([]string{s.Want.Domain}, s.Want.AlternativeNames...)
	body := kind.Document{
		"ValidationMethod": "DNS", "SubjectAlternativeNames": names, "Tags": aws.JSONTags[aws.Tag](aws.Tags(s.Cloud, s.Want.Tags, s.Owner)),
		// Within an hour the same request is the same certificate.
		"IdempotencyToken": digest(s.Owner.Stack, s.Owner.Stage, s.Owner.Address, s.Nonce, s.New.Deleted),
	}
	if err := certificateTable.Created(s.Want, body); err != nil {
		return Certificate{}, err
	}
	var out struct{ CertificateArn aws.ARN }
	if err := service().Call(ctx, s.Cloud, "RequestCertificate", body, &out); err != nil {
		return Certificate{}, err
	}
	made := Certificate{ARN: out.CertificateArn, Domain: s.Want.Domain}
	err := reconcile.Until(ctx, s.Cloud, 500*time.Millisecond, 5*time.Second, errNoProof, func(ctx context.Context) (bool, time.Duration, error) {
		c, err := describe(ctx, s.Cloud, made.ARN)
		if err != nil {
			return false, 0, aws.NotYet(err)
		}
		_, whole := c.records()
		made = c.attrs()
		return whole || c.Status == "FAILED", 0, nil
	})
	return made, err
}

// digest is a word of at most 32 letters and digits.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// compareCertificate states every aspect. A certificate that ACM gave up cannot be mended: another takes its place.
func compareCertificate(d *kind.Diff[liveCertificate], want CertificateProps, live liveCertificate) {
	switch live.status {
	case "FAILED", "VALIDATION_TIMED_OUT", "REVOKED", "EXPIRED":
		reconcile.Fixed(d, "domain", want.Domain, strings.TrimSpace(want.Domain+" ("+live.status+" "+live.reason)+")")
		live.have.Domain = want.Domain
	}
	kind.CompareEach(d, certificateTable, want, live.have, map[tree.Path]*kind.Operation[liveCertificate]{
		"hostedZoneId": kind.Set("ChangeResourceRecordSets", func(ctx context.Context, u kind.Update[liveCertificate]) error {
			return prove(ctx, u, want.HostedZoneID)
		}),
	})
}

// prove writes the records to a zone, and takes them from the one that they were in.
func prove(ctx context.Context, u kind.Update[liveCertificate], zone string) error {
	arn := u.Live.attrs.ARN
	for _, r := range u.Live.records {
		if zone == "" {
			break
		}
		if err := route53.PutCNAME(ctx, u.Cloud, zone, r); err != nil {
			return err
		}
	}
	if had := u.Live.zone; had != "" && had != zone {
		if err := unprove(ctx, u.Cloud, arn, had, u.Live.records); err != nil {
			return err
		}
	}
	switch zone {
	case u.Live.zone:
		return nil
	case "":
		return aws.NotYet(service().Call(ctx, u.Cloud, "RemoveTagsFromCertificate", kind.Document{"CertificateArn": arn, "Tags": []obj{{"Key": tagZone}}}, nil))
	}
	return aws.NotYet(service().Call(ctx, u.Cloud, "AddTagsToCertificate", kind.Document{"CertificateArn": arn, "Tags": aws.JSONTags[aws.Tag](map[string]string{tagZone: zone})}, nil))
}

// unprove takes records from a zone that no other certificate of the location needs: ACM renews a certificate as long as its
// records are there, and all certificates of a domain in an account have the same.
func unprove(ctx context.Context, cloud kind.Cloud, arn aws.ARN, zone string, records []route53.CNAME) error {
	needed, err := neededByOthers(ctx, cloud, arn, records)
	if err != nil {
		return err
	}
	for _, r := range records {
		if slices.Contains(needed, r) {
			continue
		}
		if err := route53.DropCNAME(ctx, cloud, zone, r); err != nil {
			return err
		}
	}
	return nil
}

// neededByOthers are those of the records that prove another certificate of the location too.
func neededByOthers(ctx context.Context, cloud kind.Cloud, arn aws.ARN, records []route53.CNAME) (needed []route53.CNAME, err error) {
	in := kind.Document{"MaxItems": 1000, "Includes": obj{"keyTypes": []string{"RSA_1024", "RSA_2048", "RSA_3072", "RSA_4096", "EC_prime256v1", "EC_secp384r1", "EC_secp521r1"}}}
	for {
		var page struct {
			CertificateSummaryList []struct {
				CertificateArn                  aws.ARN
				DomainName                      string
				SubjectAlternativeNameSummaries []string
			}
			NextToken string
		}
		if err := service().Call(ctx, cloud, "ListCertificates", in, &page); err != nil {
			return nil, err
		}
		for _, c := range page.CertificateSummaryList {
			if c.CertificateArn == arn || !slices.ContainsFunc(append(c.SubjectAlternativeNameSummaries, c.DomainName), func(name string) bool {
				return slices.ContainsFunc(records, func(r route53.CNAME) bool { return proves(r, name) })
			}) {
				continue
			}
			other, err := describe(ctx, cloud, c.CertificateArn)
			if aws.IsAbsent(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			theirs, _ := other.records()
			needed = append(needed, theirs...)
		}
		if in["NextToken"] = page.NextToken; page.NextToken == "" {
			return needed, nil
		}
	}
}

// proves reports whether a record is for a domain: its name is that of the domain, after a label of ACM.
func proves(r route53.CNAME, domain string) bool {
	_, of, _ := strings.Cut(strings.TrimSuffix(r.Name, "."), ".")
	return of == strings.TrimPrefix(domain, "*.")
}

// deleteCertificate removes the records, and then the certificate, once nothing uses it.
func deleteCertificate(ctx context.Context, s site) error {
	c, err := describe(ctx, s.Cloud, s.Last.ARN)
	if err != nil {
		return err
	}
	if len(c.InUseBy) > 0 {
		return aws.Busy(fmt.Errorf("%w by %s", errInUse, strings.Join(c.InUseBy, ", ")))
	}
	var out struct{ Tags []aws.Tag }
	if err := service().Call(ctx, s.Cloud, "ListTagsForCertificate", kind.Document{"CertificateArn": s.Last.ARN}, &out); err != nil {
		return err
	}
	for _, t := range out.Tags {
		if records, _ := c.records(); t.Key == tagZone {
			if err := unprove(ctx, s.Cloud, s.Last.ARN, t.Value, records); err != nil {
				return err
			}
		}
	}
	return service().Call(ctx, s.Cloud, "DeleteCertificate", kind.Document{"CertificateArn": s.Last.ARN}, nil)
}

type obj = map[string]any

func putTags(ctx context.Context, u kind.Update[liveCertificate], tags map[string]string) error {
	return service().Call(ctx, u.Cloud, "AddTagsToCertificate", kind.Document{"CertificateArn": u.Live.attrs.ARN, "Tags": aws.JSONTags[aws.Tag](tags)}, nil)
}

func dropTags(ctx context.Context, u kind.Update[liveCertificate], keys []string) error {
	list := make([]obj, len(keys))
	for i, key := range keys {
		list[i] = obj{"Key": key}
	}
	return service().Call(ctx, u.Cloud, "RemoveTagsFromCertificate", kind.Document{"CertificateArn": u.Live.attrs.ARN, "Tags": list}, nil)
}
