//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// seen is the world as the cloud's own clients and the file system show it, one line for each fact. What differs from
// one world to the next is taken out: the account, the endpoint, the identity of the store, times, and the
// hash in generated names, which is made over the account.
func (x *lived) seen() []string {
	x.t.Helper()
	x.facts = nil
	looks := []func(context.Context) error{x.files}
	if x.cloud != nil {
		looks = append(looks, x.queues, x.topics, x.buckets)
	}
	for _, look := range looks {
		if err := look(x.t.Context()); err != nil {
			x.t.Fatal(err)
		}
	}
	slices.Sort(x.facts)
	return x.facts
}

var (
	hashes = regexp.MustCompile(`(life-test-[a-z0-9-]*?)-[a-z2-7]{8}\b`)
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	words  = regexp.MustCompile(`word-[0-9a-f]{8}|pass-[A-Za-z0-9]{24}`)
	stores = regexp.MustCompile(`("?athanor:store"?[:=]"?)[a-z2-7]+`)
)

// plain takes out what differs from one world to the next.
func (x *lived) plain(text string) string {
	if x.cloud != nil {
		text = strings.NewReplacer(x.cloud.Account, "ACCOUNT", x.cloud.URL, "ENDPOINT", url.QueryEscape(x.cloud.URL), "ENDPOINT").Replace(text)
	}
	for _, found := range words.FindAllString(text, -1) { // derived from the key of this home, once and for all
		if !slices.Contains(x.words, found) {
			x.words = append(x.words, found)
		}
		text = strings.ReplaceAll(text, found, fmt.Sprint("WORD", slices.Index(x.words, found)))
	}
	text = hashes.ReplaceAllString(text, "$1-HASH")
	return stores.ReplaceAllString(uuids.ReplaceAllString(text, "UUID"), "${1}STORE")
}

func (x *lived) fact(what string, about any) {
	data, err := json.Marshal(about)
	if err != nil {
		x.t.Fatal(err)
	}
	x.facts = append(x.facts, x.plain(what+" "+string(data)))
}

func (x *lived) queues(ctx context.Context) error {
	client := sqs.NewFromConfig(x.cloud.Config(x.t))
	list, err := client.ListQueues(ctx, &sqs.ListQueuesInput{})
	if err != nil {
		return err
	}
	for _, at := range list.QueueUrls {
		about, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &at, AttributeNames: []sqsAttribute{"All"}})
		if err != nil {
			return err
		}
		delete(about.Attributes, "CreatedTimestamp")
		delete(about.Attributes, "LastModifiedTimestamp")
		tags, err := client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &at})
		if err != nil {
			return err
		}
		x.fact("queue "+at, []any{about.Attributes, tags.Tags})
	}
	return nil
}

func (x *lived) topics(ctx context.Context) error {
	client := sns.NewFromConfig(x.cloud.Config(x.t))
	list, err := client.ListTopics(ctx, &sns.ListTopicsInput{})
	if err != nil {
		return err
	}
	for _, topic := range list.Topics {
		about, err := client.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: topic.TopicArn})
		if err != nil {
			return err
		}
		tags, err := client.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: topic.TopicArn})
		if err != nil {
			return err
		}
		marks := map[string]string{}
		for _, tag := range tags.Tags {
			marks[*tag.Key] = *tag.Value
		}
		x.fact("topic "+*topic.TopicArn, []any{about.Attributes, marks})
	}
	links, err := client.ListSubscriptions(ctx, &sns.ListSubscriptionsInput{})
	if err != nil {
		return err
	}
	for _, s := range links.Subscriptions {
		about, err := client.GetSubscriptionAttributes(ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: s.SubscriptionArn})
		if err != nil {
			return err
		}
		x.fact("subscription", about.Attributes)
	}
	return nil
}

