package stacks_test

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/cloudfront"
)

// content has a control, and a distribution whose origin is a server: moto keeps no others whole.
func content(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		cloudfront.NewOriginAccessControl(s, "control", cloudfront.OriginAccessControlProps{Description: word})
		cloudfront.NewDistribution(s, "cdn", cloudfront.DistributionProps{
			Comment: word, Origins: map[string]cloudfront.Origin{"shop": {Domain: "shop.example"}}, Default: cloudfront.Behavior{Origin: "shop"},
			Invalidate: &cloudfront.Invalidation{When: []string{word}}, Tags: map[string]string{"word": word, word: "tag"},
		})
		return nil
	}
}
