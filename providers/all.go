// Package providers lists the kinds that are built in.
//
// It knows every provider by name. It does not know what they do, and decides nothing.
package providers

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/acm"
	"github.com/athanor-dev/athanor/providers/aws/apigatewayv2"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol"
	"github.com/athanor-dev/athanor/providers/aws/cloudfront"
	"github.com/athanor-dev/athanor/providers/aws/cognito"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/ecr"
	"github.com/athanor-dev/athanor/providers/aws/ecs"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/kms"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/route53"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/scheduler"
	"github.com/athanor-dev/athanor/providers/aws/secretsmanager"
	"github.com/athanor-dev/athanor/providers/aws/sfn"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/ssm"
	"github.com/athanor-dev/athanor/providers/aws/website"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/containers"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/dns"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic"
	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/cloudflare/hyperdrive"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/routes"
	"github.com/athanor-dev/athanor/providers/cloudflare/rulesets"
	"github.com/athanor-dev/athanor/providers/cloudflare/tokens"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/cloudflare/workflows"
	"github.com/athanor-dev/athanor/providers/cloudflare/zones"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
	"github.com/athanor-dev/athanor/providers/terraform"
	"github.com/athanor-dev/athanor/reconcile"
)

// All are the built-in providers.
func All() []reconcile.Provider {
	all := []reconcile.Provider{
		local.Provider(),
		random.Provider(),
		terraform.Provider(),
		aws.Provider(services()...),
		here.Provider(slices.Concat(containers.Local(), d1.Local(), kv.Local(), queues.Local(), r2.Local(), workers.Local(), workflows.Local())...),
		cloudflare.Provider(ofCloudflare()...),
	}
	for i := range all {
		all[i].Validated = true // by TestAllKindsRegister
	}
	return all
}

// Constructs are what YAML uses of the built-in kinds beside their props, by kind.
func Constructs() map[string]athanor.Construct {
	all := aws.Constructs(services()...)
	maps.Copy(all, cloudflare.Constructs(ofCloudflare()...))
	return all
}

// ofCloudflare are the services of Cloudflare.
func ofCloudflare() []cloudflare.Service {
	return []cloudflare.Service{
		containers.Service(), d1.Service(), dns.Service(), generic.Service(), hyperdrive.Service(), kv.Service(), queues.Service(), r2.Service(),
		routes.Service(), rulesets.Service(), tokens.Service(), workers.Service(), workflows.Service(), zones.Service(),
	}
}

// services are those of AWS.
func services() []aws.Service {
	return []aws.Service{
		acm.Service(), apigatewayv2.Service(), cloudfront.Service(), cognito.Service(), dynamodb.Service(), ecr.Service(), ecs.Service(), eventbridge.Service(),
		iam.Service(), kms.Service(), lambda.Service(), logs.Service(), route53.Service(), s3.Service(), scheduler.Service(), secretsmanager.Service(),
		sfn.Service(), sns.Service(), sqs.Service(), ssm.Service(), website.Service(), cloudcontrol.Service(),
	}
}
