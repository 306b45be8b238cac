package apigatewayv2

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	errElsewhere = errors.New("it leads to another API")
	errReleased  = errors.New("another API of the stack has not released it yet")
	errNoDomain  = errors.New("there is no such custom domain")
)

// mapping leads from a custom domain, and a path below it, to a stage of an API.
type mapping struct {
	domain, key, id string
	api, stage      string
	// sibling says that the API is one of the same stack, by another address.
	sibling bool
}

// address is the key under which a mapping is declared.
func (m mapping) address() string {
	if m.key == "" {
		return m.domain
	}
	return m.domain + "/" + m.key
}

// shown is a mapping as the tree of its declaration, with the API that it leads to where that is another.
func (m mapping) shown(api string) object {
	out := object{"stage": m.stage}
	if m.api != api {
		out["api"] = m.api
	}
	return out
}

// mappingKey is what API Gateway takes as a path:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-mappings.html
var mappingKey = props.Pattern(`^[A-Za-z0-9$_.+!*'()-]+(/[A-Za-z0-9$_.+!*'()-]+)*$`)

func (c *checking) mapping(path tree.Path, at string, m Mapping) {
	if !token.Has(at) {
		domain, key, below := strings.Cut(at, "/")
		switch {
		case !domainName().MatchString(domain):
			c.Wrong(path, `want a domain in lower case, and a path below it where there is one: "api.example.com/orders"`)
		case below && (!mappingKey().MatchString(key) || len(key) > 300):
			c.Wrong(path, "want up to 300 letters, digits and $-_.+!*'() in the path, and single slashes between them")
		}
	}
	stage := "$default"
	if m.Stage != nil {
		stage = *m.Stage
	}
	_, exists := c.want.Stages[stage]
	if exists = exists || c.want.Stages == nil && stage == "$default"; !exists && !token.Has(stage) {
		c.Wrong(path.Key("stage"), "the API has no stage "+stage)
	}
}

