package cloudfront

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const (
	certOne = "arn:aws:acm:us-east-1:111122223333:certificate/11111111-1111-1111-1111-111111111111"
	certTwo = "arn:aws:acm:us-east-1:111122223333:certificate/22222222-2222-2222-2222-222222222222"
	rewrite = "arn:aws:cloudfront::111122223333:function/rewrite"
	headers = "arn:aws:cloudfront::111122223333:function/headers"
	policy  = "33333333-3333-3333-3333-333333333333"
	bucket  = "site.s3.us-east-1.amazonaws.com"
)

func base() obj {
	return obj{
		"origins": obj{"site": obj{"domain": bucket, "s3": true, "accessControl": "E1CONTROL"}}, "default": obj{"origin": "site"},
		"tags": obj{"team": "shop"},
	}
}

func tuned() obj {
	return obj{
		"comment": "shop & more", "disabled": true, "aliases": list{"shop.example", "www.shop.example"}, "certificate": certOne, "minimumTls": "TLSv1.2_2019",
		"defaultRootObject": "index.html", "priceClass": "PriceClass_100", "httpVersion": "http2and3", "ipv6": false,
		"origins": obj{
			"site": obj{"domain": bucket, "s3": true, "accessControl": "E2CONTROL", "path": "/live"},
			"api": obj{
				"domain": "api.shop.example", "path": "/v1", "protocol": "match-viewer", "httpPort": int64(8080), "httpsPort": int64(8443), "readTimeout": "60s",
				"accessControl": "E3CONTROL",
			},
		},
		"default": obj{
			"origin": "site", "viewers": "https-only", "methods": "options", "compress": false, "cachePolicy": "CachingDisabled",
			"originRequestPolicy": "CORS-S3Origin", "responseHeadersPolicy": "SecurityHeadersPolicy", "viewerRequest": rewrite, "viewerResponse": headers,
		},
		"behaviors": list{
			obj{
				"path": "/api/*", "origin": "api", "viewers": "allow-all", "methods": "all", "compress": false, "cachePolicy": policy,
				"originRequestPolicy": "AllViewerExceptHostHeader", "responseHeadersPolicy": policy, "viewerRequest": rewrite, "viewerResponse": headers,
			},
			obj{"path": "/img/*", "origin": "site"},
		},
		"errors": list{
			obj{"code": int64(403), "page": "/index.html", "status": int64(200), "cacheFor": "0s"},
			obj{"code": int64(500), "page": "/500.html"},
			obj{"code": int64(404), "cacheFor": "1m"},
		},
		"invalidate": obj{"paths": list{"/index.html"}, "when": list{"one", "two"}},
		"tags":       obj{"team": "web", "cost center": "42"},
	}
}

func TestDistribution(t *testing.T) {
	ws := awstest.Worlds[*world]{}
	aliased := base()
	aliased["certificate"], aliased["aliases"] = certTwo, list{"other.example"}
	kindtest.Run(t, kindtest.Derive(distributionTable, kindtest.Suite{
		Kind:  distributionKind.Erase(),
		World: ws.Make(newWorld, (*world).distributions),
		Base:  aliased,
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "bare", Props: base()},
			{Name: "served", Props: obj{
				"origins": obj{"api": obj{"domain": "api.shop.example", "protocol": "http-only"}}, "default": obj{"origin": "api", "cachePolicy": "UseOriginCacheControlHeaders"},
			}},
			{Name: "by paths", Props: tree.With(aliased, "behaviors", list{obj{"path": "/img/*", "origin": "site", "compress": false}}).(obj)},
		},
		Hands: hands(ws),
		Others: map[tree.Path][]any{
			"certificate": {certOne}, "origins.*.domain": {"other.example"}, "default.origin": {"site"}, "default.cachePolicy": {"Amplify"},
			"default.originRequestPolicy": {"AllViewer"}, "default.responseHeadersPolicy": {"SimpleCORS"}, "behaviors.*.origin": {"site"},
			"behaviors.*.cachePolicy": {"Amplify"}, "behaviors.*.originRequestPolicy": {"AllViewer"}, "behaviors.*.responseHeadersPolicy": {"SimpleCORS"},
		},
		Ordered: map[tree.Path]string{
			"behaviors":  "the first one whose path matches counts",
			"invalidate": "it is nothing of the distribution: what is declared is compared with what was declared last",
		},
		Silent: map[tree.Path]string{"invalidate.paths": "it counts when content is removed"},
		Steady: map[tree.Path]string{
			"default.path": "the default behavior is for all paths", "invalidate.paths": "it is nothing of the distribution",
			"invalidate.when": "nobody else knows what content is made of; what is kept of it can be lost: TestInvalidated",
		},
	}))
}

