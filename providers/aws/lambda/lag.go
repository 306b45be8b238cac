package lambda

import (
	"context"
	"errors"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// lag tells a role that Lambda does not know yet, or not yet with its latest policies, from a mistake: changes in IAM
// arrive some seconds late, and Lambda has one code for both (InvalidParameterValueException). It goes by what is known
// of the role and by time, never by the text of the error.
type lag struct {
	cloud kind.Cloud
	role  aws.ARN
	since time.Time // when this reconciliation began
	// granted: the call needs what policies of the role grant. IAM does not show when they changed.
	granted bool
}

const (
	// youth is for how long after its creation a role may be unknown to Lambda.
	youth = time.Minute
	// grace is for how long policies that another process may have changed, or a role that IAM itself does not show yet, are
	// waited for.
	grace = 15 * time.Second
)

// of is the error of a call that names the role, or whose function has it: a temporary one where waiting may help.
func (l lag) of(ctx context.Context, err error) error {
	recent := time.Since(l.since) < grace
	switch {
	case !isInvalid(err):
		return err
	case aws.PermissionsArrive(l.cloud), l.granted && recent:
		return aws.Busy(err)
	}
	role := string(l.role)
	out, failed := aws.ClientIn(l.cloud, iam.ServiceID, iam.NewFromConfig).GetRole(ctx, &iam.GetRoleInput{
		RoleName: new(role[strings.LastIndexByte(role, '/')+1:]),
	})
	if failed == nil && time.Since(sdkaws.ToTime(out.Role.CreateDate)) < youth || aws.IsAbsent(failed) && recent {
		return aws.Busy(err)
	}
	return err
}

func isInvalid(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorCode() == "InvalidParameterValueException"
}
