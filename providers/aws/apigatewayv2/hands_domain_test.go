package apigatewayv2

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// domains are the custom domains of a world, without what AWS makes up.
func (w *world) domains(t kindtest.T) []any {
	t.Helper()
	there := all(t, func(token *string) ([]obj, *string, error) {
		out, err := w.others.GetDomainNames(context.Background(), &sdk.GetDomainNamesInput{NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return items(out), out.NextToken, nil
	})
	var domains []any
	for _, d := range there {
		if tags, ok := d["tags"].(obj); ok {
			delete(tags, "athanor:generation")
		}
		empty(d)
		domains = append(domains, d)
	}
	return domains
}

// mappings are those of a domain.
func (w *world) mappings(t kindtest.T, domain string) []obj {
	t.Helper()
	return all(t, func(token *string) ([]obj, *string, error) {
		out, err := w.others.GetApiMappings(context.Background(), &sdk.GetApiMappingsInput{DomainName: &domain, NextToken: token})
		if err != nil {
			return nil, nil, err
		}
		return items(out), out.NextToken, nil
	})
}

// mapped are the mappings that lead to an API, as they are declared, with their stage. They are read where they are kept.
func (w *world) mapped(api string) []obj {
	w.like.mu.Lock()
	defer w.like.mu.Unlock()
	var out []obj
	for name, all := range w.like.custom.mappings {
		for _, m := range all {
			if m["apiId"] == api {
				out = append(out, obj{"at": strings.TrimSuffix(name+"/"+m["apiMappingKey"].(string), "/"), "stage": m["stage"]})
			}
		}
	}
	slices.SortFunc(out, func(a, b obj) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}

// serve makes custom domains as somebody else does.
func (w *world) serve(t kindtest.T, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := w.others.CreateDomainName(context.Background(), &sdk.CreateDomainNameInput{
			DomainName: &name, DomainNameConfigurations: []types.DomainNameConfiguration{{
				EndpointType: types.EndpointTypeRegional, CertificateArn: new(certificate("somebody")),
			}},
		})
		if err != nil {
			t.Fatalf("serve %s: %v", name, err)
		}
	}
}

func certificate(id string) string { return "arn:aws:acm:us-east-1:" + account + ":certificate/" + id }

// mappings makes what leads to the API what is wanted, on domains that come to be there where they are not.
func (h *hand) mappings() error {
	var there []string
	for _, d := range h.domains(h.t) {
		there = append(there, d.(obj)["domainName"].(string))
	}
	for _, name := range there {
		for _, m := range h.world.mappings(h.t, name) {
			if m["apiId"] != *h.id {
				continue
			}
			_, err := h.others.DeleteApiMapping(h.ctx, &sdk.DeleteApiMappingInput{DomainName: &name, ApiMappingId: new(m["apiMappingId"].(string))})
			if err != nil {
				return err
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(h.want.Mappings)) {
		name, key, _ := strings.Cut(at, "/")
		if !slices.Contains(there, name) {
			h.serve(h.t, name)
			there = append(there, name)
		}
		in := &sdk.CreateApiMappingInput{DomainName: &name, ApiMappingKey: &key, ApiId: h.id, Stage: new("$default")}
		if s := h.want.Mappings[at].Stage; s != nil {
			in.Stage = s
		}
		if _, err := h.others.CreateApiMapping(h.ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// owner is somebody else at work on a custom domain.
type owner struct {
	*world
	ctx  context.Context
	name *string
	want DomainNameProps
}

// domainHands change each aspect of a domain as somebody else would.
func (ws worlds) domainHands() map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{}
	for path, do := range map[tree.Path]func(h *owner) error{
		"": func(h *owner) error {
			_, err := h.others.DeleteDomainName(h.ctx, &sdk.DeleteDomainNameInput{DomainName: h.name})
			return err
		},
		"certificateArn": (*owner).configure, "ownershipVerificationCertificateArn": (*owner).configure,
		"securityPolicy": (*owner).configure, "ipAddressType": (*owner).configure,
		"routingMode": func(h *owner) error {
			mode := types.RoutingModeApiMappingOnly
			if h.want.RoutingMode != nil {
				mode = types.RoutingMode(*h.want.RoutingMode)
			}
			_, err := h.others.UpdateDomainName(h.ctx, &sdk.UpdateDomainNameInput{DomainName: h.name, RoutingMode: mode})
			return err
		},
		"mutualTls": func(h *owner) error {
			trust := &types.MutualTlsAuthenticationInput{TruststoreUri: new("")}
			if m := h.want.MutualTLS; m != nil {
				trust = &types.MutualTlsAuthenticationInput{TruststoreUri: &m.TruststoreURI, TruststoreVersion: &m.TruststoreVersion}
			}
			_, err := h.others.UpdateDomainName(h.ctx, &sdk.UpdateDomainNameInput{DomainName: h.name, MutualTlsAuthentication: trust})
			return err
		},
		"tags": (*owner).retag,
	} {
		hands[path] = func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			name, _ := to.Attrs["name"].(string)
			h := &owner{world: ws[w.Dir], ctx: context.Background(), name: &name}
			if err := props.Decode(to.Props, &h.want); err != nil && path != "" {
				t.Fatalf("%v", err)
			}
			if err := do(h); err != nil {
				t.Fatalf("change %q: %v", path, err)
			}
		}
	}
	return hands
}

func (h *owner) configure() error {
	c := types.DomainNameConfiguration{EndpointType: types.EndpointTypeRegional, CertificateArn: new(string(h.want.CertificateARN))}
	if other := string(h.want.OwnershipVerificationCertificateARN); other != "" {
		c.OwnershipVerificationCertificateArn = &other
	}
	if h.want.SecurityPolicy != nil {
		c.SecurityPolicy = types.SecurityPolicy(*h.want.SecurityPolicy)
	}
	if h.want.IPAddressType != nil {
		c.IpAddressType = types.IpAddressType(*h.want.IPAddressType)
	}
	_, err := h.others.UpdateDomainName(h.ctx, &sdk.UpdateDomainNameInput{
		DomainName: h.name, DomainNameConfigurations: []types.DomainNameConfiguration{c},
	})
	return err
}

// retag makes the tags those that are wanted, and leaves the marks alone.
func (h *owner) retag() error {
	out, err := h.others.GetDomainName(h.ctx, &sdk.GetDomainNameInput{DomainName: h.name})
	if err != nil {
		return err
	}
	arn := "arn:aws:apigateway:us-east-1::/domainnames/" + *h.name
	var drop []string
	for k := range out.Tags {
		if _, wanted := h.want.Tags[k]; !wanted && !adopt.IsMark(k) {
			drop = append(drop, k)
		}
	}
	if len(drop) > 0 {
		if _, err := h.others.UntagResource(h.ctx, &sdk.UntagResourceInput{ResourceArn: &arn, TagKeys: drop}); err != nil {
			return err
		}
	}
	_, err = h.others.TagResource(h.ctx, &sdk.TagResourceInput{ResourceArn: &arn, Tags: h.want.Tags})
	return err
}