// TestFaults breaks each call of a creation: there is one distribution in the end.
func TestFaults(t *testing.T) {
	awstest.Faults(t, newWorld, kindtest.Quick(distributionKind, 300*time.Millisecond), base(), (*world).distributions, awstest.Broken{
		{Name: "the creation is not answered", Fault: awstest.Fault{Op: "CloudFront.CreateDistributionWithTags", Kind: awstest.DropAnswer}, Wrote: 1},
		{Name: "the creation fails", Fault: awstest.Fault{Op: "CloudFront.CreateDistributionWithTags", Kind: awstest.ServerError}, Wrote: 2},
		{Name: "a read is late", Fault: awstest.Fault{Op: "CloudFront.GetDistribution", Kind: awstest.ServerError}, Wrote: 1},
		{Name: "tags are throttled", Fault: awstest.Fault{Op: "CloudFront.ListTagsForResource", Kind: awstest.Throttle}, Wrote: 1},
	})
}

func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, base(), "CloudFront.CreateDistributionWithTags", "CloudFront.GetDistribution", "CloudFront.ListTagsForResource")
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newWorld, base(), "arn:aws:cloudfront::999988887777:distribution/E1ELSEWHERE", func(id string) []string {
		return []string{id}
	})
}

func TestDiscovered(t *testing.T) {
	awstest.Discovered(t, newWorld, Service(), base(), "")
}

// TestDeployed waits until all edge locations have a configuration, and disables a distribution before it is deleted, which CloudFront
// takes when all of them know.
func TestDeployed(t *testing.T) {
	w := newWorld(t)
	w.like.late = 3
	job := w.Job(t, w.Kind, base(), nil)
	early := map[string]any{}
	hooks := reconcile.Hooks{Born: func(_ context.Context, _ string, attrs map[string]any) error {
		maps.Copy(early, attrs)
		return nil
	}}
	out, err := w.Kind.Settle(t.Context(), job, hooks)
	if err != nil {
		t.Fatal(err)
	}
	if early["arn"] == "" || early["id"] != out.Identity {
		t.Errorf("early %v", early)
	}
	if w.like.isLate(out.Identity) {
		t.Error("it is in progress still")
	}
	w.Server.Reset()
	if err := w.Kind.Delete(t.Context(), w.Job(t, w.Kind, nil, &out)); err != nil {
		t.Fatal(err)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"CloudFront.UpdateDistribution", "CloudFront.DeleteDistribution"}) {
		t.Errorf("wrote %v", have)
	}
	if have := w.distributions(t); len(have) != 0 {
		t.Errorf("left %v", have)
	}
}

// TestInterruptedDeletion goes on where a deletion was cut after the distribution was disabled.
func TestInterruptedDeletion(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, base(), nil)
	armed := w.Server.Inject(awstest.Fault{Op: "CloudFront.DeleteDistribution", Kind: awstest.Deny})
	if err := w.Kind.Delete(t.Context(), w.Job(t, w.Kind, nil, &out)); err == nil || armed.Fired() == 0 {
		t.Fatalf("%v", err)
	}
	w.Server.Reset()
	if err := w.Kind.Delete(t.Context(), w.Job(t, w.Kind, nil, &out)); err != nil {
		t.Fatal(err)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"CloudFront.DeleteDistribution"}) {
		t.Errorf("wrote %v", have)
	}
}

