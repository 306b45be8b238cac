package cloudfront

import (
	"cmp"
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
)

// config is the configuration of a distribution as CloudFront writes it. What is not managed is kept, and sent as it is: an update
// sets the whole. Members are in the order of the service's own documentation.
type config struct {
	CallerReference   string
	Aliases           aliasList
	DefaultRootObject string
	Origins           originList
	DefaultBehavior   behavior     `xml:"DefaultCacheBehavior"`
	Behaviors         behaviorList `xml:"CacheBehaviors"`
	Errors            errorList    `xml:"CustomErrorResponses"`
	Comment           string
	PriceClass        string
	Enabled           bool
	Certificate       viewerCertificate `xml:"ViewerCertificate"`
	HTTPVersion       string            `xml:"HttpVersion"`
	IPv6              bool              `xml:"IsIPV6Enabled"`
	Rest              rest              `xml:",any"`
}

// namespace is that of all documents. Members without a namespace of their own are in it.
const namespace = "http://cloudfront.amazonaws.com/doc/2020-05-31/"

// configuration is a configuration as a document.
type configuration struct {
	XMLName   xml.Name `xml:"DistributionConfig"`
	Namespace string   `xml:"xmlns,attr"`
	config
}

// element is a member that is not managed, with all that is in it.
type element struct {
	XMLName xml.Name
	Inner   string `xml:",innerxml"`
}

// rest are the members of a structure that are not managed.
type rest []element

// plain has no namespaces: the document's is that of all.
func (r rest) plain() rest {
	all := slices.Clone(r)
	for i := range all {
		all[i].XMLName.Space = ""
	}
	return all
}

// without are the members that have none of these names.
func (r rest) without(names ...string) rest {
	return slices.DeleteFunc(slices.Clone(r), func(e element) bool { return slices.Contains(names, e.XMLName.Local) })
}

func (r rest) has(name string) bool {
	return slices.ContainsFunc(r, func(e element) bool { return e.XMLName.Local == name && e.Inner != "" })
}

type aliasList struct {
	Quantity int
	Items    []string `xml:"Items>CNAME,omitempty"`
}

type originList struct {
	Quantity int
	Items    []origin `xml:"Items>Origin,omitempty"`
}

type origin struct {
	ID            string `xml:"Id"`
	DomainName    string
	OriginPath    string
	S3            *s3Origin     `xml:"S3OriginConfig"`
	Custom        *customOrigin `xml:"CustomOriginConfig"`
	AccessControl string        `xml:"OriginAccessControlId"`
	Rest          rest          `xml:",any"`
}

type s3Origin struct {
	OriginAccessIdentity string
	Rest                 rest `xml:",any"`
}

type customOrigin struct {
	HTTPPort             int
	HTTPSPort            int
	OriginProtocolPolicy string
	SSLProtocols         *protocolList `xml:"OriginSslProtocols"`
	OriginReadTimeout    int           `xml:",omitempty"`
	Rest                 rest          `xml:",any"`
}

type protocolList struct {
	Quantity int
	Items    []string `xml:"Items>SslProtocol,omitempty"`
}

type behaviorList struct {
	Quantity int
	Items    []behavior `xml:"Items>CacheBehavior,omitempty"`
}

type behavior struct {
	PathPattern             string `xml:",omitempty"`
	TargetOriginID          string `xml:"TargetOriginId"`
	ViewerProtocolPolicy    string
	AllowedMethods          methodList
	Compress                bool
	Functions               functionList `xml:"FunctionAssociations"`
	CachePolicyID           string       `xml:"CachePolicyId,omitempty"`
	OriginRequestPolicyID   string       `xml:"OriginRequestPolicyId,omitempty"`
	ResponseHeadersPolicyID string       `xml:"ResponseHeadersPolicyId,omitempty"`
	Rest                    rest         `xml:",any"`
}

type methodList struct {
	Quantity int
	Items    []string     `xml:"Items>Method,omitempty"`
	Cached   *methodNames `xml:"CachedMethods"`
}

type methodNames struct {
	Quantity int
	Items    []string `xml:"Items>Method,omitempty"`
}

type functionList struct {
	Quantity int
	Items    []function `xml:"Items>FunctionAssociation,omitempty"`
}

type function struct {
	FunctionARN aws.ARN
	EventType   string
}

type errorList struct {
	Quantity int
	Items    []errorResponse `xml:"Items>CustomErrorResponse,omitempty"`
}

type errorResponse struct {
	ErrorCode          int
	ResponsePagePath   string
	ResponseCode       string
	ErrorCachingMinTTL *int64
}

