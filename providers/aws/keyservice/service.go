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

// kms is called without a client of the SDK, as kinds of KMS call it.
func kms() aws.JSONService {
	return aws.JSONService{Name: "KMS", Signing: "kms", Host: "kms", Target: "TrentService", Version: "1.1"}
}

// message is what both calls take and answer: https://docs.aws.amazon.com/kms/latest/APIReference/API_Encrypt.html
type message struct {
	KeyID             string            `json:"KeyId,omitempty"`
	Plaintext         []byte            `json:",omitempty"`
	CiphertextBlob    []byte            `json:",omitempty"`
	EncryptionContext map[string]string `json:",omitempty"`
}

// Wrap implements [seal.KeyService].
func (s *service) Wrap(arn string, plain []byte, bound map[string]string) ([]byte, error) {
	out, err := s.call("Encrypt", message{KeyID: arn, Plaintext: plain, EncryptionContext: bound})
	return out.CiphertextBlob, err
}

// Unwrap implements [seal.KeyService].
func (s *service) Unwrap(arn string, sealed []byte, bound map[string]string) ([]byte, error) {
	out, err := s.call("Decrypt", message{KeyID: arn, CiphertextBlob: sealed, EncryptionContext: bound})
	return out.Plaintext, err
}

func (s *service) call(operation string, in message) (message, error) {
	parts := arnForm().FindStringSubmatch(in.KeyID)
	if parts == nil {
		return message{}, reconcile.WithHint(fmt.Errorf("%q is no ARN of a KMS key", in.KeyID),
			"awskms:arn:aws:kms:eu-west-1:123456789012:key/…")
	}
	region := parts[1]
	cloud, err := aws.Provider().Open(s.begun, &aws.Settings{Region: &region})
	if err != nil {
		return message{}, err
	}
	out, err := reconcile.Retry(s.begun, cloud.Classify, func(ctx context.Context) (out message, err error) {
		err = kms().CallUngated(ctx, cloud, operation, in, &out)
		return out, err
	})
	return out, explained(err, "kms:"+operation, region, parts[2])
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
