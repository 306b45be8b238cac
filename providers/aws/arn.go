package aws

import (
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// ARN names one thing of AWS, in all accounts and regions.
type ARN string

// Parts are the fields of an [ARN].
type Parts struct {
	Partition, Service, Region, Account string
	// Resource is all that follows, colons and slashes included.
	Resource string
}

// Parse takes an ARN apart; ok is false for what is none.
func (a ARN) Parse() (p Parts, ok bool) {
	f := strings.SplitN(string(a), ":", 6)
	if len(f) != 6 || f[0] != "arn" || f[1] == "" || f[2] == "" || f[5] == "" {
		return Parts{}, false
	}
	return Parts{Partition: f[1], Service: f[2], Region: f[3], Account: f[4], Resource: f[5]}, true
}

// ARN puts the parts together.
func (p Parts) ARN() ARN {
	return ARN(strings.Join([]string{"arn", p.Partition, p.Service, p.Region, p.Account, p.Resource}, ":"))
}

// ARNIn names a resource of a service in a place.
func ARNIn(place reconcile.Place, service, resource string) ARN {
	return Parts{Partition: Partition(place.Region), Service: service, Region: place.Region, Account: place.Account, Resource: resource}.ARN()
}

// Partition is the family of regions that one belongs to. Their accounts and ARNs are apart.
func Partition(region string) string {
	for prefix, partition := range partitions {
		if strings.HasPrefix(region, prefix) {
			return partition
		}
	}
	return "aws"
}

// partitions are those with regions that begin alike, from the SDK's partitions.json.
var partitions = map[string]string{
	"cn-": "aws-cn", "us-gov-": "aws-us-gov", "us-iso-": "aws-iso", "us-isob-": "aws-iso-b", "eu-isoe-": "aws-iso-e",
	"us-isof-": "aws-iso-f", "eusc-": "aws-eusc",
}
