// Package keyservice wraps the keys of stages with AWS KMS, under a key that never leaves it.
//
// It knows ARNs, regions and what KMS answers. It does not know what a stage key is for, and is no kind: nothing here
// creates or changes a resource.
package keyservice

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// New returns the key service of AWS, with the credentials of the environment. Its calls end with the context.
func New(ctx context.Context) seal.KeyService { return &service{begun: ctx} }

// service is AWS KMS in all regions: the ARN of a key says which.
type service struct {
	begun context.Context //nolint:containedctx // of the command: who looks for a key knows none
}

// arnForm is the form of what may wrap a key. The region becomes part of a host's name.
var arnForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^arn:aws[a-z-]*:kms:([a-z0-9]+(?:-[a-z0-9]+)*):([0-9]{12}):(key|alias)/[A-Za-z0-9/_-]{1,256}$`)
})

// Wrap implements [seal.KeyService].
func (s *service) Wrap(arn string, plain []byte, bound map[string]string) ([]byte, error) {
	return s.call(arn, "kms:Encrypt", func(ctx context.Context, client *kms.Client) ([]byte, error) {
		out, err := client.Encrypt(ctx, &kms.EncryptInput{KeyId: &arn, Plaintext: plain, EncryptionContext: bound})
		if err != nil {
			return nil, err
		}
		return out.CiphertextBlob, nil
	})
}

// Unwrap implements [seal.KeyService].
func (s *service) Unwrap(arn string, sealed []byte, bound map[string]string) ([]byte, error) {
	return s.call(arn, "kms:Decrypt", func(ctx context.Context, client *kms.Client) ([]byte, error) {
		out, err := client.Decrypt(ctx, &kms.DecryptInput{KeyId: &arn, CiphertextBlob: sealed, EncryptionContext: bound})
		if err != nil {
			return nil, err
		}
		return out.Plaintext, nil
	})
}

func (s *service) call(arn, permission string, do func(context.Context, *kms.Client) ([]byte, error)) ([]byte, error) {
	parts := arnForm().FindStringSubmatch(arn)
	if parts == nil {
		return nil, reconcile.WithHint(fmt.Errorf("%q is no ARN of a KMS key", arn),
			"awskms:arn:aws:kms:eu-west-1:123456789012:key/…")
	}
	region := parts[1]
	cloud, err := aws.Provider().Open(s.begun, &aws.Settings{Region: &region})
	if err != nil {
		return nil, err
	}
	in, ok := cloud.(*aws.Cloud)
	if !ok {
		return nil, fmt.Errorf("%T is no place in AWS", cloud)
	}
	cfg, err := in.Config()
	if err != nil {
		return nil, err
	}
	cfg.APIOptions = nil // the gates of calls on resources ask for the account first, which the ARN names here
	client := kms.NewFromConfig(cfg)
	result, err := reconcile.Retry(s.begun, cloud.Classify, func(ctx context.Context) ([]byte, error) {
		return do(ctx, client)
	})
	return result, explained(err, permission, region, parts[2])
}

// explained says what to do about what KMS refuses.
func explained(err error, permission, region, account string) error {
	if err == nil || len(reconcile.Hints(err)) > 0 {
		return err
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return reconcile.WithHint(err, "KMS of %s must be reachable, or $AWS_ENDPOINT_URL_KMS names what stands for it", region)
	}
	said := fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	switch api.ErrorCode() {
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidClientTokenId", "ExpiredTokenException":
		return reconcile.WithHint(said, "the credentials at hand need %s on the key, by its policy and by theirs", permission)
	case "NotFoundException":
		return reconcile.WithHint(said, "the ARN names region %s and account %s: is the key there?", region, account)
	case "DisabledException", "KMSInvalidStateException":
		return reconcile.WithHint(said, "enable the key, or cancel its deletion")
	case "InvalidCiphertextException", "IncorrectKeyException":
		return reconcile.WithHint(said, "the file was changed, or is of another stage")
	}
	return said
}
