package cloudcontrol

import (
	"context"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"

	"github.com/athanor-dev/athanor/reconcile"
)

// delete returns when the request to delete has ended.
func (k *kind) delete(ctx context.Context, s site) error {
	client, err := clientOf(s.Cloud)
	if err != nil {
		return err
	}
	identity := s.ID
	if s.Last != nil {
		identity = k.identity(*s.Last)
	}
	if k.Stateful && !s.MayDelete {
		if _, err := k.get(ctx, client, identity); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s keeps users' data", reconcile.ErrHoldsData, k.Name)
	}
	out, err := client.DeleteResource(ctx, &sdk.DeleteResourceInput{TypeName: &k.Name, Identifier: &identity})
	if err != nil {
		return err
	}
	return wait(ctx, s.Cloud, client, out.ProgressEvent, nil)
}
