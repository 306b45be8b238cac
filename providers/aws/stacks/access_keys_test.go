package stacks_test

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/route53"
)

// protected has a key and a certificate.
func protected(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		kms.NewKey(s, "key", kms.KeyProps{
			Aliases: []string{"alias/" + word}, Description: word, Rotation: true, Tags: map[string]string{"word": word},
		}, athanor.AllowDelete())
		zone := route53.NewHostedZone(s, "zone", route53.HostedZoneProps{Name: "shop.example", ForceDestroy: true}, athanor.AllowDelete())
		acm.NewCertificate(s, "cert", acm.CertificateProps{Domain: "shop.example", HostedZoneID: zone.ID, Tags: map[string]string{"word": word}})
		return nil
	}
}
