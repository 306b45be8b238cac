package ssm

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compareParameter states every aspect. All that differ, beside the tags, are put by one call.
func compareParameter(d *parameterDiff, want ParameterProps, live liveParameter) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", plain(name), plain(text(live.parameter.Name)))
	}
	put := putParameter(want)
	advanced := string(types.ParameterTierAdvanced)
	if tier := string(live.meta.Tier); tier == advanced && *want.Tier != advanced {
		reconcile.Fixed(d, "tier", *want.Tier, tier)
	} else {
		reconcile.Value(d, "tier", *want.Tier, tier, put)
	}
	reconcile.Value(d, "type", *want.Type, string(live.parameter.Type), put)
	compareValue(d, want, live, put)
	reconcile.Value(d, "description", aws.OrNil(want.Description), aws.OrNil(text(live.meta.Description)), put)
	reconcile.Value(d, "allowedPattern", aws.OrNil(want.AllowedPattern), aws.OrNil(text(live.meta.AllowedPattern)), put)
	reconcile.Value(d, "dataType", *want.DataType, text(live.parameter.DataType), put)
	reconcile.Value(d, "policies", policiesOf(want.Policies), live.policies(), put)
	aws.CompareTags(d, want.Tags, live.tags, "AddTagsToResource", putTags, dropTags)
}

// compareValue states the value where it belongs: what is secret in the world is never shown beside what is not.
func compareValue(d *parameterDiff, want ParameterProps, live liveParameter, put *reconcile.Operation[liveParameter]) {
	if live.secure() {
		reconcile.Value(d, "secureValue", aws.OrNil(want.SecureValue), aws.OrNil(token.Secret(live.value())), put)
		reconcile.Value(d, "value", aws.OrNil(want.Value), nil, put)
	} else {
		reconcile.Value(d, "secureValue", aws.OrNil(want.SecureValue), nil, put)
		reconcile.Value(d, "value", aws.OrNil(want.Value), aws.OrNil(live.value()), put)
	}
	var key *string
	if live.secure() {
		key = live.meta.KeyId
	}
	reconcile.Value(d, "keyId", want.KeyID, key, put)
}

// policiesOf are policies by their meaning, nil for none: their order does not count.
func policiesOf(document any) any {
	list, ok := aws.Document(document).([]any)
	if !ok {
		return aws.Document(document)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(p any) bool { m, is := p.(map[string]any); return is && len(m) == 0 })
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b any) int { return bytes.Compare(tree.Canonical(a), tree.Canonical(b)) })
	return list
}

func (l liveParameter) policies() any {
	var list []any
	for _, p := range l.meta.Policies {
		list = append(list, aws.Document(text(p.PolicyText)))
	}
	return policiesOf(list)
}

// noPolicies is how Systems Manager is told to drop all of them.
// https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-policies.html
const noPolicies = "[{}]"

// putParameter writes a whole new version: what is not to be changed, since it is ignored or left for later, keeps its
// live value.
func putParameter(want ParameterProps) *reconcile.Operation[liveParameter] {
	return &reconcile.Operation[liveParameter]{Name: "PutParameter", Do: func(ctx context.Context, on reconcile.On[liveParameter]) error {
		changes := func(path tree.Path) bool { return slices.Contains(on.Changed, path) }
		if hidden(on.Secret) && changes("value") {
			return reconcile.WithHint(errShown, "use secureValue")
		}
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		live := on.Live
		in := &sdk.PutParameterInput{
			Name: live.parameter.Name, Overwrite: new(true), Value: live.parameter.Value, Type: live.parameter.Type, Tier: live.meta.Tier,
			Description: new(text(live.meta.Description)), AllowedPattern: new(text(live.meta.AllowedPattern)), DataType: live.parameter.DataType,
		}
		for path, set := range map[tree.Path]func(){
			"tier":           func() { in.Tier = types.ParameterTier(*want.Tier) },
			"type":           func() { in.Type = types.ParameterType(*want.Type) },
			"description":    func() { in.Description = &want.Description },
			"allowedPattern": func() { in.AllowedPattern = &want.AllowedPattern },
			"dataType":       func() { in.DataType = want.DataType },
		} {
			if changes(path) {
				set()
			}
		}
		if value := valueOf(want); value != "" && (changes("value") || changes("secureValue")) {
			in.Value = &value
		}
		if in.Type == types.ParameterTypeSecureString {
			in.KeyId = live.meta.KeyId
			if changes("keyId") && want.KeyID != nil || !live.secure() {
				in.KeyId = want.KeyID
			}
		}
		if changes("policies") {
			if in.Policies, err = policiesText(want.Policies); err != nil {
				return err
			}
		}
		_, err = client.PutParameter(ctx, in)
		return hinted(aws.NotYet(err))
	}}
}

func policiesText(document any) (*string, error) {
	policies, err := aws.DocumentText(document)
	if err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	if policies == "" {
		policies = noPolicies
	}
	return &policies, nil
}

func putTags(ctx context.Context, on reconcile.On[liveParameter], tags map[string]string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.AddTagsToResource(ctx, &sdk.AddTagsToResourceInput{
		ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: on.Live.parameter.Name, Tags: tagList(tags),
	})
	return aws.NotYet(err)
}

func dropTags(ctx context.Context, on reconcile.On[liveParameter], keys []string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.RemoveTagsFromResource(ctx, &sdk.RemoveTagsFromResourceInput{
		ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: on.Live.parameter.Name, TagKeys: keys,
	})
	return aws.NotYet(err)
}
