package secretsmanager

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func readPolicy(action string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{
		"Sid": "read", "Effect": "Allow", "Principal": obj{"AWS": "arn:aws:iam::" + account + ":role/app"}, "Action": action, "Resource": "*",
	}}}
}

func rotation(schedule string) obj {
	return obj{"lambdaArn": "arn:aws:lambda:us-east-1:" + account + ":function:rotate", "scheduleExpression": schedule}
}

// tuned has everything that a secret can have whose value is given.
func tuned() obj {
	return obj{
		"value": `{"password":"canary-two"}`, "description": "of the shop", "kmsKeyId": "alias/shop",
		"replicas": list{obj{"region": "eu-west-1"}, obj{"region": "eu-central-1", "kmsKeyId": "alias/there"}},
		"policy":   readPolicy("secretsmanager:GetSecretValue"), "recoveryWindow": "7d", "blockPublicPolicy": true, "forceDelete": true,
		"tags": obj{"team": "web", "cost center": "42"},
	}
}

func generated() obj {
	return obj{
		"generate": obj{
			"length": int64(40), "excludeCharacters": "\"@/", "excludeLowercase": true, "excludeUppercase": true, "excludeNumbers": true,
			"excludePunctuation": false, "includeSpace": true, "requireEachIncludedType": false, "template": obj{"username": "app"}, "key": "password",
		},
		"rotation": obj{
			"lambdaArn": "arn:aws:lambda:us-east-1:" + account + ":function:rotate", "scheduleExpression": "rate(30 days)", "duration": "3h",
			"rotateImmediately": false,
		},
	}
}

func secretSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Suite{
		Kind:  secretKind.Erase(),
		World: ws.Make(newWorld, withoutValues),
		Base:  obj{"value": "canary-one", "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "generated", Props: generated()},
			{Name: "external", Props: obj{"name": "shop/password", "external": true, "policy": `{"Statement":{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}}`}},
			{Name: "often", Props: obj{"value": "canary-one", "rotation": rotation("rate(4 hours)"), "replicas": list{obj{"region": "eu-west-1", "kmsKeyId": "alias/other"}}}},
		},
		Hands: hands(ws),
		Others: map[tree.Path][]any{
			"replicas.*.region":           {"us-west-2"},
			"rotation.scheduleExpression": {"rate(10 days)"},
			"recoveryWindow":              {"14d"},
		},
		Steady: map[tree.Path]string{
			"name":              "a secret keeps its name for life",
			"generate":          "a value is made up once, and never read",
			"external":          "it says whose the value is",
			"forceDelete":       "it counts when the secret is deleted",
			"blockPublicPolicy": "it counts when the policy is put",
		},
		Silent: map[tree.Path]string{
			"generate":          "a value excludes it; TestGeneratedOnce has it",
			"external":          "a value excludes it",
			"forceDelete":       "it counts when the secret is deleted",
			"blockPublicPolicy": "it counts when the policy is put",
		},
	}
}

func TestSecret(t *testing.T) { kindtest.Run(t, secretSuite()) }

// TestValues is about values alone, which others see as they are declared.
func TestValues(t *testing.T) {
	ws, s := awstest.Worlds[*world]{}, secretSuite()
	s.World, s.Hands = ws.Make(newWorld, withValues), hands(ws)
	s.Base, s.Variants = obj{"value": "canary-one"}, []kindtest.Variant{{Name: "another", Props: obj{"value": "canary-two", "description": "of the shop"}}}
	kindtest.RunOnly(t, s, kindtest.ThreeStarts, kindtest.ThereAndBack, kindtest.Crashes, kindtest.SecretsMasked)
	t.Run("drift", func(t *testing.T) {
		w := newWorld(t)
		out := w.Settled(t, s.Base, nil)
		id := new(out.Identity)
		if err := edits["value"](t.Context(), edited{w.Others, id}, SecretProps{Value: "canary-theirs"}); err != nil {
			t.Fatal(err)
		}
		if w.Settled(t, s.Base, &out); w.value(t, id) != "canary-one" {
			t.Errorf("repaired to %s", w.value(t, id))
		}
	})
}
