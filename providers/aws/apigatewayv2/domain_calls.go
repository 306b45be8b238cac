package apigatewayv2

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	errEdge        = errors.New("the domain is optimized for the edge, which serves REST APIs alone")
	errDomainGoing = errors.New("the domain is still there")
	errMapped      = errors.New("the domain is mapped to APIs, which its deletion would cut off")
	errTaken       = errors.New("the name is taken, and not by this account in this region")
)

func observeDomain(ctx context.Context, site domainSite) (liveDomain, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveDomain{}, err
	}
	name, err := aws.NameOf(site, domainNames())
	if err != nil {
		return liveDomain{}, err
	}
	out, err := client.GetDomainName(ctx, &sdk.GetDomainNameInput{DomainName: &name})
	if err != nil {
		return liveDomain{}, aws.Absent(err)
	}
	live := liveDomain{
		place: site.Place, tags: maps.Clone(out.Tags),
		DomainNameProps: DomainNameProps{Name: name, RoutingMode: new(string(out.RoutingMode)), MutualTLS: mutualOf(out.MutualTlsAuthentication)},
	}
	if *live.RoutingMode == "" { // a domain from before there was a choice
		live.RoutingMode = new(string(types.RoutingModeApiMappingOnly))
	}
	return live, live.regional(out.DomainNameConfigurations)
}

// regional takes over the configuration for the region. While a domain moves from the edge there is one for that as well.
func (l *liveDomain) regional(all []types.DomainNameConfiguration) error {
	for _, c := range all {
		if c.EndpointType == types.EndpointTypeEdge {
			continue
		}
		l.CertificateARN = aws.ARN(sdkaws.ToString(c.CertificateArn))
		l.OwnershipVerificationCertificateARN = aws.ARN(sdkaws.ToString(c.OwnershipVerificationCertificateArn))
		l.SecurityPolicy, l.IPAddressType = new(string(c.SecurityPolicy)), new(string(c.IpAddressType))
		if *l.IPAddressType == "" {
			l.IPAddressType = new(string(types.IpAddressTypeIpv4))
		}
		l.target, l.zone = sdkaws.ToString(c.ApiGatewayDomainName), sdkaws.ToString(c.HostedZoneId)
		l.status, l.message = c.DomainNameStatus, sdkaws.ToString(c.DomainNameStatusMessage)
		return nil
	}
	return errEdge
}

func mutualOf(in *types.MutualTlsAuthentication) *MutualTLS {
	if in == nil || sdkaws.ToString(in.TruststoreUri) == "" {
		return nil
	}
	return &MutualTLS{TruststoreURI: *in.TruststoreUri, TruststoreVersion: sdkaws.ToString(in.TruststoreVersion)}
}

func createDomain(ctx context.Context, site domainSite) (DomainName, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return DomainName{}, err
	}
	in := &sdk.CreateDomainNameInput{
		DomainName: &site.Name, Tags: aws.Tags(site.Want.Tags, site.Mark), RoutingMode: types.RoutingMode(*site.Want.RoutingMode),
		DomainNameConfigurations: []types.DomainNameConfiguration{site.Want.configuration()},
	}
	if m := site.Want.MutualTLS; m != nil {
		in.MutualTlsAuthentication = &types.MutualTlsAuthenticationInput{TruststoreUri: &m.TruststoreURI, TruststoreVersion: aws.OrNil(m.TruststoreVersion)}
	}
	out, err := client.CreateDomainName(ctx, in)
	if err != nil {
		return DomainName{}, taken(err, time.Since(site.Since))
	}
	made := liveDomain{place: site.Place, DomainNameProps: DomainNameProps{Name: site.Name}}
	if err := made.regional(out.DomainNameConfigurations); err != nil {
		return DomainName{}, err
	}
	return domainAttrs(made), nil
}

// taken is the refusal of a domain that no look shows: names are unique in a region, whoever has them. For as long as reads
// may be late it is looked at again.
func taken(err error, since time.Duration) error {
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "ConflictException" && since > domainVisibility {
		return fmt.Errorf("%w: %s", errTaken, api.ErrorMessage())
	}
	return err
}

// configuration is all that API Gateway is told for the region.
func (p DomainNameProps) configuration() types.DomainNameConfiguration {
	return types.DomainNameConfiguration{
		EndpointType: types.EndpointTypeRegional, CertificateArn: new(string(p.CertificateARN)),
		OwnershipVerificationCertificateArn: aws.OrNil(string(p.OwnershipVerificationCertificateARN)),
		SecurityPolicy:                      types.SecurityPolicy(*p.SecurityPolicy), IpAddressType: types.IpAddressType(*p.IPAddressType),
	}
}

