package secretsmanager

import (
	"context"
	"errors"
	"maps"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var (
	errNoPassword = errors.New("secrets manager made up no password")
	errTemplate   = errors.New("generate.template is no object")
)

// valueIn is a value as text. A binary one equals no text that could be declared.
func valueIn(out *sdk.GetSecretValueOutput) token.Secret {
	if out.SecretString == nil {
		return token.Secret("\x00" + string(out.SecretBinary))
	}
	return token.Secret(*out.SecretString)
}

// value has Secrets Manager make up a password, and puts it where the template wants it.
func (g *Generate) value(ctx context.Context, client *sdk.Client) (string, error) {
	in := &sdk.GetRandomPasswordInput{
		ExcludeCharacters: aws.OrNil(g.ExcludeCharacters), ExcludeLowercase: aws.OrNil(g.ExcludeLowercase), ExcludeUppercase: aws.OrNil(g.ExcludeUppercase),
		ExcludeNumbers: aws.OrNil(g.ExcludeNumbers), ExcludePunctuation: aws.OrNil(g.ExcludePunctuation), IncludeSpace: aws.OrNil(g.IncludeSpace),
		RequireEachIncludedType: g.RequireEachIncludedType,
	}
	if g.Length != nil {
		in.PasswordLength = new(int64(*g.Length))
	}
	out, err := client.GetRandomPassword(ctx, in)
	if err != nil {
		return "", err
	}
	password := sdkaws.ToString(out.RandomPassword)
	switch {
	case password == "":
		return "", errNoPassword
	case g.Template == nil:
		return password, nil
	}
	template, ok := aws.Document(g.Template).(map[string]any)
	if !ok {
		return "", errTemplate
	}
	filled := maps.Clone(template)
	filled[g.Key] = password
	return string(tree.Canonical(filled)), nil
}

// generate puts a value that is made up into a secret that has none.
func generate(want SecretProps) *kind.Operation[liveSecret] {
	return kind.Set("PutSecretValue", func(ctx context.Context, u kind.Update[liveSecret]) error {
		client := clientOf(u.Cloud)
		value, err := want.Generate.value(ctx, client)
		if err != nil {
			return err
		}
		_, err = client.PutSecretValue(ctx, &sdk.PutSecretValueInput{SecretId: u.Live.ARN, SecretString: &value, ClientRequestToken: new(u.Live.next("value"))})
		return aws.NotYet(err)
	})
}

// next names the value that follows the one that was seen: put twice, it is one version.
func (l liveSecret) next(what string) string {
	return tokenOf(what, sdkaws.ToString(l.ARN), l.current())
}
