package apigatewayv2

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// liveDomain is a custom domain as it was seen: as one would declare it, and what else it tells.
type liveDomain struct {
	DomainNameProps
	place        reconcile.Place
	target, zone string
	status       types.DomainNameStatus
	message      string
	tags         map[string]string
}

type (
	domainSite = reconcile.Site[DomainNameProps, DomainName]
	domainDiff = reconcile.Diff[liveDomain]
	domainCall = reconcile.Operation[liveDomain]
)

// domainVisibility bounds how late a read may be. API Gateway does not say.
const domainVisibility = 30 * time.Second

var domainKind = &reconcile.Kind[DomainNameProps, liveDomain, DomainName]{
	Type: domainType,
	Doc: "A regional custom domain of API Gateway, the sort that HTTP APIs can be served at. What leads from it to APIs belongs to " +
		"them (mappings of an aws.apigatewayv2.HTTPAPI), so that several, of other stacks too, share a domain by path. One that is mapped " +
		"to an API is not deleted. Not managed: routing rules, and records of DNS.",

	Observe:  observeDomain,
	Create:   createDomain,
	Compare:  compareDomain,
	Attrs:    domainAttrs,
	Delete:   deleteDomain,
	Identity: func(d DomainName) string { return d.Name },

	Given:    func(want DomainNameProps) string { return want.Name },
	Defaults: domainDefaults,
	Check:    checkDomain,
	AtBirth:  []string{"name", "arn", "regionalDomainName", "regionalHostedZoneId"},

	Owner:   func(live liveDomain) reconcile.Mark { return adopt.MarkOf(live.tags) },
	Busy:    liveDomain.busy,
	Waiting: liveDomain.waiting,
	List:    listDomains,

	Visibility: domainVisibility,
	// Another security policy may take an hour:
	// https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-custom-domain-tls-version.html
	Timeouts: reconcile.Timeouts{Create: 75 * time.Minute, Update: 75 * time.Minute},

	Source: source,
	Calls: []string{
		"ApiGatewayV2.CreateDomainName", "ApiGatewayV2.GetDomainName", "ApiGatewayV2.GetDomainNames", "ApiGatewayV2.UpdateDomainName",
		"ApiGatewayV2.DeleteDomainName", "ApiGatewayV2.GetApiMappings", "ApiGatewayV2.TagResource", "ApiGatewayV2.UntagResource",
	},
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonapigatewaymanagement.html
	Permissions: reconcile.Permissions{
		Observe: []string{"apigateway:GET"},
		List:    []string{"apigateway:GET"},
		Create:  []string{"apigateway:POST", "apigateway:TagResource", "apigateway:AddCertificateToDomain", "s3:GetObject", "s3:GetObjectVersion"},
		Update: []string{
			"apigateway:PATCH", "apigateway:POST", "apigateway:PUT", "apigateway:DELETE", "apigateway:TagResource", "apigateway:UntagResource",
			"apigateway:AddCertificateToDomain", "apigateway:RemoveCertificateFromDomain", "s3:GetObject", "s3:GetObjectVersion",
		},
		Delete:   []string{"apigateway:DELETE", "apigateway:GET"},
		Resource: domainResources,
		Anywhere: []string{"s3:GetObject", "s3:GetObjectVersion"}, // the truststore, as whoever sets it
	},
}

func domainResources(place reconcile.Place, name string) []string {
	at := "arn:" + aws.Partition(place.Region) + ":apigateway:" + place.Region + "::"
	return []string{at + "/domainnames", at + "/domainnames/" + name, at + "/domainnames/" + name + "/apimappings", at + "/tags/*"}
}

// domainARN is how API Gateway names a domain: without an account.
func domainARN(place reconcile.Place, name string) aws.ARN {
	place.Account = ""
	return aws.ARNIn(place, "apigateway", domainPath+name)
}

const domainPath = "/domainnames/"

func domainNames() aws.Names[DomainName] {
	return aws.Names[DomainName]{
		Of:  func(d DomainName) string { return d.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, domainPath) },
		ARN: domainARN,
	}
}

func domainAttrs(live liveDomain) DomainName {
	return DomainName{Name: live.Name, ARN: domainARN(live.place, live.Name), RegionalDomainName: live.target, RegionalHostedZoneID: live.zone}
}

// busy says why the domain cannot be changed now.
func (l liveDomain) busy() string {
	if l.status == types.DomainNameStatusUpdating {
		return "API Gateway is changing it"
	}
	return ""
}

// waiting says what API Gateway waits for.
func (l liveDomain) waiting() string {
	what := map[types.DomainNameStatus]string{
		types.DomainNameStatusPendingCertificateReimport:   "import the certificate again: it has expired or was taken away",
		types.DomainNameStatusPendingOwnershipVerification: "show whose the domain is: set ownershipVerificationCertificateArn to a public certificate for it",
	}[l.status]
	if what != "" && l.message != "" {
		what += " (" + l.message + ")"
	}
	return what
}

func domainDefaults(want DomainNameProps) DomainNameProps {
	aws.OrDefault(&want.SecurityPolicy, string(types.SecurityPolicyTls12))
	aws.OrDefault(&want.IPAddressType, string(types.IpAddressTypeIpv4))
	aws.OrDefault(&want.RoutingMode, string(types.RoutingModeApiMappingOnly))
	return want
}

var (
	domainName = props.Pattern(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9][a-z0-9-]*[a-z0-9]$`)
	truststore = props.Pattern(`^s3://[^/]+/.+$`)
)

func checkDomain(want DomainNameProps) error {
	problems := aws.CheckTags(want.Tags)
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
