package secretsmanager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var (
	errNoName    = errors.New("a secret is found by its name, and there is none")
	errScheduled = errors.New("a secret of this name that is not ours is scheduled for deletion")
	errNotFree   = errors.New("the name of a deleted secret is not free yet")
	errCopy      = errors.New("there is a copy of a secret of another region under this name")
	errCopies    = errors.New("copies of the secret are still there")
	errGoing     = errors.New("the secret is still there")
)

// idOf is the name, or the ARN, by which a secret is looked for.
func idOf(site secretSite) (string, error) {
	switch {
	case site.Last != nil:
		return string(site.Last.ARN), nil
	case site.ID != "":
		if p, ok := aws.ARN(site.ID).Parse(); ok && (p.Region != site.Place.Region || p.Account != site.Place.Account || p.Service != "secretsmanager") {
			return "", aws.Foreign(site.ID, site.Place)
		}
		return site.ID, nil
	case site.Name != "":
		return site.Name, nil
	}
	return "", errNoName
}

// observeSecret takes a secret that is scheduled for deletion, and the copy of one of another region, for none.
func observeSecret(ctx context.Context, site secretSite) (liveSecret, error) {
	id, err := idOf(site)
	if err != nil {
		return liveSecret{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveSecret{}, err
	}
	live, err := described(ctx, client, id)
	if err != nil {
		return live, err
	}
	if live.DeletedDate != nil || live.copied(site.Place) {
		return live, reconcile.ErrAbsent
	}
	policy, err := client.GetResourcePolicy(ctx, &sdk.GetResourcePolicyInput{SecretId: live.ARN})
	if err != nil {
		return live, aws.Absent(err)
	}
	live.policy = sdkaws.ToString(policy.ResourcePolicy)
	if comparesValue(site.Want) && live.current() != "" {
		out, err := client.GetSecretValue(ctx, &sdk.GetSecretValueInput{SecretId: live.ARN})
		if err != nil {
			return live, aws.Absent(err)
		}
		live.value = valueIn(out)
	}
	return live, nil
}

// comparesValue: what a rotation makes is not for the program to put right.
func comparesValue(want SecretProps) bool { return want.Value != "" && want.Rotation == nil }

func described(ctx context.Context, client *sdk.Client, id string) (liveSecret, error) {
	out, err := client.DescribeSecret(ctx, &sdk.DescribeSecretInput{SecretId: &id})
	if err != nil {
		return liveSecret{}, aws.Absent(err)
	}
	return liveSecret{DescribeSecretOutput: out, tags: tagMap(out.Tags)}, nil
}

func (l liveSecret) copied(place reconcile.Place) bool {
	primary := sdkaws.ToString(l.PrimaryRegion)
	return primary != "" && primary != place.Region
}

// createSecret carries all but rotation and policy in one call. Its token is the intent's: a repeated call is the same
// creation. A secret of ours that is scheduled for deletion is restored instead, with the value that it had.
func createSecret(ctx context.Context, site secretSite) (Secret, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Secret{}, err
	}
	in := &sdk.CreateSecretInput{
		Name: &site.Name, Description: aws.OrNil(site.Want.Description), KmsKeyId: aws.OrNil(site.Want.KMSKeyID),
		ClientRequestToken: new(tokenOf("create", site.Mark.Stack, site.Mark.Stage, site.Mark.Address, site.Name, site.Nonce, site.Gone)),
		AddReplicaRegions:  replicaList(site.Want.Replicas),
		Tags:               tagList(withWindow(aws.Tags(site.Want.Tags, site.Mark), site.Want)),
	}
	value := string(site.Want.Value)
	if g := site.Want.Generate; g != nil {
		if value, err = g.value(ctx, client); err != nil {
			return Secret{}, err
		}
	}
	in.SecretString = aws.OrNil(value)
	out, err := client.CreateSecret(ctx, in)
	switch {
	case is[*types.InvalidRequestException](err):
		return restored(ctx, client, site, err)
	case aws.IsExists(err):
		return Secret{}, taken(ctx, client, site, err)
	case err != nil:
		return Secret{}, err
	}
	return Secret{ARN: aws.ARN(sdkaws.ToString(out.ARN)), Name: site.Name, VersionID: sdkaws.ToString(out.VersionId)}, nil
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// restored brings back a secret of ours that stands in the way of a creation. One that was deleted for good keeps its
// name for a moment longer.
func restored(ctx context.Context, client *sdk.Client, site secretSite, cause error) (Secret, error) {
	live, err := described(ctx, client, site.Name)
	switch {
	case errors.Is(err, reconcile.ErrAbsent):
		return Secret{}, aws.Busy(fmt.Errorf("%w: %w", errNotFree, cause))
	case err != nil:
		return Secret{}, err
	case live.DeletedDate == nil:
		return Secret{}, cause
	}
	owner := adopt.MarkOf(live.tags)
	if owner.Stack != site.Mark.Stack || owner.Stage != site.Mark.Stage || owner.Address != site.Mark.Address {
		return Secret{}, reconcile.WithHint(fmt.Errorf("%w: %w", errScheduled, cause),
			"`aws secretsmanager restore-secret --secret-id %s` brings it back, and --adopt then takes it; `delete-secret --force-delete-without-recovery` frees the name", site.Name)
	}
	if _, err := client.RestoreSecret(ctx, &sdk.RestoreSecretInput{SecretId: live.ARN}); err != nil {
		return Secret{}, err
	}
	return secretAttrs(live), nil
}

// taken tells the copy of a secret of another region, which no look here will ever show as ours, from a secret that came
// between the look and the creation.
func taken(ctx context.Context, client *sdk.Client, site secretSite, cause error) error {
	live, err := described(ctx, client, site.Name)
	if err == nil && live.copied(site.Place) {
		return fmt.Errorf("%w: that of %s", errCopy, sdkaws.ToString(live.PrimaryRegion))
	}
	return cause
}

// deleteSecret schedules the deletion, for as long as the secret itself says; with leave it deletes for good. Copies go
// first, since Secrets Manager deletes none that has some.
func deleteSecret(ctx context.Context, site secretSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	id := string(site.Last.ARN)
	live, err := described(ctx, client, id)
	if err != nil {
		return err
	}
	if live.DeletedDate != nil && !site.MayDelete {
		return nil
	}
	if len(live.ReplicationStatus) > 0 {
		if _, err := client.RemoveRegionsFromReplication(ctx, &sdk.RemoveRegionsFromReplicationInput{SecretId: &id, RemoveReplicaRegions: live.regions()}); err != nil {
			return err
		}
		if live, err = described(ctx, client, id); err != nil {
			return err
		}
		if len(live.ReplicationStatus) > 0 {
			return aws.Busy(errCopies)
		}
	}
	in := &sdk.DeleteSecretInput{SecretId: &id, ForceDeleteWithoutRecovery: aws.OrNil(site.MayDelete)}
	if !site.MayDelete {
		in.RecoveryWindowInDays = new(int64(live.window() / day))
	}
	if _, err := client.DeleteSecret(ctx, in); err != nil {
		return err
	}
	if live, err = described(ctx, client, id); err != nil {
		return err // absent is what is wanted
	}
	if live.DeletedDate == nil {
		return aws.Busy(errGoing)
	}
	return nil
}

func (l liveSecret) regions() []string {
	var all []string
	for _, r := range l.ReplicationStatus {
		all = append(all, sdkaws.ToString(r.Region))
	}
	return all
}

func listSecrets(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	in := &sdk.ListSecretsInput{MaxResults: new(int32(100))}
	if scope.Prefix != "" {
		in.Filters = []types.Filter{{Key: types.FilterNameStringTypeName, Values: []string{scope.Prefix}}}
	}
	var all []reconcile.Found
	for pages := sdk.NewListSecretsPaginator(listSecretsCall(client.ListSecrets), in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.SecretList {
			name := sdkaws.ToString(s.Name)
			if primary := sdkaws.ToString(s.PrimaryRegion); primary != "" && primary != scope.Place.Region || !strings.HasPrefix(name, scope.Prefix) {
				continue
			}
			all = append(all, reconcile.Found{Kind: secretType, Place: scope.Place, Identity: sdkaws.ToString(s.ARN), Name: name})
		}
	}
	return all, nil
}

// tokenOf names one request: repeated, it is the same one. It becomes the id of the version that the request makes, so
// that nothing secret goes into it.
func tokenOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}

func replicaList(replicas []Replica) []types.ReplicaRegionType {
	var list []types.ReplicaRegionType
	for _, r := range replicas {
		list = append(list, types.ReplicaRegionType{Region: new(r.Region), KmsKeyId: aws.OrNil(r.KMSKeyID)})
	}
	return list
}
