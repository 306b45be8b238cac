package aws

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/athanor-dev/athanor/reconcile"
)

// CredentialsError says that there are no usable credentials, or that the configuration for them cannot be read.
type CredentialsError struct{ Err error }

func (e *CredentialsError) Error() string { return "no credentials: " + e.Err.Error() }
func (e *CredentialsError) Unwrap() error { return e.Err }

// credentials tells a failure to get them from a failure of the call that needs them.
type credentials struct {
	from    sdk.CredentialsProvider
	profile string // "" is the default one
	role    string // "" where the settings name none
	codes   *deviceCodes
}

// Retrieve gets them, or says what to do.
func (c credentials) Retrieve(ctx context.Context) (sdk.Credentials, error) {
	c.codes.askFor(ctx)
	found, err := c.from.Retrieve(ctx)
	if err != nil && ctx.Err() == nil {
		err = c.explained(err)
	}
	return found, err
}

func (c credentials) explained(err error) error {
	if len(reconcile.Hints(err)) > 0 {
		return &CredentialsError{Err: err}
	}
	if c.role != "" {
		return reconcile.WithHint(&CredentialsError{Err: fmt.Errorf("assume %s: %w", c.role, err)},
			"the role's trust policy must let the caller assume it, and so must the caller's own: `aws sts get-caller-identity` names the caller")
	}
	signIn := "aws sso login"
	if c.profile != "" {
		signIn += " --profile " + c.profile
	}
	if _, expired := errors.AsType[*ssocreds.InvalidTokenError](err); expired {
		return reconcile.WithHint(&CredentialsError{Err: err}, "sign in again: `%s`", signIn)
	}
	return reconcile.WithHint(&CredentialsError{Err: err},
		"set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with `%s`", signIn)
}

// deviceCodes asks for the codes of a device, of which the SDK's own question knows no context.
type deviceCodes struct {
	question string
	ask      atomic.Pointer[func(question string) (string, error)]
}

// askFor makes those who can be asked under ctx the ones that are asked.
func (c *deviceCodes) askFor(ctx context.Context) {
	if c != nil {
		c.ask.Store(new(func(question string) (string, error) { return reconcile.Prompt(ctx, question) }))
	}
}

// code asks for one code.
func (c *deviceCodes) code() (string, error) {
	ask := c.ask.Load()
	if ask == nil {
		return "", reconcile.ErrNobody
	}
	code, err := (*ask)(c.question)
	if errors.Is(err, reconcile.ErrNobody) {
		return "", reconcile.WithHint(fmt.Errorf("a role needs the code of a device: %w", err),
			"run it on a terminal, or hand it the keys of a session: `eval \"$(aws configure export-credentials --format env)\"`")
	}
	return code, err
}

// rolesLast is for how long a role is assumed whose profile does not say, where a person typed a code for it: the longest that
// every role allows. The SDK's own quarter of an hour would ask again in the middle of a deploy.
const rolesLast = time.Hour

// withCodes makes roles that need a device ask for its code.
func withCodes(asks *deviceCodes) config.LoadOptionsFunc {
	return config.WithAssumeRoleCredentialOptions(func(o *stscreds.AssumeRoleOptions) {
		if o.SerialNumber == nil {
			return
		}
		asks.question = fmt.Sprintf("code of %s for %s: ", *o.SerialNumber, o.RoleARN)
		o.TokenProvider = asks.code
		if o.Duration == 0 || o.Duration == stscreds.DefaultDuration {
			o.Duration = rolesLast
		}
	})
}

// chains are the credentials that profiles lead to, each once for all handles of a provider: a device's code is good for one call.
type chains struct {
	mu sync.Mutex
	by map[[2]string]sdk.CredentialsProvider
}

// once returns the credentials of a profile and an endpoint as they were found first.
func (c *chains) once(profile, endpoint string, found sdk.CredentialsProvider) sdk.CredentialsProvider {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{profile, endpoint}
	if known, ok := c.by[key]; ok {
		return known
	}
	if c.by == nil {
		c.by = map[[2]string]sdk.CredentialsProvider{}
	}
	c.by[key] = found
	return found
}

// assumed are the credentials of a role, which those of a configuration assume.
func assumed(cfg sdk.Config, role *AssumeRole) sdk.CredentialsProvider {
	cfg = cfg.Copy()
	cfg.HTTPClient = limited(cfg.HTTPClient)
	return sdk.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), role.ARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName, o.Duration = "athanor", rolesLast
		if role.SessionName != "" {
			o.RoleSessionName = role.SessionName
		}
		if role.Duration != nil {
			o.Duration = *role.Duration
		}
		if role.ExternalID != "" {
			o.ExternalID = &role.ExternalID
		}
	}))
}
