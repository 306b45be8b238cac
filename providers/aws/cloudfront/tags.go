package cloudfront

import (
	"context"
	"encoding/xml"
	"net/http"
	"net/url"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// tag is one tag as CloudFront writes it.
type tag struct{ Key, Value string }

type tagItems struct {
	Items []tag `xml:"Items>Tag"`
}

type tagDocument struct {
	XMLName   xml.Name `xml:"Tags"`
	Namespace string   `xml:"xmlns,attr"`
	tagItems
}

func tagList(tags map[string]string) tagItems {
	return tagItems{Items: aws.TagList(tags, func(key, value *string) tag { return tag{*key, *value} })}
}

func tagsOf(ctx context.Context, cloud kind.Cloud, arn aws.ARN) (map[string]string, error) {
	var out tagItems
	_, err := call(ctx, cloud, aws.XMLCall{
		Operation: "ListTagsForResource", Method: http.MethodGet, Path: version + "tagging", Query: url.Values{"Resource": {string(arn)}}, Out: &out,
	})
	return aws.TagMap(out.Items, func(t tag) (key, value *string) { return &t.Key, &t.Value }), err
}

func tagResource(ctx context.Context, cloud kind.Cloud, arn aws.ARN, tags map[string]string) error {
	return changeTags(ctx, cloud, arn, "Tag", tagDocument{Namespace: namespace, tagItems: tagList(tags)})
}

func changeTags(ctx context.Context, cloud kind.Cloud, arn aws.ARN, operation string, body any) error {
	_, err := call(ctx, cloud, aws.XMLCall{
		Operation: operation + "Resource", Method: http.MethodPost, Path: version + "tagging",
		Query: url.Values{"Operation": {operation}, "Resource": {string(arn)}}, In: body,
	})
	return err
}

func putTags(ctx context.Context, u kind.Update[liveDistribution], tags map[string]string) error {
	return tagResource(ctx, u.Cloud, u.Live.attrs.ARN, tags)
}

func dropTags(ctx context.Context, u kind.Update[liveDistribution], keys []string) error {
	return changeTags(ctx, u.Cloud, u.Live.attrs.ARN, "Untag", tagKeys{Namespace: namespace, Items: keys})
}

type tagKeys struct {
	XMLName   xml.Name `xml:"TagKeys"`
	Namespace string   `xml:"xmlns,attr"`
	Items     []string `xml:"Items>Key"`
}
