package s3_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestNotify: a line has a function invoked, and lets the bucket do so and nobody else.
func TestNotify(t *testing.T) {
	program := func(s *athanor.Stack) error {
		in := s.Scope("shop")
		uploads := s3.NewBucket(in, "uploads", s3.BucketProps{})
		fn := lambda.NewFunction(in, "resize", lambda.FunctionProps{Code: lambda.Bundle("resize.ts"), Env: map[string]string{"BUCKET": string(uploads.Name)}})
		uploads.Notify(s, "pictures", fn, s3.Notification{Events: []string{"s3:ObjectCreated:*"}, Suffix: ".jpg"})
		return nil
	}
	g, err := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "dev", Dir: t.TempDir(), Spelling: athanor.Plain})
	if err != nil {
		t.Fatal(err)
	}
	props := map[string]map[string]any{}
	for _, r := range g.Resources {
		props[r.Address] = r.Props
	}
	leave := props["shop/uploads/pictures"]
	if source, _ := leave["sourceArn"].(string); leave["principal"] != "s3.amazonaws.com" || !strings.Contains(source, "shop/uploads") {
		t.Errorf("leave: %s, in %v", tree.Canonical(leave), props)
	}
	bound, _ := tree.Get(props["shop/uploads"], "bindings.pictures")
	m, _ := bound.(map[string]any)
	if function, _ := m["function"].(string); m["suffix"] != ".jpg" || !strings.Contains(function, "shop/resize") {
		t.Errorf("bound: %v", bound)
	}
}
