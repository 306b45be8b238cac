package lambda

import (
	"context"
	"errors"
	"strings"
	"time"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// lag tells a role that Lambda does not know yet, or not yet with its latest policies, from a mistake: IAM tells of changes
// with a delay of some seconds, and Lambda has one code for both (InvalidParameterValueException). It goes by what is
// known of the role and by time, never by the text of the error.
type lag struct {
	cloud reconcile.Cloud
	role  aws.ARN
	since time.Time // when this settling began
	// granted says that the call needs what policies of the role grant, which may be as new as what needs it. IAM does not
	// tell when they changed.
	granted bool
}

const (
	// youth is for how long after its creation a role may be unknown to Lambda.
	youth = time.Minute
	// grace is for how long policies of an older role, or a role that IAM itself does not show yet, are waited for.
	grace = 15 * time.Second
)

// of is the error of a call that names the role, or whose function has it: one that goes away by waiting where that
// may be so.
func (l lag) of(ctx context.Context, err error) error {
	if !isInvalid(err) {
		return err
	}
	if l.granted && time.Since(l.since) < grace {
		return aws.Busy(err)
	}
	made, look := l.made(ctx)
	switch {
	case look == nil && time.Since(made) < youth, aws.IsAbsent(look) && time.Since(l.since) < grace:
		return aws.Busy(err)
	}
	return err
}

func isInvalid(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorCode() == "InvalidParameterValueException"
}

// made is when the role was.
func (l lag) made(ctx context.Context) (time.Time, error) {
	roles, err := aws.Client(l.cloud, iam.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(iam.NewFromConfig(cfg)) })
	if err != nil {
		return time.Time{}, err
	}
	p, _ := l.role.Parse()
	out, err := (*iam.Client)(roles).GetRole(ctx, &iam.GetRoleInput{RoleName: new(p.Resource[strings.LastIndexByte(p.Resource, '/')+1:])})
	if err != nil {
		return time.Time{}, err
	}
	return sdkaws.ToTime(out.Role.CreateDate), nil
}
