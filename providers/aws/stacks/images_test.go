package stacks_test

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/ecr"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
)

// built lays an image that something else has built, the same one for a seed.
func built(t *testing.T, folder string, seed int64) {
	t.Helper()
	image, err := random.Image(300, 1, random.WithSource(rand.NewSource(seed)))
	if err == nil {
		_, err = layout.Write(folder, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// pushed has a function in an image, which is another one for another word.
func pushed(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		images := ecr.NewRepository(s, "images", ecr.RepositoryProps{})
		image := ecr.NewImage(s, "web", ecr.ImageProps{Repository: images.Name, Source: ecr.ImageSource{Layout: word}, Tags: []string{"latest"}})
		ecr.NewImage(s, "tagged", ecr.ImageProps{Repository: images.Name, Source: ecr.ImageSource{Layout: "first"}, Tags: []string{word}})
		role := iam.NewRole(s, "role", iam.RoleProps{
			TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com"),
			Bindings:    []aws.Statement{{Actions: []string{"logs:PutLogEvents"}, Resources: []string{"*"}}},
		})
		lambda.NewFunction(s, "fn", lambda.FunctionProps{Code: lambda.Image(image.URI), Role: role.ARN})
		return nil
	}
}

// TestImages: the new image is there before the function takes it, and the old one goes after that. The repository goes with the images
// that the stack pushed, without permission to delete any data.
func TestImages(t *testing.T) {
	inStage(t, awstest.Documented{}, func(s *stage) {
		s.deploy(pushed("first"))
		if p := s.plan(pushed("first")); p.Pending() {
			s.Errorf("the plan is not unchanged: %+v", p.Summary)
		}
		s.server.Reset()
		r := s.deploy(pushed("second"))
		if r.Summary.Replaced != 1 || r.Summary.Updated != 2 {
			s.Errorf("%+v", r.Summary)
		}
		var order []string
		for _, c := range s.server.Mutations() {
			switch {
			case c.Name() == "ECR.PutImage" && strings.Contains(string(c.Body), `"shop-test-web`), c.Name() == "ECR.BatchDeleteImage" && strings.Contains(string(c.Body), `"shop-test-web`),
				strings.Contains(c.Name(), "/functions/"):
				order = append(order, c.Service)
			}
		}
		if !slices.Equal(slices.Compact(order), []string{"ECR", "Lambda", "ECR"}) {
			s.Errorf("in the order %v", order)
		}
		if r := s.destroy(); r.Summary.Failed+r.Summary.Blocked > 0 {
			s.Errorf("%+v", r.Summary)
		}
		var left struct {
			Repositories []any `json:"repositories"`
		}
		service := aws.JSONService{Name: "ECR", Signing: "ecr", Host: "api.ecr", Target: "AmazonEC2ContainerRegistry_V20150921", Version: "1.1"}
		if err := service.Call(s.Context(), aws.FromConfig(s.played.Outside(s)), "DescribeRepositories", map[string]any{}, &left); err != nil || len(left.Repositories) > 0 {
			s.Errorf("left %v, %v", left, err)
		}
	})
}
