package ecr

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func pulls(account string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{
		"Sid": "pull", "Effect": "Allow", "Principal": obj{"AWS": "arn:aws:iam::" + account + ":root"}, "Action": list{"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"},
	}}}
}

func expires(days int64) obj {
	return obj{"rules": list{obj{
		"rulePriority": int64(1), "description": "old", "action": obj{"type": "expire"},
		"selection": obj{"tagStatus": "untagged", "countType": "sinceImagePushed", "countUnit": "days", "countNumber": days},
	}}}
}

func TestRepository(t *testing.T) {
	ws := awstest.Worlds[*world]{}
	kindtest.Run(t, kindtest.Derive(repositoryTable, kindtest.Suite{
		Kind:  repositoryKind.Erase(),
		World: ws.Make(newWorld, (*world).repositories),
		Base:  obj{"encryption": "KMS", "kmsKey": keyOne, "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"tagMutability": "IMMUTABLE", "tagExclusions": list{"latest", "dev-*"}, "scanOnPush": true, "policy": pulls("444455556666"), "lifecyclePolicy": expires(14),
				"forceDelete": true, "tags": obj{"team": "web", "cost center": "42"},
			}},
			{Name: "named", Props: obj{"name": "shop/api", "encryption": "KMS", "kmsKey": keyTwo}},
			{Name: "sealed twice", Props: obj{"encryption": "KMS_DSSE", "kmsKey": keyOne}},
			{Name: "text", Props: obj{
				"policy":          `{"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":"*","Action":"ecr:*"}}`,
				"lifecyclePolicy": expires(30),
			}},
		},
		Hands:  hands(ws),
		Others: map[tree.Path][]any{"policy": {pulls("777788889999")}, "lifecyclePolicy": {expires(3)}},
		Silent: map[tree.Path]string{"forceDelete": "it permits, and is nothing of the repository"},
		Steady: map[tree.Path]string{
			"name": "a repository keeps its name for life", "encryption": "a repository keeps its encryption for life", "kmsKey": "a repository keeps its key for life",
			"forceDelete": "it is nothing of the repository",
		},
	}))
}

// TestFaults breaks each call of a creation: there is one repository in the end.
func TestFaults(t *testing.T) {
	awstest.Faults(t, newWorld, kindtest.Quick(repositoryKind, 300*time.Millisecond), obj{"name": "shop/api", "policy": pulls("444455556666"), "tags": obj{"team": "shop"}}, (*world).repositories, awstest.Broken{
		{Name: "the creation is not answered", Fault: awstest.Fault{Op: "ECR.CreateRepository", Kind: awstest.DropAnswer}, Wrote: 2},
		{Name: "the creation fails", Fault: awstest.Fault{Op: "ECR.CreateRepository", Kind: awstest.ServerError}, Wrote: 3},
		{Name: "the policy is throttled", Fault: awstest.Fault{Op: "ECR.SetRepositoryPolicy", Kind: awstest.Throttle}, Wrote: 3},
		{Name: "a read is late", Fault: awstest.Fault{Op: "ECR.DescribeRepositories", Kind: awstest.ServerError}, Wrote: 2},
	})
}

// TestDenied fails at once, in the words of the service; a policy that may not be read is not one that is not there.
func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, obj{"policy": pulls("444455556666")}, "ECR.CreateRepository", "ECR.DescribeRepositories", "ECR.SetRepositoryPolicy", "ECR.GetRepositoryPolicy",
		"ECR.ListTagsForResource", "ECR.ListImages")
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newWorld, obj{"name": "shop/api"}, "arn:aws:ecr:eu-west-9:111122223333:repository/shop/api", func(string) []string { return []string{"shop/api"} })
}

// TestMatch knows repositories by their ARNs, as the tagging service shows them; moto's shows none of ECR.
func TestMatch(t *testing.T) {
	kind, identity, name, ok := Service().Match("arn:aws:ecr:eu-west-1:111122223333:repository/shop/api")
	if !ok || kind != repositoryType || name != "shop/api" || !strings.HasSuffix(identity, ":repository/shop/api") {
		t.Errorf("%s %s %s %v", kind, identity, name, ok)
	}
	for _, arn := range []aws.ARN{"arn:aws:ecr-public::111122223333:repository/x", "arn:aws:codecommit:eu-west-1:111122223333:repository/x", "arn:aws:ecr:eu-west-1:111122223333:other/x"} {
		if _, _, _, ok := Service().Match(arn); ok {
			t.Errorf("%s is none", arn)
		}
	}
}

// TestImagesAreData does not delete a repository with images in it, until that is permitted.
func TestImagesAreData(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, obj{"name": "shop/api"}, nil)
	manifest, err := json.Marshal(obj{
		"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
		"config": obj{"mediaType": "application/vnd.docker.container.image.v1+json", "size": 1, "digest": "sha256:" + strings.Repeat("a", 64)}, "layers": list{},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.ask(t, "PutImage", obj{"repositoryName": "shop/api", "imageTag": "one", "imageManifest": string(manifest)})
	job := w.Job(t, w.Kind, nil, nil)
	job.Last, job.ID = out.Attrs, out.Identity
	look, err := w.Kind.Look(t.Context(), job)
	if err != nil || !look.Holds {
		t.Fatalf("%+v, %v", look, err)
	}
	w.Server.Reset()
	if err := w.Kind.Delete(t.Context(), job); err == nil || len(w.Wrote()) != 0 {
		t.Errorf("deleted: %v, %v", err, w.Wrote())
	}
	job.MayDelete = true
	if err := w.Kind.Delete(t.Context(), job); err != nil || len(w.repositories(t)) != 0 {
		t.Errorf("%v, left %v", err, w.repositories(t))
	}
}

// TestRefused finds what ECR would refuse, before any call.
func TestRefused(t *testing.T) {
	kms, aes := "KMS", "AES256"
	for name, p := range map[string]RepositoryProps{
		"no key": {Encryption: &kms}, "a key too many": {Encryption: &aes, KMSKey: keyOne}, "a key alone": {KMSKey: keyOne},
		"an alias": {Encryption: &kms, KMSKey: "alias/mine"},
	} {
		if checkRepository(p) == nil {
			t.Errorf("%s: it is not refused", name)
		}
	}
	if err := checkRepository(RepositoryProps{Encryption: &kms, KMSKey: keyOne}); err != nil {
		t.Error(err)
	}
}
