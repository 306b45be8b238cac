package cloudcontrol

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// HandlerError is how a request ended in failure: the code of the type's handler and the service's own words.
type HandlerError struct {
	Code, Message, Type, Identifier string
}

func (e *HandlerError) Error() string {
	if e.Message == "" {
		return e.Type + ": " + e.Code
	}
	return fmt.Sprintf("%s: %s: %s", e.Type, e.Code, e.Message)
}

// ErrorCode makes it an error of the SDK's kind, which package aws classifies by its code.
func (e *HandlerError) ErrorCode() string { return e.Code }

// ErrorMessage is the service's own.
func (e *HandlerError) ErrorMessage() string { return e.Message }

// ErrorFault is not known.
func (e *HandlerError) ErrorFault() smithy.ErrorFault { return smithy.FaultUnknown }

// failure is the error of a request that ended badly, nil of another.
func failure(e *types.ProgressEvent) error {
	switch e.OperationStatus {
	case types.OperationStatusFailed, types.OperationStatusCancelComplete:
		code := string(e.ErrorCode)
		if code == "" {
			code = string(e.OperationStatus)
		}
		return &HandlerError{Code: code, Message: sdkaws.ToString(e.StatusMessage), Type: sdkaws.ToString(e.TypeName), Identifier: sdkaws.ToString(e.Identifier)}
	}
	return nil
}

func running(e *types.ProgressEvent) bool {
	switch e.OperationStatus {
	case types.OperationStatusPending, types.OperationStatusInProgress, types.OperationStatusCancelInProgress:
		return true
	}
	return false
}

// Cloud Control says when to ask again about a request. Its word is kept between shortest, which grows, and slowest;
// where it says nothing the pause begins with usual.
const (
	shortest = 5 * time.Millisecond
	usual    = 250 * time.Millisecond
	slowest  = 10 * time.Second
)

var errRunning = errors.New("the request is in progress")

var errNoEvent = errors.New("the answer names no request")

// wait asks about a request until it has ended. Each answer is shown to seen, which may end the waiting with an error. The
// answer to the request itself is the first.
func wait(ctx context.Context, cloud reconcile.Cloud, client *sdk.Client, e *types.ProgressEvent, seen func(*types.ProgressEvent) error) error {
	asked := false
	return reconcile.Until(ctx, cloud, shortest, slowest, errRunning, func(ctx context.Context) (bool, time.Duration, error) {
		if asked {
			out, err := client.GetResourceRequestStatus(ctx, &sdk.GetResourceRequestStatusInput{RequestToken: e.RequestToken})
			if err != nil {
				return false, usual, err
			}
			e = out.ProgressEvent
		}
		asked = true
		if e == nil {
			return true, 0, errNoEvent
		}
		if seen != nil {
			if err := seen(e); err != nil {
				return true, 0, err
			}
		}
		again := usual
		if e.RetryAfter != nil {
			again = time.Until(*e.RetryAfter)
		}
		return !running(e), again, failure(e)
	})
}

// model is the JSON text of properties as a tree.
func model(text *string) (object, error) {
	if text == nil || *text == "" {
		return object{}, nil
	}
	v, err := tree.Decode([]byte(*text))
	if err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	m, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("properties: have %T", v)
	}
	return m, nil
}