func compareDomain(d *domainDiff, want DomainNameProps, live liveDomain) {
	update := updateDomain(want)
	reconcile.Fixed(d, "name", want.Name, live.Name)
	reconcile.Value(d, "certificateArn", want.CertificateARN, live.CertificateARN, update)
	reconcile.Value(d, "ownershipVerificationCertificateArn",
		aws.OrNil(want.OwnershipVerificationCertificateARN), aws.OrNil(live.OwnershipVerificationCertificateARN), update)
	reconcile.Value(d, "securityPolicy", want.SecurityPolicy, live.SecurityPolicy, update)
	reconcile.Value(d, "ipAddressType", want.IPAddressType, live.IPAddressType, update)
	reconcile.Value(d, "routingMode", want.RoutingMode, live.RoutingMode, update)
	leaves(d, "mutualTls", treeOf(want.MutualTLS), treeOf(live.MutualTLS), update)
	aws.CompareTags(d, want.Tags, live.tags, "TagResource", putDomainTags, dropDomainTags)
}

// updateDomain says the whole configuration of the region, with what is there where that is not to change; routing and the
// truststore only where they are.
func updateDomain(want DomainNameProps) *domainCall {
	return &domainCall{Name: "UpdateDomainName", Do: func(ctx context.Context, on reconcile.On[liveDomain]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		all, err := settled[DomainNameProps]("domain", treeOf(&want), treeOf(&on.Live.DomainNameProps), below("domain", on.Changed))
		if err != nil {
			return err
		}
		in := &sdk.UpdateDomainNameInput{
			DomainName: &on.Live.Name, DomainNameConfigurations: []types.DomainNameConfiguration{all.configuration()},
		}
		if touches(on.Changed, "routingMode") {
			in.RoutingMode = types.RoutingMode(*all.RoutingMode)
		}
		if touches(on.Changed, "mutualTls") {
			in.MutualTlsAuthentication = all.MutualTLS.input()
		}
		_, err = client.UpdateDomainName(ctx, in)
		return aws.NotYet(err)
	}}
}

// below are paths as those of what lies at another one.
func below(at tree.Path, paths []tree.Path) []tree.Path {
	out := make([]tree.Path, len(paths))
	for i, p := range paths {
		out[i] = at + "." + p
	}
	return out
}

// input says everything: an empty address takes the truststore away, and an empty version goes back to the object as it is.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-mutual-tls.html
func (m *MutualTLS) input() *types.MutualTlsAuthenticationInput {
	if m == nil {
		return &types.MutualTlsAuthenticationInput{TruststoreUri: new("")}
	}
	return &types.MutualTlsAuthenticationInput{TruststoreUri: &m.TruststoreURI, TruststoreVersion: &m.TruststoreVersion}
}

// deleteDomain deletes a domain that leads nowhere: API Gateway would delete the mappings with it, whoever made them. Those of
// the stack go with their APIs, before the domain.
func deleteDomain(ctx context.Context, site domainSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	name := site.Last.Name
	mapped, err := mappingsAt(ctx, client, name)
	if err != nil {
		return err
	}
	for _, m := range mapped {
		err := fmt.Errorf("%w: %s leads to %s", errMapped, m.address(), m.api)
		return reconcile.WithHint(err, "take the mapping out of that API first, or delete it")
	}
	if _, err := client.DeleteDomainName(ctx, &sdk.DeleteDomainNameInput{DomainName: &name}); err != nil {
		return err
	}
	if _, err := client.GetDomainName(ctx, &sdk.GetDomainNameInput{DomainName: &name}); err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(errDomainGoing)
}

// listDomains lists the domains of a region with their marks.
func listDomains(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	all, err := domainsOf(ctx, client)
	if err != nil {
		return nil, err
	}
	var found []reconcile.Found
	for _, d := range all {
		name := sdkaws.ToString(d.DomainName)
		found = append(found, reconcile.Found{Kind: domainType, Place: scope.Place, Identity: name, Name: name, Mark: new(adopt.MarkOf(d.Tags))})
	}
	return found, nil
}

func domainsOf(ctx context.Context, client *sdk.Client) (all []types.DomainName, err error) {
	err = pages(func(token *string) (*string, error) {
		out, err := client.GetDomainNames(ctx, &sdk.GetDomainNamesInput{NextToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, out.Items...)
		return out.NextToken, nil
	})
	return all, err
}

func putDomainTags(ctx context.Context, on reconcile.On[liveDomain], tags map[string]string) error {
	return putTagsOf(ctx, on.Cloud, domainARN(on.Place, on.Live.Name), tags)
}

func dropDomainTags(ctx context.Context, on reconcile.On[liveDomain], keys []string) error {
	return dropTagsOf(ctx, on.Cloud, domainARN(on.Place, on.Live.Name), keys)
}