// domainsIn are the domains of mappings, by their addresses. What is not known yet is left out.
func domainsIn(addresses []string) []string {
	var all []string
	for _, at := range addresses {
		if domain, _, _ := strings.Cut(at, "/"); !token.Has(at) {
			all = append(all, domain)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mappingsOf are the mappings that lead to an API, and those that are declared and lead elsewhere: on the domains that
// are declared or in state, and on all of the region while there is no state. API Gateway lists mappings by their
// domain alone.
func mappingsOf(ctx context.Context, client *sdk.Client, s apiSite, api string) (map[string]mapping, error) {
	declared := slices.Collect(maps.Keys(s.Want.Mappings))
	domains, had := domainsIn(declared), map[string]bool{}
	switch {
	case s.Last != nil:
		domains = domainsIn(slices.Concat(declared, s.Last.Mappings))
		for _, at := range s.Last.Mappings {
			had[at] = true
		}
	case !s.Owner.IsZero(): // what is only read needs none
		everything, err := domainsOf(ctx, client)
		if err != nil {
			return nil, err
		}
		for _, d := range everything {
			domains = append(domains, sdkaws.ToString(d.DomainName))
		}
		domains = domainsIn(domains)
	}
	all := map[string]mapping{}
	for _, domain := range domains {
		mapped, err := mappingsAt(ctx, client, domain)
		if err != nil {
			return nil, err
		}
		for _, m := range mapped {
			_, wanted := s.Want.Mappings[m.address()]
			if m.api != api && wanted {
				m.sibling, err = ours(ctx, client, s, m, had[m.address()])
			}
			if err != nil {
				return nil, err
			}
			if m.api == api || wanted {
				all[m.address()] = m
			}
		}
	}
	return all, nil
}

// mappingsAt are those of a domain, none when there is no such domain.
func mappingsAt(ctx context.Context, client *sdk.Client, domain string) (all []mapping, err error) {
	items, err := listed(ctx, client.GetApiMappings, &sdk.GetApiMappingsInput{DomainName: &domain},
		func(in *sdk.GetApiMappingsInput, out *sdk.GetApiMappingsOutput) ([]types.ApiMapping, *string) {
			in.NextToken = out.NextToken
			return out.Items, out.NextToken
		})
	for _, m := range items {
		all = append(all, mapping{
			domain: domain, key: sdkaws.ToString(m.ApiMappingKey), id: sdkaws.ToString(m.ApiMappingId),
			api: sdkaws.ToString(m.ApiId), stage: sdkaws.ToString(m.Stage),
		})
	}
	return all, unlessAbsent(err)
}

// ours reports whether the API that has a declared mapping is one of the same stack that is to release it. What state
// names as this API's, and what an earlier generation of it has, is taken back. All else belongs to others.
func ours(ctx context.Context, client *sdk.Client, s apiSite, m mapping, had bool) (sibling bool, err error) {
	if had {
		return false, nil
	}
	out, err := client.GetApi(ctx, &sdk.GetApiInput{ApiId: &m.api})
	if err != nil && !aws.IsAbsent(err) { // a REST API is not shown here
		return false, err
	}
	name := ""
	if err == nil {
		owner := adopt.MarkOf(out.Tags)
		if owner.Stack == s.Owner.Stack && owner.Stage == s.Owner.Stage {
			return owner.Address != s.Owner.Address, nil
		}
		name = " (" + sdkaws.ToString(out.Name) + ")"
	}
	return false, reconcile.WithHint(fmt.Errorf("mapping %s: %w, %s%s", m.address(), errElsewhere, m.api, name),
		"give this API another path, or delete that mapping first: one that others have made is never taken over")
}

func (c *comparison) createMapping(ctx context.Context, client *sdk.Client, at string, u apiUpdate) error {
	m, err := written[Mapping](&c.mappings, at, u.Changed)
	if err != nil {
		return err
	}
	domain, key, _ := strings.Cut(at, "/")
	_, err = client.CreateApiMapping(ctx, &sdk.CreateApiMappingInput{
		ApiId: &c.live.id, DomainName: &domain, ApiMappingKey: aws.OrNil(key), Stage: m.Stage,
	})
	if aws.IsAbsent(err) && time.Since(u.Since) > aws.EventuallyVisible {
		return noDomain(ctx, client, domain, err)
	}
	return err
}

// noDomain is the error of a domain that is missing. One that was created a moment ago may not be visible yet, and is
// waited for.
func noDomain(ctx context.Context, client *sdk.Client, domain string, err error) error {
	if _, missing := client.GetDomainName(ctx, &sdk.GetDomainNameInput{DomainName: &domain}); !aws.IsAbsent(missing) {
		return err
	}
	return fmt.Errorf("%w: %s", errNoDomain, domain)
}

func (c *comparison) updateMapping(ctx context.Context, client *sdk.Client, at string, u apiUpdate) error {
	live := c.live.mappings[at]
	if live.sibling {
		return aws.Busy(fmt.Errorf("mapping %s: %w: %s", at, errReleased, live.api))
	}
	m, err := written[Mapping](&c.mappings, at, u.Changed)
	if err != nil {
		return err
	}
	_, err = client.UpdateApiMapping(ctx, &sdk.UpdateApiMappingInput{
		ApiId: &c.live.id, ApiMappingId: &live.id, DomainName: &live.domain, ApiMappingKey: &live.key, Stage: m.Stage,
	})
	return err
}

func (c *comparison) deleteMapping(ctx context.Context, client *sdk.Client, at string, _ apiUpdate) error {
	return c.live.mappings[at].delete(ctx, client)
}

func (m mapping) delete(ctx context.Context, client *sdk.Client) error {
	_, err := client.DeleteApiMapping(ctx, &sdk.DeleteApiMappingInput{DomainName: &m.domain, ApiMappingId: &m.id})
	return unlessAbsent(err)
}

// unmap deletes what leads to an API from domains.
func unmap(ctx context.Context, client *sdk.Client, api string, domains []string) error {
	for _, domain := range domains {
		mapped, err := mappingsAt(ctx, client, domain)
		if err != nil {
			return err
		}
		for _, m := range mapped {
			if m.api != api {
				continue
			}
			if err := m.delete(ctx, client); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmapEverywhere deletes what leads to an API from any domain of the region. Without any the refusal had another
// reason.
func unmapEverywhere(ctx context.Context, client *sdk.Client, api string, refusal error) error {
	all, err := domainsOf(ctx, client)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return refusal
	}
	var domains []string
	for _, d := range all {
		domains = append(domains, sdkaws.ToString(d.DomainName))
	}
	return unmap(ctx, client, api, domains)
}

// isBadRequest reports the error with which API Gateway refuses, for one, to delete what is mapped.
func isBadRequest(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorCode() == "BadRequestException"
}