// TestInvalidated removes content once for each change of what it is made of, back to what it was too, and for nothing else.
func TestInvalidated(t *testing.T) {
	w := newWorld(t)
	with := func(paths list, when ...any) obj {
		p := base()
		p["invalidate"] = obj{"when": list(when)}
		if paths != nil {
			p["invalidate"].(obj)["paths"] = paths
		}
		return p
	}
	out := w.Settled(t, with(nil, "a", "b"), nil)
	if have := w.invalidations(t, out.Identity); have != nil {
		t.Errorf("a new distribution has nothing in its caches: %v", have)
	}
	w.like.late = 2
	for i, step := range []struct {
		props obj
		all   []string
	}{
		{with(nil, "a", "b"), nil},
		{with(list{"/index.html", "/app/*"}, "a", "b"), nil},
		{with(list{"/index.html", "/app/*"}, "c"), []string{"/index.html /app/*"}},
		{with(nil, "a", "b"), []string{"/index.html /app/*", "/*"}},
		{with(nil, "c"), []string{"/index.html /app/*", "/*", "/*"}},
		{with(nil, "c"), []string{"/index.html /app/*", "/*", "/*"}},
		{base(), []string{"/index.html /app/*", "/*", "/*"}},
	} {
		out = w.Settled(t, step.props, &out)
		if have := w.invalidations(t, out.Identity); !slices.Equal(have, step.all) {
			t.Errorf("step %d: %v, want %v", i, have, step.all)
		}
	}
	// What is kept of the last removal is lost: it is seen, and content is removed again.
	err := changeTags(t.Context(), w.Others, aws.ARN(out.Attrs["arn"].(string)), "Untag", tagKeys{Namespace: namespace, Items: []string{tagInvalidated}})
	if err != nil {
		t.Fatal(err)
	}
	job := w.Job(t, w.Kind, with(list{"/lost"}, "c"), &out)
	look, err := w.Kind.Look(t.Context(), job)
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != "invalidate.when" {
		t.Fatalf("%+v, %v", look, err)
	}
	w.Settled(t, with(list{"/lost"}, "c"), &out)
	if have := w.invalidations(t, out.Identity); len(have) != 4 || have[3] != "/lost" {
		t.Errorf("%v", have)
	}
}

// TestInvalidationIsMadeOnce is cut between the removal and what is kept of it: the removal is not made a second time.
func TestInvalidationIsMadeOnce(t *testing.T) {
	w := newWorld(t)
	p := base()
	p["invalidate"] = obj{"when": list{"a"}}
	out := w.Settled(t, p, nil)
	p["invalidate"] = obj{"when": list{"b"}}
	w.Server.Inject(awstest.Fault{Op: "CloudFront.TagResource", Kind: awstest.Deny})
	if _, err := w.Kind.Settle(t.Context(), w.Job(t, w.Kind, p, &out), reconcile.Hooks{}); err == nil {
		t.Fatal("the fault never came")
	}
	w.Settled(t, p, &out)
	if have := w.invalidations(t, out.Identity); !slices.Equal(have, []string{"/*"}) {
		t.Errorf("%v", have)
	}
}

