package s3

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws"
)

func putWebsite(want *Website) *bucketCall {
	if want == nil {
		return call("DeleteBucketWebsite", func(ctx context.Context, t target, _ liveBucket) error {
			_, err := t.DeleteBucketWebsite(ctx, &sdk.DeleteBucketWebsiteInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
			return err
		})
	}
	return call("PutBucketWebsite", func(ctx context.Context, t target, _ liveBucket) error {
		_, err := t.PutBucketWebsite(ctx, &sdk.PutBucketWebsiteInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner, WebsiteConfiguration: want.configuration(),
		})
		return err
	})
}

// configuration writes a site as S3 wants it.
func (w *Website) configuration() *types.WebsiteConfiguration {
	if w.RedirectTo != "" {
		return &types.WebsiteConfiguration{RedirectAllRequestsTo: &types.RedirectAllRequestsTo{
			HostName: new(w.RedirectTo), Protocol: types.Protocol(w.RedirectProtocol),
		}}
	}
	out := &types.WebsiteConfiguration{IndexDocument: &types.IndexDocument{Suffix: new(w.IndexDocument)}}
	if w.ErrorDocument != "" {
		out.ErrorDocument = &types.ErrorDocument{Key: new(w.ErrorDocument)}
	}
	for _, r := range w.RoutingRules {
		rule := types.RoutingRule{Redirect: &types.Redirect{
			HostName: aws.OrNil(r.Host), Protocol: types.Protocol(r.Protocol), HttpRedirectCode: aws.OrNil(r.RedirectCode),
			ReplaceKeyWith: aws.OrNil(r.ReplaceKey), ReplaceKeyPrefixWith: r.ReplaceKeyPrefix,
		}}
		if r.KeyPrefix != "" || r.ErrorCode != "" {
			rule.Condition = &types.Condition{KeyPrefixEquals: aws.OrNil(r.KeyPrefix), HttpErrorCodeReturnedEquals: aws.OrNil(r.ErrorCode)}
		}
		out.RoutingRules = append(out.RoutingRules, rule)
	}
	return out
}

// dashedSite tells the regions whose sites are at s3-website-REGION; all later ones have s3-website.REGION.
// https://docs.aws.amazon.com/general/latest/gr/s3.html#s3_website_region_endpoints
func dashedSite(region string) bool {
	switch region {
	case "us-east-1", "us-west-1", "us-west-2", "us-gov-west-1", "eu-west-1", "ap-southeast-1", "ap-southeast-2", "ap-northeast-1", "sa-east-1":
		return true
	}
	return false
}

// websiteEndpoint is the host of the bucket's site, whether or not the bucket is one.
func websiteEndpoint(name, region, suffix string) string {
	if dashedSite(region) {
		return name + ".s3-website-" + region + "." + suffix
	}
	return name + ".s3-website." + region + "." + suffix
}
