package apigatewayv2

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// DomainNameProps declare a custom domain, which serves APIs in place of their own endpoints. Defaults and limits are
// those of
// https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/domainnames.html
type DomainNameProps struct {
	// Name of the domain in lower case, such as api.example.com or *.example.com. Changing it replaces the domain.
	Name string `prop:"required"`
	// CertificateARN is a certificate of ACM for the name, in the region of the domain.
	CertificateARN aws.ARN `prop:"required" wire:"CertificateArn"`
	// OwnershipVerificationCertificateARN is a public certificate of ACM that shows whose the name is, where mutualTls is
	// set and the certificate was imported or comes from a private authority. Default: none.
	OwnershipVerificationCertificateARN aws.ARN `wire:"OwnershipVerificationCertificateArn"`
	// SecurityPolicy is the oldest version of TLS that callers may use. HTTP APIs want TLS_1_2.
	SecurityPolicy *string `prop:"enum=TLS_1_0|TLS_1_2,default=TLS_1_2" wire:"SecurityPolicy"`
	// IPAddressType is what addresses may call the domain: those of IPv4, or both.
	IPAddressType *string `prop:"enum=ipv4|dualstack,default=ipv4" wire:"IpAddressType"`
	// RoutingMode says what leads requests to APIs: their mappings, routing rules, or rules and then mappings. Rules are
	// AWS::ApiGatewayV2::RoutingRule.
	RoutingMode *string `prop:"enum=API_MAPPING_ONLY|ROUTING_RULE_ONLY|ROUTING_RULE_THEN_API_MAPPING,default=API_MAPPING_ONLY" wire:"RoutingMode"`
	// MutualTLS lets in only callers with a certificate. Left out, none is asked for.
	MutualTLS *MutualTLS `prop:"each" wire:"MutualTlsAuthentication"`
	// Tags of the domain, beside the owner tags. Default: none.
	Tags map[string]string
}

// MutualTLS is whose certificates callers must have. The endpoints of the APIs themselves ask for none: see
// disableExecuteApiEndpoint.
type MutualTLS struct {
	// TruststoreURI is an object of S3 with the certificates of the authorities, such as s3://bucket/truststore.pem.
	TruststoreURI string `prop:"required" wire:"TruststoreUri"`
	// TruststoreVersion is the version of that object, of a bucket that has versions: with another one API Gateway
	// reads other certificates. Default: none, the object as it was when its URI was set.
	TruststoreVersion string `wire:"TruststoreVersion"`
}

// DomainName is what others may refer to of a custom domain.
type DomainName struct {
	// Name of the domain.
	Name string `attr:"early"`
	// ARN of the domain, for tags and permissions to manage it.
	ARN aws.ARN `attr:"early"`
	// RegionalDomainName is what DNS is to lead to: the dnsName of an alias in Route 53, or the value of a CNAME
	// elsewhere.
	RegionalDomainName string `attr:"early"`
	// RegionalHostedZoneID is the hostedZoneId of such an alias.
	RegionalHostedZoneID string `attr:"early"`
}

// liveDomain is an observed custom domain: in the shape of its props, and what else a read shows.
type liveDomain struct {
	have         DomainNameProps
	location     kind.Location
	target, zone string
	status       types.DomainNameStatus
	message      string
	tags         map[string]string
}

type domainSite = kind.Site[DomainNameProps, DomainName]

// domainWire is a domain as calls and answers have it, whose configuration they have in a list of one.
type domainWire struct {
	types.DomainNameConfiguration
	sdk.UpdateDomainNameInput
}

// input is the body of a call that writes the whole configuration of the region.
func (w *domainWire) input(name string) *sdk.UpdateDomainNameInput {
	w.EndpointType = types.EndpointTypeRegional
	w.DomainName, w.DomainNameConfigurations = &name, []types.DomainNameConfiguration{w.DomainNameConfiguration}
	return &w.UpdateDomainNameInput
}

var domainTable = kind.TableOf[DomainNameProps]().For(kind.Both(domainWire{}))