// TestRestStays keeps what is not managed, at every level, since an update sets the whole.
func TestRestStays(t *testing.T) {
	w := newWorld(t)
	declared := tuned()
	out := w.Settled(t, declared, nil)
	text := `<Logging><Enabled>true</Enabled><Bucket>logs.s3.amazonaws.com</Bucket></Logging>`
	err := w.edit(t, out.Identity, func(c *config) {
		c.Rest = append(c.Rest, element{XMLName: plainName("Logging"), Inner: strings.TrimSuffix(strings.TrimPrefix(text, "<Logging>"), "</Logging>")})
		for i := range c.Origins.Items {
			c.Origins.Items[i].Rest = append(c.Origins.Items[i].Rest, element{XMLName: plainName("ConnectionAttempts"), Inner: "2"})
		}
		c.Behaviors.Items[0].Rest = append(c.Behaviors.Items[0].Rest, element{XMLName: plainName("SmoothStreaming"), Inner: "true"})
		// Settings from before there were policies exclude one, and are replaced.
		c.DefaultBehavior.CachePolicyID = ""
		c.DefaultBehavior.Rest = append(c.DefaultBehavior.Rest, element{XMLName: plainName("ForwardedValues"), Inner: "<QueryString>true</QueryString>"},
			element{XMLName: plainName("MinTTL"), Inner: "0"})
	})
	if err != nil {
		t.Fatal(err)
	}
	declared["comment"] = "another"
	out = w.Settled(t, declared, &out)
	body := w.sent(t, "UpdateDistribution")
	for part, n := range map[string]int{
		text: 1, "<ConnectionAttempts>2</ConnectionAttempts>": 2, "<SmoothStreaming>true</SmoothStreaming>": 1, "ForwardedValues": 0, "<MinTTL>": 0, "<Comment>another</Comment>": 1,
	} {
		if have := strings.Count(body, part); have != n {
			t.Errorf("%s is there %d times, want %d: %s", part, have, n, body)
		}
	}
	awstest.ConformXML(t, "cloudfront", "UpdateDistribution", body)
}

// TestConforms holds the bodies of all calls to the service's own description.
func TestConforms(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, base(), nil)
	awstest.ConformXML(t, "cloudfront", "CreateDistributionWithTags", w.sent(t, "CreateDistributionWithTags"))
	declared := tuned()
	out = w.Settled(t, declared, &out)
	declared["invalidate"], declared["tags"] = obj{"when": list{"new"}}, obj{"team": "web"}
	w.Settled(t, declared, &out)
	for _, operation := range []string{"UpdateDistribution", "TagResource", "UntagResource", "CreateInvalidation"} {
		awstest.ConformXML(t, "cloudfront", operation, w.sent(t, operation))
	}
}

