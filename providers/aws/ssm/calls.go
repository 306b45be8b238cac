package ssm

import (
	"context"
	"iter"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// service returns Systems Manager as calls reach it. Its client in the SDK makes the schemas of all operations when a process starts,
// which is more memory than everything else of a start.
func service() aws.JSONService {
	return aws.JSONService{Name: "SSM", Signing: "ssm", Host: "ssm", Target: "AmazonSSM", Version: "1.1"}
}

// The bodies of calls and answers have the members that the API reference gives them. A member of a call that is nil or "" is left
// out.

// putInput is the body of PutParameter.
type putInput struct {
	Name           string
	Value          string
	Type           string    `json:",omitempty"`
	Tier           string    `json:",omitempty"`
	KeyId          *string   `json:",omitempty"` //nolint:staticcheck // props name the members of calls as the API does
	Description    *string   `json:",omitempty"`
	AllowedPattern *string   `json:",omitempty"`
	DataType       *string   `json:",omitempty"`
	Policies       *string   `json:",omitempty"`
	Overwrite      *bool     `json:",omitempty"`
	Tags           []aws.Tag `json:",omitempty"`
}

// parameter is a parameter with its value.
type parameter struct {
	ARN, Name, Type, Value string
	DataType               *string
	Version                int64
}

// metadata is what a parameter comes with.
type metadata struct {
	Name, Tier                  string
	KeyID                       *string `json:"KeyId"`
	Description, AllowedPattern *string
	Policies                    []struct{ PolicyText string }
}

// filter says which parameters DescribeParameters shows.
type filter struct {
	Key, Option string
	Values      []string
}

// describeInput is the body of DescribeParameters.
type describeInput struct {
	ParameterFilters []filter `json:",omitempty"`
	MaxResults       int      `json:",omitempty"`
	NextToken        string   `json:",omitempty"`
}

// described goes through what parameters come with, page by page. Pages may be empty while more follow.
func described(ctx context.Context, cloud kind.Cloud, in describeInput) iter.Seq2[metadata, error] {
	return func(yield func(metadata, error) bool) {
		for {
			var page struct {
				Parameters []metadata
				NextToken  string
			}
			if err := service().Call(ctx, cloud, "DescribeParameters", in, &page); err != nil {
				yield(metadata{}, err)
				return
			}
			for _, meta := range page.Parameters {
				if !yield(meta, nil) {
					return
				}
			}
			if in.NextToken = page.NextToken; in.NextToken == "" {
				return
			}
		}
	}
}

// get reads one parameter with its value in clear.
func get(ctx context.Context, cloud kind.Cloud, name string) (parameter, error) {
	var out struct{ Parameter parameter }
	err := service().Call(ctx, cloud, "GetParameter", kind.Document{"Name": name, "WithDecryption": true}, &out)
	return out.Parameter, err
}

// getSome reads several parameters with their values in clear. One that is not there is left out.
func getSome(ctx context.Context, cloud kind.Cloud, names []string) ([]parameter, error) {
	var out struct{ Parameters []parameter }
	err := service().Call(ctx, cloud, "GetParameters", kind.Document{"Names": names, "WithDecryption": true}, &out)
	return out.Parameters, err
}

// ofParameter begins every call about the tags of a parameter.
func ofParameter(name string) kind.Document {
	return kind.Document{"ResourceType": "Parameter", "ResourceId": name}
}

// tagsOf reads the tags of a parameter.
func tagsOf(ctx context.Context, cloud kind.Cloud, name string) (map[string]string, error) {
	var out struct{ TagList []aws.Tag }
	err := service().Call(ctx, cloud, "ListTagsForResource", ofParameter(name), &out)
	return aws.MapOfTags(out.TagList), err
}