var domainKind = &kind.Kind[DomainNameProps, liveDomain, DomainName]{
	Type: domainType,
	Doc: "A regional custom domain of API Gateway, the sort that HTTP APIs can be served at. What leads from it to APIs " +
		"belongs to them (mappings of an aws.apigatewayv2.HTTPAPI), so that several, of other stacks too, share a domain " +
		"by path. One that is mapped to an API is not deleted. Not managed: routing rules, and records of DNS.",

	Observe:    observeDomain,
	Create:     createDomain,
	Compare:    compareDomain,
	Attributes: domainAttrs,
	Delete:     deleteDomain,
	Identity:   func(d DomainName) string { return d.Name },

	Props: domainTable,
	Check: checkDomain,
	Named: &kind.Named[DomainNameProps, liveDomain]{
		Given: func(want DomainNameProps) string { return want.Name },

		Live: func(live liveDomain) string { return live.have.Name },
	},
	Owner: tagged(func(want DomainNameProps) map[string]string { return want.Tags },
		func(live liveDomain) (map[string]string, aws.ARN) {
			return live.tags, domainARN(live.location, live.have.Name)
		}),
	Status: liveDomain.ready,
	List:   listDomains,

	EventuallyVisible: aws.EventuallyVisible,
	// Another security policy may take an hour:
	// https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-custom-domain-tls-version.html
	Timeouts: kind.Timeouts{Create: 75 * time.Minute, Update: 75 * time.Minute},

	API: kind.API{
		Source: source,
		Calls: operations("CreateDomainName", "GetDomainName", "GetDomainNames", "UpdateDomainName", "DeleteDomainName",
			"GetApiMappings", "TagResource", "UntagResource"),
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonapigatewaymanagement.html
		Permissions: kind.Permissions{
			Observe: []string{"apigateway:GET"},
			List:    []string{"apigateway:GET"},
			Create: []string{
				"apigateway:POST", "apigateway:TagResource", "apigateway:AddCertificateToDomain",
			},
			Update: []string{
				"apigateway:PATCH", "apigateway:POST", "apigateway:PUT", "apigateway:DELETE",
				"apigateway:TagResource", "apigateway:UntagResource",
				"apigateway:AddCertificateToDomain", "apigateway:RemoveCertificateFromDomain",
			},
			Calls: map[string][]string{
				"UpdateDomainName": {"apigateway:PATCH", "apigateway:AddCertificateToDomain", "apigateway:RemoveCertificateFromDomain"},
				"TagResource":      {"apigateway:PUT", "apigateway:POST", "apigateway:TagResource"},
				"UntagResource":    {"apigateway:DELETE", "apigateway:UntagResource"},
			},
			Delete: []string{"apigateway:DELETE", "apigateway:GET"},
			Resource: func(location kind.Location, name string) []string {
				return resources(location, "/domainnames", "/domainnames/"+name, "/domainnames/"+name+"/apimappings", "/tags/*")
			},
			// https://docs.aws.amazon.com/apigateway/latest/developerguide/rest-api-mutual-tls.html
			Depends: []kind.Dependence{{
				Actions: []string{"s3:GetObject", "s3:GetObjectVersion"}, Props: []tree.Path{"mutualTls.truststoreUri"},
				Resource: func(location kind.Location, uri string) []string {
					return []string{"arn:" + aws.Partition(location.Region) + ":s3:::" + strings.TrimPrefix(uri, "s3://")}
				},
			}},
		},
	},
}

const domainPath = "/domainnames/"

// domainARN is how API Gateway names a domain: without an account.
func domainARN(location kind.Location, name string) aws.ARN {
	location.Account = ""
	return aws.ARNIn(location, "apigateway", domainPath+name)
}

func domainAttrs(live liveDomain) DomainName {
	name := live.have.Name
	return DomainName{
		Name: name, ARN: domainARN(live.location, name), RegionalDomainName: live.target, RegionalHostedZoneID: live.zone,
	}
}

