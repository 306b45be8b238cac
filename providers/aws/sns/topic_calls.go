package sns

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// arnOf is how SNS names a topic.
func arnOf(place reconcile.Place, name string) aws.ARN {
	return aws.ARNIn(place, "sns", name)
}

func topicNames() aws.Names[Topic] {
	return aws.Names[Topic]{
		Of:  func(t Topic) string { return t.Name },
		In:  func(resource string) string { return resource },
		ARN: arnOf,
	}
}

// topicOf is what a topic is looked for by.
func topicOf(site topicSite) (aws.ARN, error) {
	name, err := aws.NameOf(site, topicNames())
	return arnOf(site.Place, name), err
}

// observeTopic asks for the attributes, and then for all that they do not show.
func observeTopic(ctx context.Context, site topicSite) (liveTopic, error) {
	arn, err := topicOf(site)
	if err != nil {
		return liveTopic{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveTopic{}, err
	}
	live := liveTopic{arn: arn}
	attrs, err := client.GetTopicAttributes(ctx, &sdk.GetTopicAttributesInput{TopicArn: new(string(arn))})
	if err != nil {
		return live, aws.Absent(err)
	}
	live.attrs = attrs.Attributes
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		out, err := client.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: new(string(arn))})
		if err != nil {
			return aws.Absent(err)
		}
		live.tags = tagMap(out.Tags)
		return nil
	})
	// Not every account may ask for such a policy, and no FIFO topic has one.
	declared := site.Want.DataProtectionPolicy != nil || site.Last != nil && site.Last.DataProtection != ""
	if declared && live.attrs["FifoTopic"] != "true" {
		group.Go(func() error {
			out, err := client.GetDataProtectionPolicy(ctx, &sdk.GetDataProtectionPolicyInput{ResourceArn: new(string(arn))})
			if err != nil {
				return aws.Absent(err)
			}
			live.protection = sdkaws.ToString(out.DataProtectionPolicy)
			return nil
		})
	}
	return live, group.Wait()
}

// createTopic carries all that CreateTopic takes and that is not the default. Only the version of signatures is left
// for SetTopicAttributes. SNS answers an existing topic with the same attributes and tags as if it had made it; the
// look that follows tells whose it is.
func createTopic(ctx context.Context, site topicSite) (Topic, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Topic{}, err
	}
	in := &sdk.CreateTopicInput{Name: &site.Name, Attributes: map[string]string{}, Tags: tagList(aws.Tags(site.Want.Tags, site.Mark))}
	made := Topic{ARN: arnOf(site.Place, site.Name), Name: site.Name}
	if site.Want.FIFO {
		in.Attributes["FifoTopic"] = "true"
	}
	for _, a := range topicAttributes(site.Want, liveTopic{arn: made.ARN}) {
		if !a.set || a.name == "SignatureVersion" {
			continue
		}
		if in.Attributes[a.name], err = a.text(); err != nil {
			return Topic{}, err
		}
	}
	protection, err := aws.DocumentText(site.Want.DataProtectionPolicy)
	if err != nil {
		return Topic{}, fmt.Errorf("dataProtectionPolicy: %w", err)
	}
	in.DataProtectionPolicy, made.DataProtection = aws.OrNil(protection), protected(protection)
	if _, err := client.CreateTopic(ctx, in); err != nil {
		return Topic{}, taken(ctx, client, made.ARN, err)
	}
	return made, nil
}

// taken tells a topic that somebody made between the look and the creation from a mistake: the service has one code for
// both. Looking again tells whose it is.
func taken(ctx context.Context, client *sdk.Client, arn aws.ARN, err error) error {
	if _, ok := errors.AsType[*types.InvalidParameterException](err); !ok {
		return err
	}
	if _, look := client.GetTopicAttributes(ctx, &sdk.GetTopicAttributesInput{TopicArn: new(string(arn))}); look == nil {
		return aws.Busy(err)
	}
	return err
}

// deleteTopic ends an archive first: SNS deletes no topic that has one.
func deleteTopic(ctx context.Context, site topicSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	arn := string(site.Last.ARN)
	if strings.HasSuffix(arn, ".fifo") {
		out, err := client.GetTopicAttributes(ctx, &sdk.GetTopicAttributesInput{TopicArn: &arn})
		if err != nil {
			return err
		}
		if (liveTopic{attrs: out.Attributes}).archives() {
			if !site.MayDelete {
				return fmt.Errorf("%w: an archive of messages", reconcile.ErrHoldsData)
			}
			if _, err := client.SetTopicAttributes(ctx, &sdk.SetTopicAttributesInput{
				TopicArn: &arn, AttributeName: new("ArchivePolicy"), AttributeValue: new("{}"),
			}); err != nil {
				return err
			}
		}
	}
	_, err = client.DeleteTopic(ctx, &sdk.DeleteTopicInput{TopicArn: &arn})
	return err
}

func listTopics(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	for pages := sdk.NewListTopicsPaginator(listTopicsCall(client.ListTopics), &sdk.ListTopicsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Topics {
			live := liveTopic{arn: aws.ARN(sdkaws.ToString(t.TopicArn))}
			if strings.HasPrefix(live.name(), scope.Prefix) {
				all = append(all, reconcile.Found{Kind: topicType, Place: scope.Place, Identity: string(live.arn), Name: live.name()})
			}
		}
	}
	return all, nil
}

func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}
