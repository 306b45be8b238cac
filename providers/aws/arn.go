package aws

import (
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// ARN names one object of AWS, in all accounts and regions.
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

// On is what actions on a service's objects are allowed on, for the objects of a name: the ARN of one, which a name may be
// already. kind stands before the name in ARNs, such as "function:".
func On(service, kind string) func(place reconcile.Place, name string) []string {
	return func(place reconcile.Place, name string) []string {
		if _, ok := ARN(name).Parse(); ok {
			return []string{name}
		}
		return []string{string(ARNIn(place, service, kind+name))}
	}
}

// Global is the home of what a service has for a whole account and not by region: the region that such services are
// steered from. It is one for each partition, so that an object is the same wherever it is reached from.
func Global(reached reconcile.Place) reconcile.Place {
	if home, ok := homes[Partition(reached.Region)]; ok {
		reached.Region = home
	}
	return reached
}

// homes are the regions that the global services of each partition are steered from, from the SDK's endpoint rules of
// IAM.
var homes = map[string]string{
	"aws": "us-east-1", "aws-cn": "cn-north-1", "aws-us-gov": "us-gov-west-1", "aws-iso": "us-iso-east-1",
	"aws-iso-b": "us-isob-east-1", "aws-iso-e": "eu-isoe-west-1", "aws-iso-f": "us-isof-south-1", "aws-eusc": "eusc-de-east-1",
}

// partitions are those with regions that begin alike, from the SDK's partitions.json.
var partitions = map[string]string{
	"cn-": "aws-cn", "us-gov-": "aws-us-gov", "us-iso-": "aws-iso", "us-isob-": "aws-iso-b", "eu-isoe-": "aws-iso-e",
	"us-isof-": "aws-iso-f", "eusc-": "aws-eusc",
}

// Domain is what the hosts of a region end with.
func Domain(region string) string {
	switch Partition(region) {
	case "aws-cn":
		return "amazonaws.com.cn"
	case "aws-eusc":
		return "amazonaws.eu"
	case "aws-iso":
		return "c2s.ic.gov"
	case "aws-iso-b":
		return "sc2s.sgov.gov"
	case "aws-iso-e":
		return "cloud.adc-e.uk"
	case "aws-iso-f":
		return "csp.hci.ic.gov"
	default:
		return "amazonaws.com"
	}
}
