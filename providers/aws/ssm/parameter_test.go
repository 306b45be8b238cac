package ssm

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func expires(at string) obj {
	return obj{"Type": "Expiration", "Version": "1.0", "Attributes": obj{"Timestamp": at}}
}

func tells(days string) obj {
	return obj{"Type": "NoChangeNotification", "Version": "1.0", "Attributes": obj{"After": days, "Unit": "Days"}}
}

// tuned has everything that a parameter which anybody may see can have.
func tuned() obj {
	return obj{
		"value": "shop.example", "tier": "Advanced", "description": "where the shop is", "allowedPattern": "^[a-z.]+$",
		"policies": list{tells("20"), expires("2039-12-02T21:34:33.000Z")}, "tags": obj{"team": "web", "cost center": "42"},
	}
}

func secret() obj {
	return obj{"secureValue": "canary-two", "keyId": "alias/shop", "description": "a password"}
}

func parameterSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Suite{
		Kind:  parameterKind.Erase(),
		World: ws.Make(newWorld, (*world).parameters),
		Base:  obj{"value": "one", "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "list", Props: obj{"name": "/shop/prod/domains", "value": "a,b", "type": "StringList", "tier": "Advanced"}},
			{Name: "image", Props: obj{"value": "ami-12345abcdeEXAMPLE", "dataType": "aws:ec2:image", "description": "a machine"}},
			{Name: "secret", Props: secret()},
		},
		Hands:  hands(ws),
		Steady: map[tree.Path]string{"name": "a parameter keeps its name for life"},
		Silent: map[tree.Path]string{
			"secureValue": "a value excludes it; TestOtherBases changes it",
			"keyId":       "a value excludes it; TestOtherBases changes it",
			"policies":    "they need the tier Advanced; TestOtherBases changes them",
		},
	}
}

func TestParameter(t *testing.T) {
	kindtest.Run(t, parameterSuite())
}

// TestOtherBases is about props that only some parameters can have: each is changed alone, there and back, and cut.
func TestOtherBases(t *testing.T) {
	for name, bases := range map[string]struct {
		base     obj
		variants []kindtest.Variant
	}{
		"secret": {
			obj{"secureValue": "canary-one"},
			[]kindtest.Variant{{Name: "another", Props: secret()}, {Name: "plain", Props: obj{"value": "one"}}},
		},
		"advanced": {
			obj{"value": "one", "tier": "Advanced", "policies": list{tells("20")}},
			[]kindtest.Variant{
				{Name: "expiring", Props: obj{"value": "two", "tier": "Advanced", "policies": `[{"Type":"Expiration","Version":"1.0","Attributes":{"Timestamp":"2039-12-02T21:34:33.000Z"}}]`}},
				{Name: "bare", Props: obj{"value": "one", "tier": "Advanced"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := parameterSuite()
			s.Base, s.Variants = bases.base, bases.variants
			s.Silent = map[tree.Path]string{"value": "a secureValue excludes it"}
			if name == "advanced" {
				s.Silent = nil
			}
			kindtest.RunOnly(t, s, kindtest.ThreeStarts, kindtest.ThereAndBack, kindtest.PropAlone, kindtest.Unset, kindtest.Crashes,
				kindtest.Unknown, kindtest.SecretsMasked)
		})
	}
}
