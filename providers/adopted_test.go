package providers

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// ofRegistry are the types of other tools whose resources are declared by a kind of the registry although a kind of its own manages
// objects of the type, with the reason.
var ofRegistry = map[string]string{
	"aws_ecs_service":               "the kind of its own registers task definitions, in a family of its own: what is adopted would be deployed anew",
	"AWS::ECS::Service":             "as aws_ecs_service",
	"aws_api_gateway_domain_name":   "it is for REST APIs, of which there is no kind",
	"AWS::ApiGateway::DomainName":   "as aws_api_gateway_domain_name",
	"AWS::ApiGateway::DomainNameV2": "as aws_api_gateway_domain_name",
	"AWS::DynamoDB::GlobalTable":    "its properties are those of all its replicas, and the kind of its own has one table",
	"AWS::Cognito::UserPool":        "its properties are not mapped yet",
	"AWS::Events::EventBusPolicy":   "it is not folded into its bus yet",
}

// instead are the functions of lines that choose the kind of its own where that kind has all that is declared.
var instead = []string{"!certificate", "!stackCertificate", "!distribution", "!stackDistribution", "!cluster", "!stackCluster", "!stackMachine"}

// TestKindsOfTheirOwnAreAdopted holds the tables of adoption to the kinds that there are: what a kind of its own manages is not declared
// by a kind of the registry, in which an author would find other names for the same, unless a reason stands here.
func TestKindsOfTheirOwnAreAdopted(t *testing.T) {
	own := map[string]string{}
	for _, s := range services() {
		maps.Copy(own, s.Registry)
		maps.Copy(own, s.Also)
	}
	seen := map[string]bool{}
	judge := func(table, typ, registry string, rules []string) {
		kind := own[registry]
		chooses := slices.ContainsFunc(instead, func(hook string) bool { return slices.Contains(rules, hook) })
		switch _, known := ofRegistry[typ]; {
		case kind == "" || chooses:
		case known:
			seen[typ] = true
		default:
			t.Errorf("%s: %s is declared as %s, and %s manages it: map it to that, or say in ofRegistry why not", table, typ, registry, kind)
		}
	}
	lines, mapped := 0, map[string]bool{}
	for _, table := range []string{"types.txt", "cloudformation.txt", "alchemy.txt"} {
		text, err := os.ReadFile("../adopt/from/terraform/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if words := strings.Fields(line); len(words) > 2 && words[0] != "#" {
				lines, mapped[words[0]] = lines+1, true
				judge(table, words[0], words[1], words[2:])
			}
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(own)) {
		if !mapped[typ] {
			judge("cloudformation.txt, which has no line of it", typ, typ, nil)
		}
	}
	for typ := range ofRegistry {
		if !seen[typ] {
			t.Errorf("%s has a reason, and is not declared by a kind of the registry", typ)
		}
	}
	if lines < 400 || len(own) < 40 {
		t.Errorf("%d lines are read, and %d types have a kind of their own", lines, len(own))
	}
}
