// Package types_test deploys the examples of types that have no kind of their own.
package types_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/controltest"
)

// used are the types without a kind of their own that projects use most, in that order: those of the resources that most state files and
// configurations of Terraform have, counted by owners and repositories.
var used = []string{
	"AWS::EC2::SecurityGroup", "AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::InternetGateway", "AWS::EC2::VPCGatewayAttachment",
	"AWS::EC2::RouteTable", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::Instance", "AWS::ECS::Cluster",
	"AWS::ElasticLoadBalancingV2::TargetGroup", "AWS::ElasticLoadBalancingV2::Listener", "AWS::ECS::TaskDefinition",
	"AWS::ElasticLoadBalancingV2::LoadBalancer", "AWS::ECS::Service", "AWS::EC2::EIP", "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Method",
	"AWS::ApiGateway::Resource", "AWS::RDS::DBInstance", "AWS::EC2::NatGateway", "AWS::ApiGateway::Deployment", "AWS::IAM::InstanceProfile",
	"AWS::RDS::DBSubnetGroup", "AWS::AutoScaling::AutoScalingGroup", "AWS::EC2::Route", "AWS::EC2::KeyPair", "AWS::ApiGateway::Stage",
	"AWS::EC2::SecurityGroupIngress", "AWS::EC2::LaunchTemplate", "AWS::IAM::OIDCProvider", "AWS::EKS::Cluster", "AWS::CloudWatch::Alarm",
	"AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient", "AWS::IAM::User", "AWS::EKS::Nodegroup", "AWS::Glue::Database",
	"AWS::ElasticLoadBalancingV2::ListenerRule", "AWS::EC2::VPCEndpoint", "AWS::AutoScaling::ScalingPolicy", "AWS::EC2::EIPAssociation",
	"AWS::RDS::DBParameterGroup", "AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::ApplicationAutoScaling::ScalableTarget",
	"AWS::ElastiCache::CacheCluster", "AWS::EC2::SecurityGroupEgress", "AWS::Athena::WorkGroup", "AWS::CloudTrail::Trail",
	"AWS::Route53::HealthCheck", "AWS::Kinesis::Stream",
}

// notDeclared are those of them that no example can declare, with the reason.
var notDeclared = map[string]string{}

// TestEveryUsedTypeHasAnExample holds the files to the fifty types that projects use most.
func TestEveryUsedTypeHasAnExample(t *testing.T) {
	typeName := regexp.MustCompile(`kind: (AWS::\w+::\w+)`)
	declared := map[string]bool{}
	for _, file := range files(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range typeName.FindAllStringSubmatch(string(text), -1) {
			declared[match[1]] = true
		}
	}
	if len(used) != 50 {
		t.Errorf("%d types, want 50", len(used))
	}
	for _, name := range used {
		if declared[name] == (notDeclared[name] != "") {
			t.Errorf("%s: an example declares it: %t; said not to be: %q", name, declared[name], notDeclared[name])
		}
	}
}

func files(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("*.yaml")
	if err != nil || len(all) < 10 {
		t.Fatalf("examples %v, %v", all, err)
	}
	return all
}

// unchecked are the examples of which references are not checked, since the schemas say that they lead to another type, with the reason.
var unchecked = map[string]string{
	"containers.yaml": "a role is of a kind by hand",
	"kubernetes.yaml": "roles are of a kind by hand",
	"people.yaml":     "a policy is one of AWS",
	"rest.yaml":       "the root of an API is made with it",
	"server.yaml":     "a role is of a kind by hand, and addresses are written out",
	"servers.yaml":    "the name of a group of servers is one of its own",
	"watch.yaml":      "a bucket and a log group are of kinds by hand",
}

// TestBySchemas deploys every example against a Cloud Control that treats resources as their schemas say, references included, and
// ministack for the kinds by hand beside them. It is the only emulator that can: the Cloud Control of ministack answers with what it was
// sent, without what services fill in (the GroupId of a security group, the root of an API), and lists nothing; moto has none.
func TestBySchemas(t *testing.T) {
	schemas := controltest.Load(t)
	for _, file := range files(t) {
		t.Run(strings.TrimSuffix(file, ".yaml"), func(t *testing.T) {
			t.Parallel()
			control := controltest.Start(t, schemas)
			control.Strict = unchecked[file] == ""
			control.Default("AWS::Cognito::UserPool", "UserPoolId", "eu-north-1_example") // which says no schema
			life(t, file, append(control.Environ(), "AWS_ENDPOINT_URL="+beside(t, control.URL, awstest.StartMinistack(t).URL)))
		})
	}
}

// beside is an endpoint that leads to Cloud Control, and for all other services elsewhere.
func beside(t *testing.T, control, others string) string {
	t.Helper()
	to := func(address string) *httputil.ReverseProxy {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return httputil.NewSingleHostReverseProxy(u)
	}
	first, second := to(control), to(others)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scope := r.Header.Get("Authorization")
		for _, service := range []string{"/cloudcontrolapi/", "/tagging/", "/sts/"} {
			if strings.Contains(scope, service) {
				first.ServeHTTP(w, r)
				return
			}
		}
		second.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// summary is the last line of a run.
type summary struct {
	Created, Recovered, Updated, Replaced, Deleted, Unchanged, Failed, Blocked int

	Calls struct{ Mutations int }
}

// life deploys an example twice, and destroys it.
func life(t *testing.T, file string, env []string) {
	t.Helper()
	home := t.TempDir()
	env = append(slices.Clip(env), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "ATHANOR_STAGE="+strings.TrimSuffix(file, ".yaml"),
		"ATHANOR_STORE=bolt:"+filepath.Join(home, "state.db"))
	first := run(t, env, "deploy", file, "--yes")
	if first.Created == 0 || first.Failed+first.Blocked > 0 {
		t.Fatalf("first deploy: %+v", first)
	}
	if again := run(t, env, "deploy", file, "--yes"); again.Unchanged != first.Created || again.Calls.Mutations != 0 {
		t.Errorf("second deploy: %+v", again)
	}
	if gone := run(t, env, "destroy", file, "--yes", "--allow-delete", "**"); gone.Deleted != first.Created {
		t.Errorf("destroy: %+v, created %d", gone, first.Created)
	}
}

// run runs a command that must end well, and returns its summary.
func run(t *testing.T, env []string, args ...string) (s summary) {
	t.Helper()
	c := exec.CommandContext(t.Context(), programtest.Athanor(t), append(args, "--json")...)
	c.Env = env
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		_, failures, _ := strings.Cut(out.String(), `"failures":`)
		t.Fatalf("athanor %v: %v\n%s%s", args, err, failures, &errs)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil {
		t.Fatal(err)
	}
	return s
}
