package ecr

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestGolden has the members of https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_CreateRepository.html as it shows them.
func TestGolden(t *testing.T) {
	body := kind.Document{
		"imageTagMutability": "IMMUTABLE", "imageScanningConfiguration": obj{"scanOnPush": true},
		"encryptionConfiguration": obj{"encryptionType": "KMS", "kmsKey": keyOne},
	}
	kindtest.Golden(t, repositoryTable, obj{"tagMutability": "IMMUTABLE", "scanOnPush": true, "encryption": "KMS", "kmsKey": keyOne}, kind.Document{}, body)
	// Each member is one of the call, by the service's own description.
	m := awstest.LoadModel(t, "ecr")
	members := m.Shapes[m.Operations["CreateRepository"].Input.Shape].Members
	for _, name := range []string{"repositoryName", "tags", "imageTagMutability", "imageScanningConfiguration", "encryptionConfiguration"} {
		if _, ok := members[name]; !ok {
			t.Errorf("CreateRepository takes no %s", name)
		}
	}
}
