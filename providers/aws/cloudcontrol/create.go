package cloudcontrol

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// requestKey holds, among the attributes of a resource that is still being made, the token of the request. No property
// has such a name.
const requestKey = "athanor:request"

// attempts bounds how many echoes of ended requests are passed over.
const attempts = 8

// desired is the whole of what is wanted, as a creation takes it.
func (k *kind) desired(cloud reconcile.Cloud, want object, name string, mark reconcile.Mark) object {
	out := maps.Clone(want)
	if out == nil {
		out = object{}
	}
	if k.named != "" && name != "" {
		out[string(k.named)] = name
	}
	if k.tags != nil && k.tags.OnCreate {
		out = k.withTags(cloud, out, nil, mark)
	}
	return out
}

// create sends the whole of what is wanted and waits until the request has ended. The identity is stored as soon as a
// request tells it.
//
// The token of a request is made of the owner tag, the body and the intent's nonce: a repeated creation of one intent
// is the same request, and Cloud Control answers how that one went, for 36 hours. An echo of one that failed is
// passed over with the next token, since what made it fail may be mended; so is one whose resource has been deleted.
func (k *kind) create(ctx context.Context, s site) (object, error) {
	client, err := clientOf(s.Cloud)
	if err != nil {
		return nil, err
	}
	body := string(tree.Canonical(k.desired(s.Cloud, s.Want, s.Name, s.Owner)))
	for n := 0; ; n++ {
		out, err := client.CreateResource(ctx, &sdk.CreateResourceInput{
			TypeName: &k.Name, DesiredState: &body, ClientToken: new(clientToken(s, body, n)),
		})
		if err != nil {
			return nil, k.taken(err)
		}
		if out.ProgressEvent == nil {
			return nil, errNoEvent
		}
		again, err := k.echo(ctx, client, s, out.ProgressEvent)
		if err != nil {
			return nil, err
		}
		if !again || n == attempts {
			return k.made(ctx, s, client, out.ProgressEvent)
		}
	}
}

// echo reports whether an answer tells of a request that had ended before and left nothing.
func (k *kind) echo(ctx context.Context, client *sdk.Client, s site, e *types.ProgressEvent) (bool, error) {
	switch {
	case running(e):
		return false, nil
	case failure(e) != nil, s.New.Deleted != "" && sdkaws.ToString(e.Identifier) == s.New.Deleted:
		return true, nil
	case e.EventTime == nil || time.Since(*e.EventTime) < visibility:
		return false, nil
	}
	_, err := k.get(ctx, client, sdkaws.ToString(e.Identifier))
	if errors.Is(err, reconcile.ErrAbsent) {
		return true, nil
	}
	return false, err
}

// made waits for a creation.
func (k *kind) made(ctx context.Context, s site, client *sdk.Client, e *types.ProgressEvent) (object, error) {
	var identity string
	err := wait(ctx, s.Cloud, client, e, func(e *types.ProgressEvent) error {
		if id := sdkaws.ToString(e.Identifier); id != "" && id != identity && failure(e) == nil {
			identity = id
			if running(e) {
				attrs := k.attrsOf(id)
				attrs[requestKey] = sdkaws.ToString(e.RequestToken)
				return s.New.Store(ctx, attrs)
			}
		}
		return nil
	})
	if err != nil {
		return nil, k.taken(err)
	}
	if identity == "" {
		return nil, fmt.Errorf("%s: %w", k.Name, errNoIdentity)
	}
	return k.attrsOf(identity), nil
}

var errNoIdentity = errors.New("the request has ended and its answer has no identifier")

// taken ends a creation whose name somebody else has, where no look would ever find that one: waiting does not help.
func (k *kind) taken(err error) error {
	if k.Finding() == registry.ByName || !aws.IsExists(err) {
		return err
	}
	return &reconcile.StopError{Err: reconcile.WithHint(err, "another resource stands where this one is to be: take it over with `athanor adopt`, or delete it")}
}

// clientToken names one request to create, for good: 64 characters of the 128 that are allowed.
func clientToken(s site, body string, n int) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %d %q %q %d", s.Owner.Stack, s.Owner.Stage, s.Owner.Address, s.Owner.Generation, s.Nonce, body, n)
	return hex.EncodeToString(h.Sum(nil))
}