// TestGolden has the members of https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_DistributionConfig.html as that page has
// them: lists have their count, names of policies are identities, times count seconds.
func TestGolden(t *testing.T) {
	w := newWorld(t)
	w.Settled(t, tuned(), nil)
	body := w.sent(t, "CreateDistributionWithTags")
	for _, part := range []string{
		`<DistributionConfigWithTags xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"><DistributionConfig><CallerReference>athanor-`,
		`<Aliases><Quantity>2</Quantity><Items><CNAME>shop.example</CNAME><CNAME>www.shop.example</CNAME></Items></Aliases>`,
		`<DefaultRootObject>index.html</DefaultRootObject>`,
		`<Origins><Quantity>2</Quantity><Items><Origin><Id>api</Id><DomainName>api.shop.example</DomainName><OriginPath>/v1</OriginPath><CustomOriginConfig>` +
			`<HTTPPort>8080</HTTPPort><HTTPSPort>8443</HTTPSPort><OriginProtocolPolicy>match-viewer</OriginProtocolPolicy><OriginSslProtocols><Quantity>1</Quantity><Items>` +
			`<SslProtocol>TLSv1.2</SslProtocol></Items></OriginSslProtocols><OriginReadTimeout>60</OriginReadTimeout></CustomOriginConfig>` +
			`<OriginAccessControlId>E3CONTROL</OriginAccessControlId></Origin>`,
		`<Origin><Id>site</Id><DomainName>` + bucket + `</DomainName><OriginPath>/live</OriginPath><S3OriginConfig><OriginAccessIdentity></OriginAccessIdentity></S3OriginConfig>` +
			`<OriginAccessControlId>E2CONTROL</OriginAccessControlId></Origin></Items></Origins>`,
		`<DefaultCacheBehavior><TargetOriginId>site</TargetOriginId><ViewerProtocolPolicy>https-only</ViewerProtocolPolicy><AllowedMethods><Quantity>3</Quantity><Items>` +
			`<Method>GET</Method><Method>HEAD</Method><Method>OPTIONS</Method></Items><CachedMethods><Quantity>2</Quantity><Items><Method>GET</Method><Method>HEAD</Method></Items>` +
			`</CachedMethods></AllowedMethods><Compress>false</Compress><FunctionAssociations><Quantity>2</Quantity><Items><FunctionAssociation><FunctionARN>` + rewrite +
			`</FunctionARN><EventType>viewer-request</EventType></FunctionAssociation><FunctionAssociation><FunctionARN>` + headers +
			`</FunctionARN><EventType>viewer-response</EventType></FunctionAssociation></Items></FunctionAssociations>` +
			`<CachePolicyId>4135ea2d-6df8-44a3-9df3-4b5a84be39ad</CachePolicyId><OriginRequestPolicyId>88a5eaf4-2fd4-4709-b370-b4c650ea3fcf</OriginRequestPolicyId>` +
			`<ResponseHeadersPolicyId>67f7725c-6f97-4210-82d7-5512b31e9d03</ResponseHeadersPolicyId></DefaultCacheBehavior>`,
		`<CacheBehaviors><Quantity>2</Quantity><Items><CacheBehavior><PathPattern>/api/*</PathPattern><TargetOriginId>api</TargetOriginId>` +
			`<ViewerProtocolPolicy>allow-all</ViewerProtocolPolicy><AllowedMethods><Quantity>7</Quantity>`,
		`<CustomErrorResponses><Quantity>3</Quantity><Items><CustomErrorResponse><ErrorCode>403</ErrorCode><ResponsePagePath>/index.html</ResponsePagePath>` +
			`<ResponseCode>200</ResponseCode><ErrorCachingMinTTL>0</ErrorCachingMinTTL></CustomErrorResponse><CustomErrorResponse><ErrorCode>500</ErrorCode>` +
			`<ResponsePagePath>/500.html</ResponsePagePath><ResponseCode>500</ResponseCode><ErrorCachingMinTTL>10</ErrorCachingMinTTL></CustomErrorResponse>` +
			`<CustomErrorResponse><ErrorCode>404</ErrorCode><ResponsePagePath></ResponsePagePath><ResponseCode></ResponseCode><ErrorCachingMinTTL>60</ErrorCachingMinTTL>`,
		`<Comment>shop &amp; more</Comment><PriceClass>PriceClass_100</PriceClass><Enabled>false</Enabled><ViewerCertificate><ACMCertificateArn>` + certOne +
			`</ACMCertificateArn><SSLSupportMethod>sni-only</SSLSupportMethod><MinimumProtocolVersion>TLSv1.2_2019</MinimumProtocolVersion></ViewerCertificate>` +
			`<HttpVersion>http2and3</HttpVersion><IsIPV6Enabled>false</IsIPV6Enabled></DistributionConfig><Tags><Items><Tag><Key>`,
	} {
		if !strings.Contains(body, part) {
			t.Errorf("%s is not in %s", part, body)
		}
	}
}

// TestPolicies compares the names of AWS's policies with what an emulator of other people's has for their identities.
func TestPolicies(t *testing.T) {
	w := newWorld(t)
	for path, names := range map[string]map[string]string{
		"cache-policy": cachePolicies(), "origin-request-policy": originRequestPolicies(), "response-headers-policy": responseHeadersPolicies(),
	} {
		for name, id := range names {
			var out struct {
				Cache    string `xml:"CachePolicyConfig>Name"`
				Request  string `xml:"OriginRequestPolicyConfig>Name"`
				Response string `xml:"ResponseHeadersPolicyConfig>Name"`
			}
			_, err := call(t.Context(), w.Others, aws.XMLCall{Operation: "GetPolicy", Method: http.MethodGet, Path: version + path + "/" + id, Out: &out})
			if have := out.Cache + out.Request + out.Response; err != nil || have != "Managed-"+name {
				t.Errorf("%s %s: %q, %v", path, name, have, err)
			}
		}
	}
}

// TestPolicyByIdentity declares policies of AWS by their identities, which are the same ones as by their names.
func TestPolicyByIdentity(t *testing.T) {
	w := newWorld(t)
	declared := base()
	declared["default"] = obj{"origin": "site", "cachePolicy": cachePolicies()["CachingDisabled"], "originRequestPolicy": originRequestPolicies()["AllViewer"]}
	declared["behaviors"] = list{obj{"path": "/img/*", "origin": "site", "responseHeadersPolicy": responseHeadersPolicies()["SimpleCORS"]}}
	out := w.Settled(t, declared, nil)
	before := w.Wrote()
	w.Settled(t, declared, &out)
	if after := w.Wrote(); len(after) != len(before) {
		t.Errorf("it is updated without a difference: %v", after[len(before):])
	}
}

