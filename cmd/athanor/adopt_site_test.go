//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// madeSite is a static site that botocore has made.
type madeSite struct {
	t      *testing.T
	python string
	env    []string

	Zone, Certificate, Control, Distribution, ARN, Domain, Policy, Bucket string
}

// boto runs the program that makes the site and edits it.
func (s *madeSite) boto(args ...string) []byte {
	s.t.Helper()
	cmd := limited(s.t, s.python, append([]string{"testdata/site/site.py"}, args...)...)
	cmd.Env = s.env
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if failed, ok := err.(*exec.ExitError); ok {
			said = string(failed.Stderr)
		}
		s.t.Fatalf("%v: %v\n%s", args, err, said)
	}
	return out
}

func makeSite(t *testing.T, server *awstest.Server) *madeSite {
	t.Helper()
	root, ok := proctest.ModuleRoot()
	if !ok {
		t.Fatal("the root of the module is not found")
	}
	s := &madeSite{t: t, python: filepath.Join(root, ".cache", "s3", "python", "bin", "python"), env: server.Environ()} // that of the emulator
	s.env = slices.DeleteFunc(s.env, func(entry string) bool { return strings.HasPrefix(entry, "AWS_") && strings.HasSuffix(entry, "=") })
	if err := json.Unmarshal(s.boto("make", server.Name("site")), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// state is what the provider has of the site. No provider wrote it: the attributes are those in the documentation of hashicorp/aws 5, and of the
// states of real providers in $ATHANOR_TFSTATES that have these types.
func (s *madeSite) state() string {
	const region = "us-east-1"
	team := attributes{"team": "a"}
	origin := attributes{
		"origin_id": "site", "domain_name": s.Bucket + ".s3." + region + ".amazonaws.com", "origin_path": "", "origin_access_control_id": s.Control, "connection_attempts": 3,
		"connection_timeout": 10, "custom_header": []any{}, "custom_origin_config": []any{}, "s3_origin_config": []any{}, "origin_shield": []any{}, "vpc_origin_config": []any{},
	}
	behavior := attributes{
		"target_origin_id": "site", "viewer_protocol_policy": "redirect-to-https", "allowed_methods": []any{"GET", "HEAD"}, "cached_methods": []any{"GET", "HEAD"}, "compress": true,
		"cache_policy_id": "658327ea-f89d-4fab-a63d-7e88639e58f6", "origin_request_policy_id": "", "response_headers_policy_id": "", "min_ttl": 0, "max_ttl": 0, "default_ttl": 0,
		"forwarded_values": []any{}, "function_association": []any{}, "lambda_function_association": []any{}, "grpc_config": []any{attributes{"enabled": false}},
		"field_level_encryption_id": "", "realtime_log_config_arn": "", "smooth_streaming": false, "trusted_key_groups": []any{}, "trusted_signers": []any{},
	}
	record := func(name, typ string, more attributes) attributes {
		all := attributes{"id": s.Zone + "_" + name + "_" + typ, "zone_id": s.Zone, "name": name, "fqdn": name, "type": typ, "set_identifier": "", "health_check_id": "", "allow_overwrite": nil, "alias": []any{}, "records": nil, "ttl": 0}
		maps.Copy(all, more)
		return all
	}
	return stateFile(s.t,
		stateResource("", "aws_s3_bucket.site", attributes{
			"id": s.Bucket, "bucket": s.Bucket, "arn": "arn:aws:s3:::" + s.Bucket, "region": region, "bucket_domain_name": s.Bucket + ".s3.amazonaws.com",
			"bucket_regional_domain_name": s.Bucket + ".s3." + region + ".amazonaws.com", "force_destroy": false, "policy": s.Policy, "request_payer": "BucketOwner",
			"versioning": []any{attributes{"enabled": true, "mfa_delete": false}}, "tags": team, "tags_all": team,
		}),
		stateResource("", "aws_s3_bucket_versioning.site", attributes{"id": s.Bucket, "bucket": s.Bucket, "versioning_configuration": []any{attributes{"status": "Enabled", "mfa_delete": ""}}}, "aws_s3_bucket.site"),
		stateResource("", "aws_s3_bucket_public_access_block.site", attributes{
			"id": s.Bucket, "bucket": s.Bucket, "block_public_acls": true, "ignore_public_acls": true, "block_public_policy": true, "restrict_public_buckets": true,
		}, "aws_s3_bucket.site"),
		stateResource("", "aws_s3_bucket_policy.site", attributes{"id": s.Bucket, "bucket": s.Bucket, "policy": s.Policy}, "aws_cloudfront_distribution.cdn", "aws_s3_bucket.site"),
		stateResource("", "aws_s3_object.index", attributes{
			"id": "index.html", "bucket": s.Bucket, "key": "index.html", "source": "index.html", "content_type": "text/html", "cache_control": "max-age=60", "storage_class": "STANDARD",
			"etag": "x", "force_destroy": false, "acl": nil,
		}, "aws_s3_bucket.site"),
		stateResource("", "aws_route53_zone.zone", attributes{"id": s.Zone, "zone_id": s.Zone, "arn": "arn:aws:route53:::hostedzone/" + s.Zone, "name": "shop.example", "comment": "the shop", "force_destroy": false, "vpc": []any{}, "name_servers": []any{"ns1.example", "ns2.example"}}),
		stateResource("", "aws_acm_certificate.cert", attributes{
			"id": s.Certificate, "arn": s.Certificate, "domain_name": "shop.example", "subject_alternative_names": []any{"shop.example", "www.shop.example"}, "validation_method": "DNS",
			"key_algorithm": "RSA_2048", "type": "AMAZON_ISSUED", "status": "ISSUED", "certificate_authority_arn": "", "domain_validation_options": []any{attributes{"domain_name": "shop.example"}},
			"options": []any{attributes{"certificate_transparency_logging_preference": "ENABLED"}}, "tags": team, "tags_all": team,
		}),
		stateResource("", "aws_acm_certificate_validation.cert", attributes{"id": "2026-01-01 00:00:00 +0000 UTC", "certificate_arn": s.Certificate, "validation_record_fqdns": []any{"_proof.shop.example"}}, "aws_acm_certificate.cert", "aws_route53_record.proof"),
		stateResource("", "aws_cloudfront_origin_access_control.control", attributes{
			"id": s.Control, "name": s.Bucket, "description": "reads the site", "origin_access_control_origin_type": "s3", "signing_behavior": "always", "signing_protocol": "sigv4", "etag": "E1",
		}),
		stateResource("", "aws_cloudfront_distribution.cdn", attributes{
			"id": s.Distribution, "arn": s.ARN, "domain_name": s.Domain, "hosted_zone_id": "Z2FDTNDATAQYW2", "enabled": true, "is_ipv6_enabled": true, "comment": "the site",
			"aliases": []any{"shop.example", "www.shop.example"}, "default_root_object": "index.html", "price_class": "PriceClass_100", "http_version": "http2and3", "caller_reference": "x",
			"etag": "E1", "status": "Deployed", "wait_for_deployment": true, "retain_on_delete": false, "staging": false, "web_acl_id": "", "logging_config": []any{}, "origin_group": []any{},
			"restrictions":       []any{attributes{"geo_restriction": []any{attributes{"locations": []any{}, "restriction_type": "none"}}}},
			"viewer_certificate": []any{attributes{"acm_certificate_arn": s.Certificate, "cloudfront_default_certificate": false, "iam_certificate_id": "", "minimum_protocol_version": "TLSv1.2_2021", "ssl_support_method": "sni-only"}},
			"origin":             []any{origin}, "default_cache_behavior": []any{behavior}, "ordered_cache_behavior": []any{},
			"custom_error_response": []any{attributes{"error_code": 404, "response_code": 200, "response_page_path": "/index.html", "error_caching_min_ttl": 30}},
			"tags":                  team, "tags_all": team,
		}, "aws_acm_certificate.cert", "aws_cloudfront_origin_access_control.control", "aws_s3_bucket.site"),
		stateResource("", "aws_route53_record.www", record("shop.example", "A", attributes{"alias": []any{attributes{"name": s.Domain, "zone_id": "Z2FDTNDATAQYW2", "evaluate_target_health": false}}}), "aws_cloudfront_distribution.cdn", "aws_route53_zone.zone"),
		sensitive("ttl", stateResource("", "aws_route53_record.proof", record("_proof.shop.example", "CNAME", attributes{"records": []any{"_x.acm-validations.aws."}, "ttl": 60}), "aws_acm_certificate.cert", "aws_route53_zone.zone")),
	)
}

// sensitive is a resource of a state of which an attribute is sensitive.
func sensitive(attr string, r attributes) attributes {
	for _, i := range r["instances"].([]any) {
		i.(attributes)["sensitive_attributes"] = []any{[]any{attributes{"type": "get_attr", "value": attr}}}
	}
	return r
}

// TestAdoptSite takes over a static site behind a CDN that botocore has made: a bucket, its object, a distribution, a certificate and the records.
// Each prop that botocore changes is drift.
func TestAdoptSite(t *testing.T) {
	t.Parallel()
	server := awstest.StartMinistack(t)
	made := makeSite(t, server)
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	w.write("index.html", "<h1>shop</h1>\n")
	w.write("shop.tfstate", made.state())
	p := &adoptedProject{world: w, mapped: 7, folded: 3, looked: 1, ignored: 1, mutations: func() int { return len(server.Mutations()) }, tagged: []string{`tags["athanor:`}}
	p.take()
	for _, want := range []string{
		"AWS:SourceArn: ${cdn.arn}", "certificate: ${cert.arn}", "accessControl: ${control.id}", "domain: " + made.Bucket + ".s3.us-east-1.amazonaws.com", "dnsName: ${cdn.domainName}", "hostedZoneId: ${cdn.hostedZoneId}",
		"bucket: ${site.name}", "hostedZoneId: ${zone.id}", "source: index.html", "ignoreChanges:\n        - ttl\n",
	} {
		if !strings.Contains(p.yaml, want) {
			t.Errorf("there is no %s in\n%s", want, p.yaml)
		}
	}
	if strings.Contains(p.yaml, "ttl:") || strings.Contains(p.yaml, "1m") {
		t.Errorf("a number that is sensitive stands in the stack:\n%s", p.yaml)
	}
	made.drifts(p)
	w.run(0, "destroy", "--yes", "--allow-delete", "*")
	if left, err := s3.NewFromConfig(server.Config(t)).ListBuckets(t.Context(), &s3.ListBucketsInput{}); err != nil || len(left.Buckets) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// neverEdited are props that identify an object, or that nothing but a replacement changes.
var neverEdited = []string{"site name", "index bucket", "index key", "zone name", "cert domain", "cert alternativeNames", "www hostedZoneId", "www name", "www type", "proof hostedZoneId", "proof name", "proof type"}

// drifts lets botocore change each prop that is declared, and wants each to be drift.
func (s *madeSite) drifts(p *adoptedProject) {
	t := p.t
	t.Helper()
	text, err := json.Marshal(map[string]string{"zone": s.Zone, "certificate": s.Certificate, "control": s.Control, "distribution": s.Distribution, "arn": s.ARN, "policy": s.Policy, "bucket": s.Bucket})
	if err != nil {
		t.Fatal(err)
	}
	var edits []string
	if err := json.Unmarshal(s.boto("edit", string(text)), &edits); err != nil {
		t.Fatal(err)
	}
	edited := map[string]bool{}
	found := p.planned(2)
	for _, edit := range edits {
		address, props, _ := strings.Cut(edit, " ")
		for prop := range strings.SplitSeq(props, ",") {
			edited[address+" "+prop] = true
			if !shows(found[address], prop) {
				t.Errorf("%s %s is no drift: %v", address, prop, found[address])
			}
		}
	}
	for address, props := range p.props() {
		for prop := range props {
			if at := address + " " + prop; edited[at] == slices.Contains(neverEdited, at) {
				t.Errorf("%s: it is edited, %t, or it is said never to be", at, edited[at])
			}
		}
	}
}
