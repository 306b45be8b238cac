package cloudcontrol

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// get reads one resource. ErrAbsent when the service answers that there is none.
func (k *kind) get(ctx context.Context, client *sdk.Client, identity string) (object, error) {
	out, err := client.GetResource(ctx, &sdk.GetResourceInput{TypeName: &k.Name, Identifier: &identity})
	if aws.IsAbsent(err) {
		return nil, fmt.Errorf("%w: %w", reconcile.ErrAbsent, err)
	}
	if err != nil {
		return nil, err
	}
	if out.ResourceDescription == nil {
		return nil, errNoEvent
	}
	props, err := model(out.ResourceDescription.Properties)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.Name, identity, err)
	}
	for p, v := range k.parts(identity) {
		if textAt(props, p) == "" { // the service need not repeat what it was asked by
			props, _ = tree.With(props, p, v).(object)
		}
	}
	return props, nil
}

// parts are the parts of an identity.
func (k *kind) parts(identity string) map[tree.Path]string {
	parts := map[tree.Path]string{}
	for i, part := range strings.SplitN(identity, "|", len(k.ID)) {
		parts[k.ID[i]] = part
	}
	return parts
}

// observe reads by the identity that is given or in state, else by the chosen name, else by owner tag or by the
// listing.
func (k *kind) observe(ctx context.Context, s site) (live, error) {
	client, err := clientOf(s.Cloud)
	if err != nil {
		return live{}, err
	}
	busy, err := k.underWay(ctx, client, s)
	if err != nil {
		return live{}, err
	}
	identity := s.ID
	if identity == "" && s.Last != nil {
		identity = k.identity(*s.Last)
	}
	if identity == "" {
		identity = k.chosen(s.Want, s.Name)
	}
	if identity == "" {
		return k.find(ctx, client, s)
	}
	props, err := k.get(ctx, client, identity)
	if errors.Is(err, reconcile.ErrAbsent) && busy != "" {
		return live{props: maps.Clone(*s.Last), busy: busy}, nil // its handler has not got so far
	}
	if busy != "" && err == nil {
		props[requestKey] = (*s.Last)[requestKey]
	}
	return live{props: props, busy: busy}, err
}

// underWay says that the request which makes the resource has not ended: a run was cut while it waited for it.
func (k *kind) underWay(ctx context.Context, client *sdk.Client, s site) (string, error) {
	if s.Last == nil {
		return "", nil
	}
	request, _ := (*s.Last)[requestKey].(string)
	if request == "" {
		return "", nil
	}
	out, err := client.GetResourceRequestStatus(ctx, &sdk.GetResourceRequestStatusInput{RequestToken: &request})
	if _, expired := errors.AsType[*types.RequestTokenNotFoundException](err); expired {
		return "", nil // forgotten after seven days
	}
	if err != nil {
		return "", err
	}
	if out.ProgressEvent != nil && running(out.ProgressEvent) {
		return "it is still being created", nil
	}
	return "", nil
}

// chosen is the identity that follows from what is declared, "" when a part of it is the service's to assign or not known.
func (k *kind) chosen(want object, name string) string {
	if k.Finding() != registry.ByName {
		return ""
	}
	full := want
	if k.named != "" && name != "" {
		full = maps.Clone(want)
		if full == nil {
			full = object{}
		}
		full[string(k.named)] = name
	}
	identity := k.identity(full)
	if token.Has(identity) {
		return ""
	}
	return identity
}