type viewerCertificate struct {
	IsDefault              bool    `xml:"CloudFrontDefaultCertificate,omitempty"`
	IAMCertificateID       string  `xml:"IAMCertificateId,omitempty"`
	ACMCertificateARN      aws.ARN `xml:"ACMCertificateArn,omitempty"`
	SSLSupportMethod       string  `xml:",omitempty"`
	MinimumProtocolVersion string  `xml:",omitempty"`
}

// creation is a distribution with its tags.
type creation struct {
	XMLName   xml.Name `xml:"DistributionConfigWithTags"`
	Namespace string   `xml:"xmlns,attr"`
	Config    config   `xml:"DistributionConfig"`
	Tags      tagItems
}

type invalidationBatch struct {
	XMLName         xml.Name `xml:"InvalidationBatch"`
	Namespace       string   `xml:"xmlns,attr"`
	Paths           pathList
	CallerReference string
}

type pathList struct {
	Quantity int
	Items    []string `xml:"Items>Path"`
}

const viewerRequest, viewerResponse = "viewer-request", "viewer-response"

// methods are what the prop methods stands for, sorted.
func methods(name string) []string {
	switch name {
	case "options":
		return []string{"GET", "HEAD", "OPTIONS"}
	case "all":
		return []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
	}
	return []string{"GET", "HEAD"}
}

// set makes the configuration that of the props, with their defaults. What is not managed stays.
func (c *config) set(want DistributionProps) {
	c.Comment, c.Enabled, c.DefaultRootObject = want.Comment, !want.Disabled, want.DefaultRootObject
	c.Aliases = aliasList{len(want.Aliases), slices.Sorted(slices.Values(want.Aliases))}
	c.PriceClass, c.HTTPVersion, c.IPv6 = *want.PriceClass, *want.HTTPVersion, *want.IPv6
	c.setCertificate(want)
	c.setOrigins(want.Origins)
	c.DefaultBehavior.set(want.Default)
	had := c.Behaviors.Items
	c.Behaviors = behaviorList{Quantity: len(want.Behaviors)}
	for _, b := range want.Behaviors {
		var of behavior
		if i := slices.IndexFunc(had, func(h behavior) bool { return h.PathPattern == b.Path }); i >= 0 {
			of = had[i]
		}
		of.set(b)
		c.Behaviors.Items = append(c.Behaviors.Items, of)
	}
	c.Errors = errorList{Quantity: len(want.Errors)}
	for _, e := range want.Errors {
		of := errorResponse{ErrorCode: e.Code, ResponsePagePath: e.Page, ErrorCachingMinTTL: new(int64(*e.CacheFor / time.Second))}
		if e.Page != "" {
			of.ResponseCode = strconv.Itoa(cmp.Or(e.Status, e.Code))
		}
		c.Errors.Items = append(c.Errors.Items, of)
	}
	c.Rest = c.Rest.plain()
}

func (c *config) setCertificate(want DistributionProps) {
	switch {
	case want.Certificate != "":
		c.Certificate = viewerCertificate{
			ACMCertificateARN: want.Certificate, SSLSupportMethod: cmp.Or(c.Certificate.SSLSupportMethod, "sni-only"), MinimumProtocolVersion: *want.MinimumTLS,
		}
	case c.Certificate.IAMCertificateID == "":
		c.Certificate = viewerCertificate{IsDefault: true}
	}
}

func (c *config) setOrigins(want map[string]Origin) {
	had := c.Origins.Items
	c.Origins = originList{Quantity: len(want)}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		of := origin{ID: name}
		if i := slices.IndexFunc(had, func(h origin) bool { return h.ID == name }); i >= 0 {
			of = had[i]
		}
		of.set(want[name])
		c.Origins.Items = append(c.Origins.Items, of)
	}
}

func (o *origin) set(want Origin) {
	o.DomainName, o.OriginPath, o.AccessControl, o.Rest = want.Domain, want.Path, want.AccessControl, o.Rest.plain()
	switch {
	case o.Rest.has("VpcOriginConfig"):
	case want.S3:
		if o.Custom = nil; o.S3 == nil {
			o.S3 = &s3Origin{}
		}
		o.S3.Rest = o.S3.Rest.plain()
		if want.AccessControl != "" {
			o.S3.OriginAccessIdentity = "" // the older way, which excludes it
		}
	default:
		if o.S3 = nil; o.Custom == nil {
			o.Custom = &customOrigin{SSLProtocols: &protocolList{1, []string{"TLSv1.2"}}}
		}
		o.Custom.HTTPPort, o.Custom.HTTPSPort, o.Custom.OriginProtocolPolicy = *want.HTTPPort, *want.HTTPSPort, *want.Protocol
		o.Custom.OriginReadTimeout, o.Custom.Rest = int(*want.ReadTimeout/time.Second), o.Custom.Rest.plain()
	}
}