// ready is what API Gateway says of a domain that it has not finished.
func (l liveDomain) ready() kind.Status {
	what := ""
	switch l.status {
	case types.DomainNameStatusUpdating:
		return kind.Busy("API Gateway is changing it")
	case types.DomainNameStatusPendingCertificateReimport:
		what = "import the certificate again: it has expired or was taken away"
	case types.DomainNameStatusPendingOwnershipVerification:
		what = "show whose the domain is: set ownershipVerificationCertificateArn to a public certificate for it"
	}
	if what != "" && l.message != "" {
		what += " (" + l.message + ")"
	}
	return kind.WaitingFor(what)
}

var (
	domainName = props.Pattern(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9][a-z0-9-]*[a-z0-9]$`)
	truststore = props.Pattern(`^s3://[^/]+/.+$`)
)

// checkDomain finds what API Gateway would refuse, beyond what the table says.
func checkDomain(want DomainNameProps) error {
	var problems props.Errors
	if !token.Has(want.Name) && !domainName().MatchString(want.Name) {
		problems.Wrong("name", "want a domain in lower case, such as api.example.com or *.example.com")
	}
	switch m := want.MutualTLS; {
	case m == nil && want.OwnershipVerificationCertificateARN != "":
		problems.Wrong("ownershipVerificationCertificateArn", "it goes with mutualTls")
	case m != nil && !token.Has(m.TruststoreURI) && !truststore().MatchString(m.TruststoreURI):
		problems.Wrong("mutualTls.truststoreUri", "want an object of S3, such as s3://bucket/truststore.pem")
	}
	return problems.OrNil()
}

var (
	errEdge   = errors.New("the domain is optimized for the edge, which serves REST APIs alone")
	errMapped = errors.New("the domain is mapped to APIs, which its deletion would cut off")
	errTaken  = errors.New("the name is taken, and not by this account in this region")
)

func observeDomain(ctx context.Context, s domainSite) (live liveDomain, err error) {
	name, err := aws.NameOf(s, aws.Names[DomainName]{
		Of:  func(d DomainName) string { return d.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, domainPath) },
		ARN: domainARN,
	})
	if err != nil {
		return live, err
	}
	out, err := clientOf(s.Cloud).GetDomainName(ctx, &sdk.GetDomainNameInput{DomainName: &name})
	if err != nil {
		return live, aws.Absent(err)
	}
	var shown domainWire
	shown.RoutingMode = out.RoutingMode
	if m := out.MutualTlsAuthentication; m != nil {
		shown.MutualTlsAuthentication = &types.MutualTlsAuthenticationInput{
			TruststoreUri: m.TruststoreUri, TruststoreVersion: m.TruststoreVersion,
		}
	}
	live, err = regional(out.DomainNameConfigurations, shown, name, s.Location)
	live.tags = out.Tags
	return live, err
}

// regional is a domain by its configuration for the region. While a domain moves from the edge there is one for that
// too.
func regional(
	all []types.DomainNameConfiguration, shown domainWire, name string, location kind.Location,
) (live liveDomain, err error) {
	for _, c := range all {
		if c.EndpointType == types.EndpointTypeEdge {
			continue
		}
		shown.DomainNameConfiguration = c
		live.location, live.target = location, sdkaws.ToString(c.ApiGatewayDomainName)
		live.zone = sdkaws.ToString(c.HostedZoneId)
		live.status, live.message = c.DomainNameStatus, sdkaws.ToString(c.DomainNameStatusMessage)
		live.have, err = domainTable.Read(kind.Struct(&shown))
		live.have.Name = name
		return live, err
	}
	return live, errEdge
}

