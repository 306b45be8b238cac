package iam

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// tuned has everything that a role can have.
func tuned() obj {
	return obj{
		"name": "Worker", "path": "/jobs/night/", "trustPolicy": trust("lambda"), "description": "works & sleeps", "maxSessionDuration": "12h",
		"permissionsBoundary": managed("bound"), "managedPolicies": list{managed("write"), managed("read")},
		"inline":   obj{"logs": allow("logs:PutLogEvents", "*"), "text": `{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"s3:*","Resource":"*"}}`},
		"bindings": list{grant("sqs:SendMessage", "queue"), grant("sns:Publish", "topic")},
		"tags":     obj{"team": "web", "cost center": "42"},
	}
}

func grant(action, on string) obj {
	return obj{
		"sid": "On" + on, "actions": list{action}, "resources": list{"arn:aws:sqs:us-east-1:" + account + ":" + on},
	}
}

func roleSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	conditional := grant("sqs:SendMessage", "queue")
	conditional["actions"] = list{"sqs:SendMessage", "sqs:DeleteMessage"}
	conditional["resources"] = list{"arn:aws:sqs:us-east-1:" + account + ":queue", "arn:aws:sqs:us-east-1:" + account + ":dead"}
	conditional["effect"], conditional["conditions"] = "Deny", obj{"StringEquals": obj{"aws:PrincipalTag/team": list{"web", "shop"}}}
	return kindtest.Derive(roleTable, kindtest.Suite{
		Kind:  roleKind.Erase(),
		World: ws.Make(with(theirs...), (*world).roles),
		Base:  obj{"trustPolicy": trust("ec2"), "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned()},
			{Name: "half", Props: obj{
				"trustPolicy":     `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"AWS":"` + account + `"},"Action":["sts:AssumeRole"]}}`,
				"managedPolicies": list{managed("read")}, "permissionsBoundary": managed("bound-more"),
				"inline": obj{"logs": allow("logs:CreateLogStream", "*")}, "bindings": list{conditional},
			}},
		},
		Hands: roleHands(ws),
		Others: map[tree.Path][]any{
			"trustPolicy":             {trust("states")},
			"permissionsBoundary":     {managed("read")},
			"managedPolicies.*":       {managed("bound")},
			"inline.*":                {allow("s3:ListBucket", "*")},
			"bindings.*.conditions.*": {obj{"aws:PrincipalTag/team": list{"web"}}},
			"bindings.*.sid":          {"Else"},
		},
		Steady: map[tree.Path]string{
			"name":                  "a role keeps its name for life",
			"bindings.*.principals": "a grant has none",
			"bindings.*.everybody":  "a grant has none",
		},
	})
}

func TestRole(t *testing.T) { kindtest.Run(t, roleSuite()) }
