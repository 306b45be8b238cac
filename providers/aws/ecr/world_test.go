package ecr

import (
	"context"
	"encoding/json"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

const keyOne, keyTwo = "arn:aws:kms:us-east-1:111122223333:key/11111111-1111-1111-1111-111111111111",
	"arn:aws:kms:us-east-1:111122223333:key/22222222-2222-2222-2222-222222222222"

// world is moto as it is: nobody else has a client of the SDK either.
type world struct{ awstest.World[aws.Cloud] }

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	connect := func(cfg sdkaws.Config, _ ...func(*struct{})) *aws.Cloud { return aws.FromConfig(cfg).AtAnyRate() }
	w := &world{awstest.NewWorld(t, server, server.Direct(), connect, repositoryKind.Erase(), "images")}
	w.Located(t, server.Account)
	return w
}

// ask makes a call as somebody else.
func (w *world) ask(t kindtest.T, operation string, in obj) obj {
	t.Helper()
	out := obj{}
	if err := service().Call(context.Background(), w.Others, operation, in, &out); err != nil && !aws.IsAbsent(err) {
		t.Fatalf("%s: %v", operation, err)
	}
	return out
}

// repositories are all as others see them.
func (w *world) repositories(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, item := range w.ask(t, "DescribeRepositories", obj{})["repositories"].([]any) {
		r := item.(obj)
		name := obj{"repositoryName": r["repositoryName"]}
		tags := map[string]string{}
		for _, x := range w.ask(t, "ListTagsForResource", obj{"resourceArn": r["repositoryArn"]})["tags"].([]any) {
			tags[x.(obj)["Key"].(string)] = x.(obj)["Value"].(string)
		}
		all = append(all, obj{
			"mutability": r["imageTagMutability"], "exclusions": r["imageTagMutabilityExclusionFilters"], "scan": r["imageScanningConfiguration"], "encryption": r["encryptionConfiguration"],
			"policy": inform(w.ask(t, "GetRepositoryPolicy", name)["policyText"]), "lifecycle": inform(w.ask(t, "GetLifecyclePolicy", name)["lifecyclePolicyText"]),
			"tags": awstest.Owned(tags),
		})
	}
	return all
}

// inform is a document in one form, nil for none.
func inform(text any) any {
	if s, ok := text.(string); ok {
		return json.RawMessage(tree.Canonical(aws.Document(s)))
	}
	return nil
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "ServerException")(class)
}

// hands change each aspect of a repository as somebody else would.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hand := func(do func(w *world, t kindtest.T, name obj, to kindtest.Edited)) kindtest.Hand {
		return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			do(w, t, obj{"repositoryName": to.Attrs["name"]}, to)
			return nil
		})
	}
	policy := func(member, put, drop string) kindtest.Hand {
		return hand(func(w *world, t kindtest.T, in obj, to kindtest.Edited) {
			if to.Value == nil {
				w.ask(t, drop, in)
				return
			}
			in[member] = *aws.Text(to.Value)
			w.ask(t, put, in)
		})
	}
	mutability := hand(func(w *world, t kindtest.T, in obj, to kindtest.Edited) {
		in["imageTagMutability"] = "MUTABLE"
		if mode, ok := to.Props["tagMutability"]; ok {
			in["imageTagMutability"] = mode
		}
		filters := []any{}
		patterns, _ := to.Props["tagExclusions"].([]any)
		for _, pattern := range patterns {
			filters = append(filters, obj{"filterType": "WILDCARD", "filter": pattern})
		}
		if len(filters) > 0 {
			in["imageTagMutability"], in["imageTagMutabilityExclusionFilters"] = in["imageTagMutability"].(string)+"_WITH_EXCLUSION", filters
		}
		w.ask(t, "PutImageTagMutability", in)
	})
	return map[tree.Path]kindtest.Hand{
		"": hand(func(w *world, t kindtest.T, in obj, _ kindtest.Edited) {
			in["force"] = true
			w.ask(t, "DeleteRepository", in)
		}),
		"tagMutability": mutability, "tagExclusions": mutability,
		"scanOnPush": hand(func(w *world, t kindtest.T, in obj, to kindtest.Edited) {
			in["imageScanningConfiguration"] = obj{"scanOnPush": to.Value == true}
			w.ask(t, "PutImageScanningConfiguration", in)
		}),
		"policy":          policy("policyText", "SetRepositoryPolicy", "DeleteRepositoryPolicy"),
		"lifecyclePolicy": policy("lifecyclePolicyText", "PutLifecyclePolicy", "DeleteLifecyclePolicy"),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			arn := to.Attrs["arn"]
			have := map[string]string{}
			for _, x := range w.ask(t, "ListTagsForResource", obj{"resourceArn": arn})["tags"].([]any) {
				have[x.(obj)["Key"].(string)] = x.(obj)["Value"].(string)
			}
			return awstest.Retag(have, to, func(keys []string) error {
				w.ask(t, "UntagResource", obj{"resourceArn": arn, "tagKeys": keys})
				return nil
			}, func(tags map[string]string) error {
				w.ask(t, "TagResource", obj{"resourceArn": arn, "tags": aws.JSONTags[aws.Tag](tags)})
				return nil
			})
		}),
	}
}
