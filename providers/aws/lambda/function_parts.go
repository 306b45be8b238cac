package lambda

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// part is a call that sets something beside the function's code and configuration.
func part(name string, do func(context.Context, *sdk.Client, reconcile.On[liveFunction]) error) *reconcile.Operation[liveFunction] {
	return &reconcile.Operation[liveFunction]{Name: name, Do: func(ctx context.Context, on reconcile.On[liveFunction]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		return aws.NotYet(do(ctx, client, on))
	}}
}

func setConcurrency(want FunctionProps) *reconcile.Operation[liveFunction] {
	if want.ReservedConcurrency == nil {
		return part("DeleteFunctionConcurrency", func(ctx context.Context, c *sdk.Client, on reconcile.On[liveFunction]) error {
			_, err := c.DeleteFunctionConcurrency(ctx, &sdk.DeleteFunctionConcurrencyInput{FunctionName: &on.Live.attrs.Name})
			return err
		})
	}
	return part("PutFunctionConcurrency", func(ctx context.Context, c *sdk.Client, on reconcile.On[liveFunction]) error {
		_, err := c.PutFunctionConcurrency(ctx, &sdk.PutFunctionConcurrencyInput{
			FunctionName: &on.Live.attrs.Name, ReservedConcurrentExecutions: new(int32(*want.ReservedConcurrency)),
		})
		return err
	})
}

// setAsync writes the settings whole; those of the service's defaults are none.
func setAsync(want Async) *reconcile.Operation[liveFunction] {
	none := defaultAsync(nil)
	if want.OnSuccess == "" && want.OnFailure == "" && *want.MaxRetries == *none.MaxRetries && *want.MaxAge == *none.MaxAge {
		return part("DeleteFunctionEventInvokeConfig", func(ctx context.Context, c *sdk.Client, on reconcile.On[liveFunction]) error {
			_, err := c.DeleteFunctionEventInvokeConfig(ctx, &sdk.DeleteFunctionEventInvokeConfigInput{FunctionName: &on.Live.attrs.Name})
			return err
		})
	}
	return part("PutFunctionEventInvokeConfig", func(ctx context.Context, c *sdk.Client, on reconcile.On[liveFunction]) error {
		whole, err := merged(FunctionProps{Async: &want}, on.Live.have, on.Changed)
		if err != nil {
			return err
		}
		a := defaultAsync(whole.Async)
		_, err = c.PutFunctionEventInvokeConfig(ctx, &sdk.PutFunctionEventInvokeConfigInput{
			FunctionName: &on.Live.attrs.Name, MaximumRetryAttempts: new(int32(*a.MaxRetries)), MaximumEventAgeInSeconds: inSeconds(*a.MaxAge),
			DestinationConfig: &types.DestinationConfig{
				OnSuccess: &types.OnSuccess{Destination: aws.OrNil(string(a.OnSuccess))}, OnFailure: &types.OnFailure{Destination: aws.OrNil(string(a.OnFailure))},
			},
		})
		return lag{on.Cloud, on.Live.attrs.Role, on.Since, true}.of(ctx, err)
	})
}

func createURL(want URL) *reconcile.Operation[liveFunction] {
	return part("CreateFunctionUrlConfig", func(ctx context.Context, c *sdk.Client, on reconcile.On[liveFunction]) error {
		in := &sdk.CreateFunctionUrlConfigInput{
			FunctionName: &on.Live.attrs.Name, AuthType: types.FunctionUrlAuthType(want.Auth), InvokeMode: types.InvokeMode(*want.InvokeMode),
		}
		if want.CORS != nil {
			in.Cors = want.CORS.config()
		}
		_, err := c.CreateFunctionUrlConfig(ctx, in)
		return err
	})
}

func updateURL(want URL) *reconcile.Operation[liveFunction] {
	return part("UpdateFunctionUrlConfig", func(ctx context.Context, c *sdk.Client, on reconcile.On[liveFunction]) error {
		whole, err := merged(FunctionProps{URL: &want}, on.Live.have, on.Changed)
		if err != nil {
			return err
		}
		cors := orZero(whole.URL.CORS)
		_, err = c.UpdateFunctionUrlConfig(ctx, &sdk.UpdateFunctionUrlConfigInput{
			FunctionName: &on.Live.attrs.Name, AuthType: types.FunctionUrlAuthType(whole.URL.Auth), InvokeMode: types.InvokeMode(orZero(whole.URL.InvokeMode)),
			Cors: cors.config(),
		})
		return err
	})
}

func deleteURL() *reconcile.Operation[liveFunction] {
	return part("DeleteFunctionUrlConfig", func(ctx context.Context, c *sdk.Client, on reconcile.On[liveFunction]) error {
		_, err := c.DeleteFunctionUrlConfig(ctx, &sdk.DeleteFunctionUrlConfigInput{FunctionName: &on.Live.attrs.Name})
		return err
	})
}

// config is all of it: what there is none of is empty, which clears it.
func (c CORS) config() *types.Cors {
	return &types.Cors{
		AllowOrigins: append([]string{}, c.AllowOrigins...), AllowMethods: append([]string{}, c.AllowMethods...),
		AllowHeaders: append([]string{}, c.AllowHeaders...), ExposeHeaders: append([]string{}, c.ExposeHeaders...),
		AllowCredentials: &c.AllowCredentials, MaxAge: inSeconds(c.MaxAge),
	}
}

// publicStatements are those that let everybody call a URL without credentials, by the names that the console gives them.
// Since October 2025 both are needed: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html
var publicStatements = []sdk.AddPermissionInput{
	{
		StatementId: new("FunctionURLAllowPublicAccess"), Action: new("lambda:InvokeFunctionUrl"), Principal: new("*"),
		FunctionUrlAuthType: types.FunctionUrlAuthTypeNone,
	},
	{
		StatementId: new("FunctionURLInvokeAllowPublicAccess"), Action: new("lambda:InvokeFunction"), Principal: new("*"),
		InvokedViaFunctionUrl: new(true),
	},
}

// isOpen reports whether all statements for the public are there, and whether any is.
func isOpen(statements map[string]statement) (open, leaves bool) {
	open = true
	for _, in := range publicStatements {
		s, there := statements[*in.StatementId]
		leaves = leaves || there
		open = open && there && s.terms() == terms{
			action: *in.Action, principal: *in.Principal, urlAuth: string(in.FunctionUrlAuthType), viaURL: in.InvokedViaFunctionUrl != nil,
		}
	}
	return open, leaves
}

// setOpen writes the statements for the public anew, or takes them away.
func setOpen(open bool) *reconcile.Operation[liveFunction] {
	name := "RemovePermission"
	if open {
		name = "AddPermission"
	}
	return part(name, func(ctx context.Context, c *sdk.Client, on reconcile.On[liveFunction]) error {
		for _, in := range publicStatements {
			if on.Live.leaves {
				_, err := c.RemovePermission(ctx, &sdk.RemovePermissionInput{FunctionName: &on.Live.attrs.Name, StatementId: in.StatementId})
				if err != nil && !aws.IsAbsent(err) {
					return err
				}
			}
			if !open {
				continue
			}
			in.FunctionName = &on.Live.attrs.Name
			if _, err := c.AddPermission(ctx, &in); err != nil {
				return err
			}
		}
		return nil
	})
}
