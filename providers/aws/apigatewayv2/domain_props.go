package apigatewayv2

import "github.com/athanor-dev/athanor/providers/aws"

// DomainNameProps declare a custom domain, which serves APIs in place of their own endpoints. Defaults and limits are those of
// https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/domainnames.html
type DomainNameProps struct {
	// Name of the domain in lower case, such as api.example.com or *.example.com. Changing it replaces the domain.
	Name string `prop:"required"`
	// CertificateARN is a certificate of ACM for the name, in the region of the domain.
	CertificateARN aws.ARN `prop:"required"`
	// OwnershipVerificationCertificateARN is a public certificate of ACM that shows whose the name is, where mutualTls is set
	// and the certificate was imported or comes from a private authority. Default: none.
	OwnershipVerificationCertificateARN aws.ARN
	// SecurityPolicy is the oldest version of TLS that callers may use. HTTP APIs want TLS_1_2. Default: TLS_1_2.
	SecurityPolicy *string `prop:"enum=TLS_1_0|TLS_1_2"`
	// IPAddressType is what addresses may call the domain: those of IPv4, or both. Default: ipv4.
	IPAddressType *string `prop:"enum=ipv4|dualstack"`
	// RoutingMode says what leads requests to APIs: their mappings, routing rules, or rules and then mappings. Rules are
	// AWS::ApiGatewayV2::RoutingRule. Default: API_MAPPING_ONLY.
	RoutingMode *string `prop:"enum=API_MAPPING_ONLY|ROUTING_RULE_ONLY|ROUTING_RULE_THEN_API_MAPPING"`
	// MutualTLS lets in only callers with a certificate. Left out, none is asked for.
	MutualTLS *MutualTLS
	// Tags of the domain, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// MutualTLS is whose certificates callers must have. The endpoints of the APIs themselves ask for none: see
// disableExecuteApiEndpoint.
type MutualTLS struct {
	// TruststoreURI is an object of S3 with the certificates of the authorities, such as s3://bucket/truststore.pem.
	TruststoreURI string `prop:"required"`
	// TruststoreVersion is the version of that object, of a bucket that keeps some: another one is how API Gateway is told
	// of other certificates. Default: none, the object as it was when its URI was set.
	TruststoreVersion string
}

// DomainName is what others may refer to of a custom domain.
type DomainName struct {
	// Name of the domain.
	Name string
	// ARN of the domain, for tags and permissions to manage it.
	ARN aws.ARN
	// RegionalDomainName is what DNS is to lead to: the dnsName of an alias in Route 53, or the value of a CNAME elsewhere.
	RegionalDomainName string
	// RegionalHostedZoneID is the hostedZoneId of such an alias.
	RegionalHostedZoneID string
}
