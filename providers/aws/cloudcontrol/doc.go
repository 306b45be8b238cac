// Package cloudcontrol offers every resource type of AWS that Cloud Control can serve, by the name and with the
// property names of the public registry: kind AWS::EC2::VPC.
//
// One kind is made of each type's schema (package registry) when it is asked for. It knows how what is declared is
// compared with what is read, how a difference becomes a patch, how a running request is waited for, and how a
// resource is found without state. What a schema does not say, it does not do. It knows nothing of any single type but
// which ones become a part of another resource, or create what a kind of this provider creates too (overlap.go). Types that
// have a kind of their own are refused with that kind's name.
package cloudcontrol

import (
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
)

// Prefix begins the names of all types that AWS itself has in the registry.
const Prefix = "AWS::"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Family: &reconcile.Family{
			Prefix: Prefix,
			Doc:    "Every other type of AWS, through Cloud Control: the registry's names and properties.",
			Types:  registry.Names,
			Kind:   Kind,
		},
		Everything: true,
		Match:      match,
	}
}

// Kind is the kind of a type of the registry.
func Kind(name string) (reconcile.Any, error) {
	k, err := kindNamed(name)
	if err != nil {
		return nil, err
	}
	return k.whole().Erase(), nil
}

func kindNamed(name string) (*kind, error) {
	t, err := registry.Lookup(name)
	if err != nil {
		return nil, noKind(name, err)
	}
	return newKind(t), nil
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	return aws.Client(cloud, sdk.ServiceID, sdk.NewFromConfig)
}
