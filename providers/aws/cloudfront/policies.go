package cloudfront

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// cachePolicies are those of AWS, by their names without "Managed-" before them:
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/using-managed-cache-policies.html
func cachePolicies() map[string]string {
	return map[string]string{
		"Amplify":                                   "2e54312d-136d-493c-8eb9-b001f22f67d2",
		"CachingDisabled":                           "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
		"CachingOptimized":                          "658327ea-f89d-4fab-a63d-7e88639e58f6",
		"CachingOptimizedForUncompressedObjects":    "b2884449-e4de-46a7-ac36-70bc7f1ddd6d",
		"Elemental-MediaPackage":                    "08627262-05a9-4f76-9ded-b50ca2e3a84f",
		"UseOriginCacheControlHeaders":              "83da9c7e-98b4-4e11-a168-04f0df8e2c65",
		"UseOriginCacheControlHeaders-QueryStrings": "4cc15a8a-d715-48a4-82b8-cc0b614638fe",
	}
}

// originRequestPolicies are those of AWS:
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/using-managed-origin-request-policies.html
func originRequestPolicies() map[string]string {
	return map[string]string{
		"AllViewer":                                   "216adef6-5c7f-47e4-b989-5492eafa07d3",
		"AllViewerAndCloudFrontHeaders-2022-06":       "33f36d7e-f396-46d9-90e0-52428a34d9dc",
		"AllViewerExceptHostHeader":                   "b689b0a8-53d0-40ab-baf2-68738e2966ac",
		"CORS-CustomOrigin":                           "59781a5b-3903-41f3-afcb-af62929ccde1",
		"CORS-S3Origin":                               "88a5eaf4-2fd4-4709-b370-b4c650ea3fcf",
		"Elemental-MediaTailor-PersonalizedManifests": "775133bc-15f2-49f9-abea-afb2e0bf67d2",
		"HostHeaderOnly":                              "bf0718e1-ba1e-49d1-88b1-f726733018ae",
		"UserAgentRefererHeaders":                     "acba4595-bd28-49b8-b9fe-13317c0390fa",
	}
}

// responseHeadersPolicies are those of AWS:
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/using-managed-response-headers-policies.html
func responseHeadersPolicies() map[string]string {
	return map[string]string{
		"CORS-and-SecurityHeadersPolicy":                "e61eb60c-9c35-4d20-a928-2b84e02af89c",
		"CORS-With-Preflight":                           "5cc3b908-e619-4b99-88e5-2cf7f45965bd",
		"CORS-with-preflight-and-SecurityHeadersPolicy": "eaab4381-ed33-4a86-88ca-d9558dc6cd63",
		"SecurityHeadersPolicy":                         "67f7725c-6f97-4210-82d7-5512b31e9d03",
		"SimpleCORS":                                    "60669652-455b-4ae9-85a4-c4c02393f86c",
	}
}

var uuidForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`) })

// policyID is the identity of a policy that is named, or given by its identity; "" for "".
func policyID(names map[string]string, policy string) (string, error) {
	if id, ok := names[policy]; ok {
		return id, nil
	}
	if policy == "" || uuidForm().MatchString(policy) {
		return policy, nil
	}
	return policy, fmt.Errorf("want the identity of a policy, or one of %s", strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}

// named is a behavior whose policies of AWS have their names, as what is read has them.
func (b Behavior) named() Behavior {
	if b.CachePolicy != nil {
		b.CachePolicy = new(policyName(cachePolicies(), *b.CachePolicy))
	}
	b.OriginRequestPolicy = policyName(originRequestPolicies(), b.OriginRequestPolicy)
	b.ResponseHeadersPolicy = policyName(responseHeadersPolicies(), b.ResponseHeadersPolicy)
	return b
}

// policyName is the name of a policy of AWS, and the identity of any other.
func policyName(names map[string]string, id string) string {
	for name, of := range names {
		if of == id {
			return name
		}
	}
	return id
}
