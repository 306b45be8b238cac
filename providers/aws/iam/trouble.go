package iam

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var errNoPolicy = errors.New("there is no such managed policy")

// settled is how long after its making a role may be unknown to the check of trust policies.
const settled = time.Minute

// missing tells a managed policy that does not exist, which is a mistake, from a role that the service does not see yet:
// it has one code for both.
func missing(ctx context.Context, client *sdk.Client, policy aws.ARN, err error) error {
	if !aws.IsAbsent(err) {
		return err
	}
	if _, look := client.GetPolicy(ctx, &sdk.GetPolicyInput{PolicyArn: new(string(policy))}); aws.IsAbsent(look) {
		return fmt.Errorf("%w: %s", errNoPolicy, policy)
	}
	return aws.NotYet(err)
}

// untrusted tells a principal that IAM does not know yet, which goes away by waiting, from a mistake in a trust policy:
// the service has one code for both. A role of the account that was made within the last minute is waited for.
func untrusted(ctx context.Context, client *sdk.Client, location kind.Location, trust string, err error) error {
	if _, ok := errors.AsType[*types.MalformedPolicyDocumentException](err); !ok {
		return err
	}
	for _, arn := range principalsIn(trust) {
		p, ok := arn.Parse()
		if !ok || p.Service != "iam" || p.Account != location.Account || !strings.HasPrefix(p.Resource, "role/") {
			continue
		}
		name := nameIn(p.Resource)
		out, look := client.GetRole(ctx, &sdk.GetRoleInput{RoleName: &name})
		if look == nil && time.Since(sdkaws.ToTime(out.Role.CreateDate)) < settled {
			return aws.Busy(fmt.Errorf("%s was made a moment ago: %w", arn, err))
		}
	}
	return err
}

// principalsIn are the ARNs of those whom a trust policy names.
func principalsIn(trust string) []aws.ARN {
	var all []aws.ARN
	tree.Any(aws.Document(trust), func(v any) bool {
		if text, ok := v.(string); ok && strings.HasPrefix(text, "arn:") {
			all = append(all, aws.ARN(text))
		}
		return false
	})
	return all
}
