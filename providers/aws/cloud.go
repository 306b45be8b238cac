package aws

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/athanor-dev/athanor/reconcile"
)

// Cloud is the way to one account and region. Credentials are looked for when the first call needs them.
type Cloud struct {
	settings Settings
	limits   *limits

	load sync.Once
	cfg  aws.Config
	err  error

	identify sync.Mutex
	place    reconcile.Place // Account is empty until it was asked for

	clients sync.Map // client type → client
}

var _ reconcile.Cloud = (*Cloud)(nil)

// config loads the stock configuration once. Retry lives in reconcile: the SDK's own is off, so that limits and
// retries are in one place.
func (c *Cloud) config(ctx context.Context) (aws.Config, error) {
	c.load.Do(func() {
		options := []func(*config.LoadOptions) error{config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} })}
		if c.settings.Region != "" {
			options = append(options, config.WithRegion(c.settings.Region))
		}
		if c.settings.Profile != "" {
			options = append(options, config.WithSharedConfigProfile(c.settings.Profile))
		}
		if c.settings.Endpoint != "" {
			options = append(options, config.WithBaseEndpoint(c.settings.Endpoint))
		}
		c.cfg, c.err = config.LoadDefaultConfig(context.WithoutCancel(ctx), options...)
		if c.err == nil && c.cfg.Region == "" {
			c.err = reconcile.WithHint(errors.New("no region"), "set providers.aws.region, $AWS_REGION or the profile's region")
		}
		c.cfg.APIOptions = append(c.cfg.APIOptions, c.throughGate)
	})
	return c.cfg, c.err
}

// Client gives the one client of a service for a place. The error is that of loading the configuration.
func Client[T any](ctx context.Context, cloud reconcile.Cloud, from func(aws.Config) T) (T, error) {
	var none T
	c, ok := cloud.(*Cloud)
	if !ok {
		return none, fmt.Errorf("%T is not an AWS place", cloud)
	}
	cfg, err := c.config(ctx)
	if err != nil {
		return none, err
	}
	key := fmt.Sprintf("%T", none)
	if known, ok := c.clients.Load(key); ok {
		client, _ := known.(T)
		return client, nil
	}
	known, _ := c.clients.LoadOrStore(key, from(cfg))
	client, _ := known.(T)
	return client, nil
}

// Place asks who we are, once, and refuses an account that the settings do not allow.
func (c *Cloud) Place(ctx context.Context) (reconcile.Place, error) {
	c.identify.Lock()
	defer c.identify.Unlock()
	if c.place.Account != "" {
		return c.place, nil
	}
	client, err := Client(ctx, c, func(cfg aws.Config) *sts.Client { return sts.NewFromConfig(cfg) })
	if err != nil {
		return reconcile.Place{}, err
	}
	who, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return reconcile.Place{}, reconcile.WithHint(fmt.Errorf("who we are in AWS: %w", err),
			"credentials come from the environment, the shared configuration files or --profile")
	}
	account := aws.ToString(who.Account)
	if want := c.settings.AccountID; want != "" && want != account {
		return reconcile.Place{}, reconcile.WithHint(fmt.Errorf("the credentials lead to account %s, and the program allows %s alone", account, want),
			"use credentials of account %s", want)
	}
	c.place = reconcile.Place{Provider: "aws", Account: account, Region: c.cfg.Region}
	return c.place, nil
}

// Classify says what to do about an error.
func (c *Cloud) Classify(err error) reconcile.Class { return classify(err) }
