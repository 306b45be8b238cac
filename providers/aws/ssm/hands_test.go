package ssm

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hands change each aspect of a parameter as somebody else would. All but the tags are written by one call, which takes
// everything.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	put := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error { return w.put(t, to, true) })
	hands := map[tree.Path]kindtest.Hand{
		"":     ws.Hand(func(w *world, _ kindtest.T, to kindtest.Edited) error { return w.remove(to) }),
		"tier": ws.Hand((*world).remake),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			name := nameOf(to)
			drop := func(keys []string) error {
				_, err := w.Others.RemoveTagsFromResource(context.Background(), &sdk.RemoveTagsFromResourceInput{
					ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name, TagKeys: keys,
				})
				return err
			}
			return awstest.Retag(w.tags(t, name), to, drop, func(tags map[string]string) error { return w.tag(name, tags) })
		}),
	}
	for _, a := range parameterTable.Attributes() {
		if a.Wire != "" && hands[a.Path] == nil {
			hands[a.Path] = put
		}
	}
	return hands
}

func nameOf(to kindtest.Edited) *string { return new(to.Attrs["name"].(string)) }

// put writes a parameter as props say.
func (w *world) put(t kindtest.T, to kindtest.Edited, overwrite bool) error {
	in, err := inputOf(parameterDefaults(kindtest.PropsOf(t, parameterTable, to.Props)), *nameOf(to))
	if err != nil {
		return err
	}
	in.Overwrite = &overwrite
	aws.OrDefault(&in.Description, "")
	aws.OrDefault(&in.AllowedPattern, "")
	aws.OrDefault(&in.Policies, noPolicies)
	_, err = w.Others.PutParameter(context.Background(), &sdk.PutParameterInput{
		Name: &in.Name, Value: &in.Value, Type: types.ParameterType(in.Type), Tier: types.ParameterTier(in.Tier), KeyId: in.KeyId,
		Description: in.Description, AllowedPattern: in.AllowedPattern, DataType: in.DataType, Policies: in.Policies, Overwrite: in.Overwrite,
	})
	return err
}

func (w *world) remove(to kindtest.Edited) error {
	_, err := w.Others.DeleteParameter(context.Background(), &sdk.DeleteParameterInput{Name: nameOf(to)})
	return err
}

// remake deletes a parameter and makes it again with the same tags, which is the only way to a lower tier.
func (w *world) remake(t kindtest.T, to kindtest.Edited) error {
	tags := w.tags(t, nameOf(to))
	if err := w.remove(to); err != nil {
		return err
	}
	if err := w.put(t, to, false); err != nil {
		return err
	}
	return w.tag(nameOf(to), tags)
}

func (w *world) tag(name *string, tags map[string]string) error {
	_, err := w.Others.AddTagsToResource(context.Background(), &sdk.AddTagsToResourceInput{
		ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name,
		Tags: aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} }),
	})
	return err
}
