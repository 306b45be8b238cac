package ssm

import (
	"context"
	"encoding/json"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

type world struct{ awstest.World[sdk.Client] }

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	w := &world{awstest.NewWorld(t, server, startLikeAWS(t, server), sdk.NewFromConfig, parameterKind.Erase(), "domain")}
	w.Located(t, account)
	return w
}

// parameters are all as others see them.
func (w *world) parameters(t kindtest.T) []any {
	t.Helper()
	var all []any
	for pages := sdk.NewDescribeParametersPaginator(w.Others, &sdk.DescribeParametersInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, meta := range page.Parameters {
			all = append(all, w.parameter(t, meta))
		}
	}
	return all
}

func (w *world) parameter(t kindtest.T, meta types.ParameterMetadata) obj {
	t.Helper()
	out, err := w.Others.GetParameter(context.Background(), &sdk.GetParameterInput{Name: meta.Name, WithDecryption: new(true)})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	var policies []any
	for _, p := range meta.Policies {
		policies = append(policies, json.RawMessage(*p.PolicyText))
	}
	return obj{
		"value": *out.Parameter.Value, "type": string(meta.Type), "data": *out.Parameter.DataType, "tier": string(meta.Tier),
		"description": sdkaws.ToString(meta.Description), "pattern": sdkaws.ToString(meta.AllowedPattern), "key": sdkaws.ToString(meta.KeyId), "policies": policies, "tags": awstest.Owned(w.tags(t, meta.Name)),
	}
}

func (w *world) tags(t kindtest.T, name *string) map[string]string {
	t.Helper()
	out, err := w.Others.ListTagsForResource(context.Background(), &sdk.ListTagsForResourceInput{ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	return aws.TagMap(out.TagList, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalServerError")(class)
}
