package secretsmanager

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listSecretsCall func(context.Context, *sdk.ListSecretsInput, ...func(*sdk.Options)) (*sdk.ListSecretsOutput, error)
)

// ListSecrets makes the call.
func (call listSecretsCall) ListSecrets(ctx context.Context, in *sdk.ListSecretsInput, o ...func(*sdk.Options)) (*sdk.ListSecretsOutput, error) {
	return call(ctx, in, o...)
}
