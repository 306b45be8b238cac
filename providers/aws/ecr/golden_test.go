package ecr

import (
	"reflect"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the members of https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_CreateRepository.html as it shows them.
func TestGolden(t *testing.T) {
	body := kind.Document{
		"imageScanningConfiguration": obj{"scanOnPush": true},
		"encryptionConfiguration":    obj{"encryptionType": "KMS", "kmsKey": keyOne},
	}
	kindtest.Golden(t, repositoryTable, obj{"scanOnPush": true, "encryption": "KMS", "kmsKey": keyOne}, kind.Document{}, body)
	tags := kind.Document{}
	setMutability(RepositoryProps{TagMutability: new("IMMUTABLE"), TagExclusions: []string{"latest"}}, tags)
	wanted := kind.Document{
		"imageTagMutability":                 "IMMUTABLE_WITH_EXCLUSION",
		"imageTagMutabilityExclusionFilters": []any{obj{"filterType": "WILDCARD", "filter": "latest"}},
	}
	if !reflect.DeepEqual(tags, wanted) {
		t.Errorf("%v, want %v", tags, wanted)
	}
	// Each member is one of the call, by the service's own description.
	m := awstest.LoadModel(t, "ecr")
	members := m.Shapes[m.Operations["CreateRepository"].Input.Shape].Members
	for _, name := range []string{"repositoryName", "tags", "imageTagMutability", "imageTagMutabilityExclusionFilters", "imageScanningConfiguration", "encryptionConfiguration"} {
		if _, ok := members[name]; !ok {
			t.Errorf("CreateRepository takes no %s", name)
		}
	}
}
