package cloudcontrol

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
)

// delete returns when the request to delete has ended: how that went, no observation shows.
func (k *kind) delete(ctx context.Context, s site) error {
	client, err := clientOf(s.Cloud)
	if err != nil {
		return err
	}
	identity := s.ID
	if s.Last != nil {
		identity = k.identity(*s.Last)
	}
	out, err := client.DeleteResource(ctx, &sdk.DeleteResourceInput{TypeName: &k.Name, Identifier: &identity})
	if err != nil {
		return err
	}
	return wait(ctx, s.Cloud, client, out.ProgressEvent, nil)
}