// TestOneAfterTheOther is a replacement that finds the one that it replaces by its tags, and does not take it for itself.
func TestOneAfterTheOther(t *testing.T) {
	w := newWorld(t)
	first := w.Settled(t, base(), nil)
	next := w.Job(t, w.Kind, base(), nil)
	next.Mark.Generation, next.Nonce = next.Mark.Generation+1, "second"
	second, err := w.Kind.Settle(t.Context(), next, reconcile.Hooks{})
	if err != nil || second.Identity == first.Identity || len(w.distributions(t)) != 2 {
		t.Fatalf("%v, %v", second, err)
	}
}

// TestTwice refuses two distributions of one generation.
func TestTwice(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, base(), nil)
	d, _ := w.get(t, out.Identity)
	d.Config.CallerReference, d.Config.Rest = "other", d.Config.Rest.plain()
	body := creation{Namespace: namespace, Config: d.Config, Tags: tagList(w.tags(t, out.Identity))}
	_, err := call(t.Context(), w.Others, aws.XMLCall{
		Operation: "CreateDistributionWithTags", Method: http.MethodPost, Path: version + "distribution", Query: withTags(), In: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, base(), nil)); !errors.Is(err, reconcile.ErrAmbiguous) {
		t.Errorf("%v", err)
	}
}

// TestRefused finds what CloudFront would refuse, before any call.
func TestRefused(t *testing.T) {
	with := func(path tree.Path, value any) obj { return tree.With(base(), path, value).(obj) }
	kindtest.Refuses(t, distributionKind.Erase(), kindtest.Refusals{
		{base(), ""},
		{tuned(), ""},
		{with("aliases", list{"shop.example"}), "need a certificate"},
		{with("certificate", "arn:aws:acm:eu-west-1:111122223333:certificate/1"), "us-east-1"},
		{with("defaultRootObject", "/index.html"), "without /"},
		{with("default.origin", "other"), "no origin has this name"},
		{with("default.path", "/x"), "for all paths"},
		{with("default.cachePolicy", "CachingSometimes"), "CachingOptimized"},
		{with("behaviors", list{obj{"origin": "site"}}), "the pattern"},
		{with("behaviors", list{obj{"path": "/a", "origin": "site"}, obj{"path": "/a", "origin": "site"}}), "the same paths"},
		{with("errors", list{obj{"code": int64(418)}}), "want 400"},
		{with("errors", list{obj{"code": int64(404), "status": int64(200)}}), "a page alone"},
		{with("errors", list{obj{"code": int64(404)}, obj{"code": int64(404)}}), "answered twice"},
		{with("origins.site.domain", "https://shop.example"), "without protocol"},
		{with("origins.site.path", "live/"), "want / at"},
		{with("invalidate", obj{"when": list{"a"}, "paths": list{"index.html"}}), "want / at"},
	})
}

func plainName(name string) xml.Name { return xml.Name{Local: name} }

// TestStatusIsRead: what a distribution is configured with is read as it was declared, a status that is the error's own too.
func TestStatusIsRead(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 200, 404} {
		want := distributionKind.WithDefaults(DistributionProps{
			Origins: map[string]Origin{"shop": {Domain: "shop.example"}}, Default: Behavior{Origin: "shop"},
			Errors: []ErrorResponse{{Code: 404, Page: "/404.html", Status: status}},
		})
		var c config
		c.set(want)
		have := c.props()
		if !reflect.DeepEqual(have.Errors, want.Errors) || c.Errors.Items[0].ResponseCode != strconv.Itoa(cmp.Or(status, 404)) {
			t.Errorf("status %d: declared %+v, configured %+v, read %+v", status, want.Errors, c.Errors.Items, have.Errors)
		}
	}
}
