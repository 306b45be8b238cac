package eventbridge

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

func readTags(ctx context.Context, client *sdk.Client, of *string) (map[string]string, error) {
	out, err := client.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceARN: of})
	if err != nil {
		return nil, aws.NotYet(err)
	}
	return tagMap(out.Tags), nil
}

// compareTags states the tags of a rule or a bus.
func compareTags[L any](d *reconcile.Diff[L], author, live map[string]string, of aws.ARN) {
	arn := new(string(of))
	aws.CompareTags(d, author, live, "TagResource",
		func(ctx context.Context, on reconcile.On[L], add map[string]string) error {
			client, err := clientOf(on.Cloud)
			if err != nil {
				return err
			}
			_, err = client.TagResource(ctx, &sdk.TagResourceInput{ResourceARN: arn, Tags: tagList(add)})
			return aws.NotYet(err)
		},
		func(ctx context.Context, on reconcile.On[L], gone []string) error {
			client, err := clientOf(on.Cloud)
			if err != nil {
				return err
			}
			_, err = client.UntagResource(ctx, &sdk.UntagResourceInput{ResourceARN: arn, TagKeys: gone})
			return aws.NotYet(err)
		})
}

func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}