func (x *lived) buckets(ctx context.Context) error {
	client := s3.NewFromConfig(x.cloud.Config(x.t))
	list, err := client.ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil {
		return err
	}
	for _, b := range list.Buckets {
		if !strings.Contains(*b.Name, x.cloud.Account) {
			continue // the emulator lists those of all accounts
		}
		tags, err := client.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: b.Name})
		if err != nil {
			return err
		}
		marks := map[string]string{}
		for _, tag := range tags.TagSet {
			marks[*tag.Key] = *tag.Value
		}
		versioning, err := client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: b.Name})
		if err != nil {
			return err
		}
		rules := "none"
		if cors, err := client.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: b.Name}); err == nil {
			rules = fmt.Sprint(cors.CORSRules[0].AllowedMethods, cors.CORSRules[0].AllowedOrigins)
		}
		x.fact("bucket "+*b.Name, []any{marks, versioning.Status, rules})
		if err := x.objects(ctx, client, *b.Name); err != nil {
			return err
		}
	}
	return nil
}

// objects are all versions, those included that S3 shows as deleted.
func (x *lived) objects(ctx context.Context, client *s3.Client, bucket string) error {
	all, err := client.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: &bucket})
	if err != nil {
		return err
	}
	for _, gone := range all.DeleteMarkers {
		x.fact("deleted object "+*gone.Key, awssdk.ToBool(gone.IsLatest))
	}
	for _, v := range all.Versions {
		object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: v.Key, VersionId: v.VersionId})
		if err != nil {
			return err
		}
		content, err := io.ReadAll(object.Body)
		if err := errors.Join(err, object.Body.Close()); err != nil {
			return err
		}
		x.fact("object "+*v.Key, []any{awssdk.ToBool(v.IsLatest), string(content), object.ContentType, object.TagCount})
	}
	return nil
}

// files are all that the stack's folder holds, the program left out, and of the record only what does not belong there.
func (x *lived) files(context.Context) error {
	return filepath.WalkDir(x.dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(x.dir, path)
		switch {
		case err != nil:
			return err
		case rel == ".athanor":
			return x.record(path)
		case rel == "." || rel == "athanor.yaml":
			return nil
		case d.IsDir():
			x.fact("folder "+rel, nil)
			return nil
		}
		return x.file(rel, path, d)
	})
}

func (x *lived) file(rel, path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	x.fact("file "+rel, []string{info.Mode().String(), string(data)})
	return err
}

// aside is what the record is made as, before it gets its name. A run that is cut right there leaves it; it is empty of
// anything, and nobody can tell whether another process is at work on it.
var aside = regexp.MustCompile(`^\.(state\.db|\.gitignore)-[0-9]+$`)

// record looks at the folder of the record: it may hold the record and nothing else that a killed run left beside it.
func (x *lived) record(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !aside.MatchString(e.Name()) && !slices.Contains([]string{".gitignore", "state.db", "state.db.turn", "stacks"}, e.Name()) {
			x.facts = append(x.facts, "left in the folder of the record: "+e.Name())
		}
	}
	return fs.SkipDir
}

// effects are the calls that made or deleted an object and took effect, each with what it was about. Objects are told
// apart by their whole names.
func (x *lived) effects() []string {
	var all []string
	for _, c := range x.cloud.Mutations() {
		if !c.Forwarded || c.Status/100 != 2 {
			continue
		}
		about := ""
		switch c.Name() {
		case "SQS.CreateQueue", "SQS.DeleteQueue":
			var body struct{ QueueName, QueueURL string }
			if err := json.Unmarshal(c.Body, &body); err != nil {
				x.t.Fatal(err)
			}
			about = body.QueueName + body.QueueURL[strings.LastIndexByte(body.QueueURL, '/')+1:]
		case "SNS.CreateTopic", "SNS.DeleteTopic", "SNS.Subscribe", "SNS.Unsubscribe":
			about = subject(c)
		case "S3.CreateBucket", "S3.DeleteBucket", "S3.PutObject", "S3.DeleteObject":
			about = c.Resource
		default:
			continue
		}
		all = append(all, x.plain(c.Name()+" "+about))
	}
	slices.Sort(all)
	return all
}

// subject is what a call to SNS is about.
func subject(c awstest.Call) string {
	form, err := url.ParseQuery(string(c.Body))
	if err != nil {
		return err.Error()
	}
	arn := form.Get("TopicArn") + form.Get("SubscriptionArn")
	return form.Get("Name") + arn[strings.LastIndexByte(arn, ':')+1:] + " " + form.Get("Endpoint")
}
