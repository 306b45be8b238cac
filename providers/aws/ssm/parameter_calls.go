package ssm

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	errNoName = errors.New("a parameter is found by its name, and there is none")
	errNoMeta = errors.New("the parameter is not listed yet")
	errShown  = errors.New("a secret is given as a value that everybody may see")
)

// nameOf is the name, or the ARN, by which a parameter is looked for.
func nameOf(site parameterSite) (string, error) {
	switch {
	case site.Last != nil:
		return site.Last.Name, nil
	case site.ID != "":
		if p, ok := aws.ARN(site.ID).Parse(); ok && (p.Region != site.Place.Region || p.Account != site.Place.Account || p.Service != "ssm") {
			return "", aws.Foreign(site.ID, site.Place)
		}
		return site.ID, nil
	case site.Name != "":
		return physical(site.Name, site.Named), nil
	}
	return "", errNoName
}

func observeParameter(ctx context.Context, site parameterSite) (liveParameter, error) {
	name, err := nameOf(site)
	if err != nil {
		return liveParameter{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveParameter{}, err
	}
	out, err := client.GetParameter(ctx, &sdk.GetParameterInput{Name: &name, WithDecryption: new(true)})
	if err != nil {
		return liveParameter{}, aws.Absent(err)
	}
	live := liveParameter{parameter: *out.Parameter}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return live.readMeta(ctx, client) })
	group.Go(func() error {
		out, err := client.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{
			ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: live.parameter.Name,
		})
		if err != nil {
			return aws.Absent(err)
		}
		live.tags = map[string]string{}
		for _, t := range out.TagList {
			live.tags[text(t.Key)] = text(t.Value)
		}
		return nil
	})
	return live, group.Wait()
}

// readMeta asks for what a value comes with. Its pages may be empty while more follow.
func (l *liveParameter) readMeta(ctx context.Context, client *sdk.Client) error {
	pages := sdk.NewDescribeParametersPaginator(describeParametersCall(client.DescribeParameters), &sdk.DescribeParametersInput{
		ParameterFilters: []types.ParameterStringFilter{{Key: new("Name"), Option: new("Equals"), Values: []string{text(l.parameter.Name)}}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, meta := range page.Parameters {
			if text(meta.Name) == text(l.parameter.Name) {
				l.meta = meta
				return nil
			}
		}
	}
	return aws.Busy(errNoMeta)
}

// createParameter fails where there is one of that name; the look that follows tells whose it is.
func createParameter(ctx context.Context, site parameterSite) (Parameter, error) {
	if hidden(site.Secret) {
		return Parameter{}, reconcile.WithHint(errShown, "use secureValue")
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Parameter{}, err
	}
	want := site.Want
	policies, err := aws.DocumentText(want.Policies)
	if err != nil {
		return Parameter{}, fmt.Errorf("policies: %w", err)
	}
	name := physical(site.Name, site.Named)
	in := &sdk.PutParameterInput{
		Name: &name, Value: new(valueOf(want)), Type: types.ParameterType(*want.Type), KeyId: want.KeyID, Tier: types.ParameterTier(*want.Tier),
		Description: aws.OrNil(want.Description), AllowedPattern: aws.OrNil(want.AllowedPattern), DataType: want.DataType,
		Policies: aws.OrNil(policies), Overwrite: new(false), Tags: tagList(aws.Tags(want.Tags, site.Mark)),
	}
	out, err := client.PutParameter(ctx, in)
	if err != nil {
		return Parameter{}, hinted(err)
	}
	made := Parameter{ARN: arnOf(site.Place, name), Name: name, Version: token.Num(out.Version), Value: want.Value, SecureValue: want.SecureValue}
	return made, nil
}

func valueOf(want ParameterProps) string {
	if want.SecureValue != "" {
		return string(want.SecureValue)
	}
	return want.Value
}

// hidden reports that a value which plans and others show is a secret.
func hidden(secret map[tree.Path]bool) bool {
	for path, is := range secret {
		if is && path.Within("value") {
			return true
		}
	}
	return false
}

// hinted says what to do about a change that some parameters take and others do not.
func hinted(err error) error {
	if _, ok := errors.AsType[*types.HierarchyTypeMismatchException](err); ok {
		return reconcile.WithHint(err, "replaceOn: [type] makes another parameter in its place")
	}
	return err
}

func deleteParameter(ctx context.Context, site parameterSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	_, err = client.DeleteParameter(ctx, &sdk.DeleteParameterInput{Name: &site.Last.Name})
	return err
}

func listParameters(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	in := &sdk.DescribeParametersInput{MaxResults: new(int32(50))}
	if scope.Prefix != "" {
		in.ParameterFilters = []types.ParameterStringFilter{{Key: new("Name"), Option: new("BeginsWith"), Values: []string{physical(scope.Prefix, false)}}}
	}
	var all []reconcile.Found
	for pages := sdk.NewDescribeParametersPaginator(describeParametersCall(client.DescribeParameters), in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range page.Parameters {
			name := text(p.Name)
			all = append(all, reconcile.Found{Kind: parameterType, Place: scope.Place, Identity: string(arnOf(scope.Place, name)), Name: born(name)})
		}
	}
	return all, nil
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}