func createDomain(ctx context.Context, s domainSite) (DomainName, error) {
	var body domainWire
	if err := domainTable.Created(s.Want, kind.Struct(&body)); err != nil {
		return DomainName{}, err
	}
	in := body.input(s.Name)
	out, err := clientOf(s.Cloud).CreateDomainName(ctx, &sdk.CreateDomainNameInput{
		DomainName: in.DomainName, Tags: aws.Tags(s.Cloud, s.Want.Tags, s.Owner), RoutingMode: in.RoutingMode,
		DomainNameConfigurations: in.DomainNameConfigurations, MutualTlsAuthentication: in.MutualTlsAuthentication,
	})
	if err != nil {
		return DomainName{}, taken(err, time.Since(s.Since))
	}
	created, err := regional(out.DomainNameConfigurations, domainWire{}, s.Name, s.Location)
	if err != nil {
		return DomainName{}, err
	}
	return domainAttrs(created), nil
}

// taken is the refusal of a domain that no read shows: names are unique in a region, across accounts. For as long as
// reads may be late it is read again.
func taken(err error, since time.Duration) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if ok && api.ErrorCode() == "ConflictException" && since > aws.EventuallyVisible {
		return fmt.Errorf("%w: %s", errTaken, api.ErrorMessage())
	}
	return err
}

// compareDomain states every aspect. One call writes the whole configuration of the region, with what is not to change
// as it is; routing and the truststore only where they are to change.
func compareDomain(d *kind.Diff[liveDomain], want DomainNameProps, live liveDomain) {
	update := kind.Set("UpdateDomainName", func(ctx context.Context, u kind.Update[liveDomain]) error {
		var all, changed domainWire
		err := errors.Join(domainTable.Created(domainTable.Merged(want, u.Live.have, u.Changed), kind.Struct(&all)),
			domainTable.Changed(want, u.Live.have, u.Changed, kind.Struct(&changed)))
		if err != nil {
			return err
		}
		if trust := changed.MutualTlsAuthentication; trust != nil && *trust.TruststoreUri == "" {
			trust.TruststoreVersion = nil // without a truststore there is no version of it
		}
		in := all.input(u.Live.have.Name)
		in.RoutingMode, in.MutualTlsAuthentication = changed.RoutingMode, changed.MutualTlsAuthentication
		_, err = clientOf(u.Cloud).UpdateDomainName(ctx, in)
		return aws.NotYet(err)
	})
	w, h := want, live.have
	if (w.MutualTLS == nil) != (h.MutualTLS == nil) { // whether there is a truststore is one difference
		w.MutualTLS, h.MutualTLS = nil, nil
	}
	kind.Compare(d, domainTable, w, h, update)
	if w.MutualTLS == nil {
		reconcile.Value(d, "mutualTls", want.MutualTLS, live.have.MutualTLS, update)
	}
}

// deleteDomain deletes a domain that leads nowhere: API Gateway would delete the mappings with it, those of others too.
// Those of the stack are deleted with their APIs, before the domain.
func deleteDomain(ctx context.Context, s domainSite) error {
	client, name := clientOf(s.Cloud), s.Last.Name
	mapped, err := mappingsAt(ctx, client, name)
	if err != nil {
		return err
	}
	for _, m := range mapped {
		err := fmt.Errorf("%w: %s leads to %s", errMapped, m.address(), m.api)
		return reconcile.WithHint(err, "take the mapping out of that API first, or delete it")
	}
	_, err = client.DeleteDomainName(ctx, &sdk.DeleteDomainNameInput{DomainName: &name})
	return err
}

// listDomains lists the domains of a region with their owner tags.
func listDomains(ctx context.Context, scope kind.ListScope) (found []kind.Found, err error) {
	all, err := domainsOf(ctx, clientOf(scope.Cloud))
	for _, d := range all {
		name := sdkaws.ToString(d.DomainName)
		found = append(found, kind.Found{
			Kind: domainType, Place: scope.Place, Identity: name, Name: name, Mark: new(adopt.MarkOf(d.Tags)),
		})
	}
	return found, err
}

func domainsOf(ctx context.Context, client *sdk.Client) ([]types.DomainName, error) {
	return listed(ctx, client.GetDomainNames, &sdk.GetDomainNamesInput{},
		func(in *sdk.GetDomainNamesInput, out *sdk.GetDomainNamesOutput) ([]types.DomainName, *string) {
			in.NextToken = out.NextToken
			return out.Items, out.NextToken
		})
}