func (b *behavior) set(want Behavior) {
	b.PathPattern, b.TargetOriginID, b.ViewerProtocolPolicy, b.Compress = want.Path, want.Origin, *want.Viewers, *want.Compress
	list := methods(*want.Methods)
	cached := b.AllowedMethods.Cached
	if cached == nil || len(cached.Items) > len(list) {
		cached = &methodNames{2, methods("read")}
	}
	b.AllowedMethods = methodList{Quantity: len(list), Items: list, Cached: cached}
	b.CachePolicyID, _ = policyID(cachePolicies(), *want.CachePolicy)
	b.OriginRequestPolicyID, _ = policyID(originRequestPolicies(), want.OriginRequestPolicy)
	b.ResponseHeadersPolicyID, _ = policyID(responseHeadersPolicies(), want.ResponseHeadersPolicy)
	b.Functions = functionList{}
	for _, f := range []function{{want.ViewerRequest, viewerRequest}, {want.ViewerResponse, viewerResponse}} {
		if f.FunctionARN != "" {
			b.Functions.Items = append(b.Functions.Items, f)
		}
	}
	b.Functions.Quantity = len(b.Functions.Items)
	// Cache settings that are no policy exclude one.
	b.Rest = b.Rest.without("ForwardedValues", "MinTTL", "DefaultTTL", "MaxTTL").plain()
}

// props are the configuration in the shape of its props.
func (c *config) props() DistributionProps {
	have := DistributionProps{
		Comment: c.Comment, Disabled: !c.Enabled, Aliases: c.Aliases.Items, DefaultRootObject: c.DefaultRootObject, IPv6: &c.IPv6,
		Certificate: c.Certificate.ACMCertificateARN, Origins: map[string]Origin{}, Default: c.DefaultBehavior.props(),
		PriceClass: aws.OrNil(c.PriceClass), HTTPVersion: aws.OrNil(c.HTTPVersion), MinimumTLS: aws.OrNil(c.Certificate.MinimumProtocolVersion),
	}
	slices.Sort(have.Aliases)
	for _, o := range c.Origins.Items {
		have.Origins[o.ID] = o.props()
	}
	for _, b := range c.Behaviors.Items {
		have.Behaviors = append(have.Behaviors, b.props())
	}
	for _, e := range c.Errors.Items {
		of := ErrorResponse{Code: e.ErrorCode, Page: e.ResponsePagePath}
		if of.Status, _ = strconv.Atoi(e.ResponseCode); of.Status == of.Code {
			of.Status = 0
		}
		if e.ErrorCachingMinTTL != nil {
			of.CacheFor = new(time.Duration(*e.ErrorCachingMinTTL) * time.Second)
		}
		have.Errors = append(have.Errors, of)
	}
	distributionTable.Default(&have)
	return have
}

func (o origin) props() Origin {
	have := Origin{Domain: o.DomainName, Path: o.OriginPath, AccessControl: o.AccessControl, S3: o.S3 != nil}
	if c := o.Custom; c != nil {
		have.HTTPPort, have.HTTPSPort, have.Protocol = &c.HTTPPort, &c.HTTPSPort, &c.OriginProtocolPolicy
		if c.OriginReadTimeout > 0 {
			have.ReadTimeout = new(time.Duration(c.OriginReadTimeout) * time.Second)
		}
	}
	return have
}

func (b behavior) props() Behavior {
	have := Behavior{
		Path: b.PathPattern, Origin: b.TargetOriginID, Viewers: &b.ViewerProtocolPolicy, Methods: new("read"), Compress: &b.Compress,
		CachePolicy:           new(policyName(cachePolicies(), b.CachePolicyID)),
		OriginRequestPolicy:   policyName(originRequestPolicies(), b.OriginRequestPolicyID),
		ResponseHeadersPolicy: policyName(responseHeadersPolicies(), b.ResponseHeadersPolicyID),
	}
	for _, name := range []string{"options", "all"} {
		if slices.Equal(slices.Sorted(slices.Values(b.AllowedMethods.Items)), methods(name)) {
			have.Methods = &name
		}
	}
	for _, f := range b.Functions.Items {
		switch f.EventType {
		case viewerRequest:
			have.ViewerRequest = f.FunctionARN
		case viewerResponse:
			have.ViewerResponse = f.FunctionARN
		}
	}
	return have
}
