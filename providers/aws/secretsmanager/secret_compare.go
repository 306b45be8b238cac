package secretsmanager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var errNotCopied = errors.New("the secret was not copied")

// compareSecret states every aspect that can be seen. One call updates description, key and value.
func compareSecret(d *secretDiff, want SecretProps, live liveSecret) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, sdkaws.ToString(live.Name))
	}
	update := updateSecret(want)
	reconcile.Value(d, "description", aws.OrNil(want.Description), aws.OrNil(sdkaws.ToString(live.Description)), update)
	key := keyOf(d.Place(), sdkaws.ToString(live.KmsKeyId))
	reconcile.Value(d, "kmsKeyId", aws.OrNil(keyOf(d.Place(), want.KMSKeyID)), aws.OrNil(key), update)
	if comparesValue(want) {
		reconcile.Value(d, "value", want.Value, live.value, update)
	}
	if want.Generate != nil && live.current() == "" {
		reconcile.Value(d, "generate", want.Generate, nil, generate(want))
	}
	reconcile.Value(d, "replicas", copiesOf(want.Replicas), live.copies(), replicate(want, d.Made("replicas")))
	reconcile.Value(d, "policy", aws.CanonicalPolicy(want.Policy), aws.CanonicalPolicy(live.policy), putPolicy(want))
	reconcile.Value(d, "rotation", rotationOf(want.Rotation), live.rotation(), rotate(want))
	reconcile.Value(d, "recoveryWindow", *want.RecoveryWindow, live.window(), putWindow(want))
	tags := maps.Clone(live.tags)
	delete(tags, tagWindow)
	aws.CompareTags(d, want.Tags, tags, "TagResource", putTags, dropTags)
}

// ownKey is the key of KMS that every account has for secrets.
const ownKey = "alias/aws/secretsmanager"

// keyOf is a key in one form: its id or alias where it is of the same place, "" for the account's own.
func keyOf(place reconcile.Place, key string) string {
	if p, ok := aws.ARN(key).Parse(); ok && p.Region == place.Region && p.Account == place.Account {
		key = strings.TrimPrefix(p.Resource, "key/")
	}
	if key == ownKey {
		return ""
	}
	return key
}

// copiesOf are copies in one form, in the order of their regions; nil for none.
func copiesOf(replicas []Replica) any {
	var list []any
	for _, r := range slices.SortedFunc(slices.Values(replicas), func(a, b Replica) int { return cmp.Compare(a.Region, b.Region) }) {
		m := map[string]any{"region": r.Region}
		if key := r.key(); key != "" {
			m["kmsKeyId"] = key
		}
		list = append(list, m)
	}
	if list == nil {
		return nil
	}
	return list
}

// key is that of a copy as it was given: it is of another region.
func (r Replica) key() string { return keyOf(reconcile.Place{}, r.KMSKeyID) }

// copies leaves out those that did not come about.
func (l liveSecret) copies() any {
	var there []Replica
	for _, r := range l.ReplicationStatus {
		if r.Status != types.StatusTypeFailed {
			there = append(there, Replica{Region: sdkaws.ToString(r.Region), KMSKeyID: sdkaws.ToString(r.KmsKeyId)})
		}
	}
	return copiesOf(there)
}

// replicate removes what is not wanted, or wanted with another key, and copies what is missing. A copy that does not come
// about is tried once.
func replicate(want SecretProps, tried bool) *reconcile.Operation[liveSecret] {
	return &reconcile.Operation[liveSecret]{Name: "ReplicateSecretToRegions", Do: func(ctx context.Context, on reconcile.On[liveSecret]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		var gone []string
		missing := slices.Clone(want.Replicas)
		for _, r := range on.Live.ReplicationStatus {
			region := sdkaws.ToString(r.Region)
			if r.Status == types.StatusTypeFailed && tried {
				return fmt.Errorf("%w to %s: %s", errNotCopied, region, sdkaws.ToString(r.StatusMessage))
			}
			at := slices.IndexFunc(missing, func(w Replica) bool {
				return w.Region == region && r.Status != types.StatusTypeFailed && w.key() == Replica{KMSKeyID: sdkaws.ToString(r.KmsKeyId)}.key()
			})
			if at < 0 {
				gone = append(gone, region)
			} else {
				missing = slices.Delete(missing, at, at+1)
			}
		}
		if len(gone) > 0 {
			if _, err := client.RemoveRegionsFromReplication(ctx, &sdk.RemoveRegionsFromReplicationInput{SecretId: on.Live.ARN, RemoveReplicaRegions: gone}); err != nil {
				return aws.NotYet(err)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		_, err = client.ReplicateSecretToRegions(ctx, &sdk.ReplicateSecretToRegionsInput{SecretId: on.Live.ARN, AddReplicaRegions: replicaList(missing)})
		return aws.NotYet(err)
	}}
}

func updateSecret(want SecretProps) *reconcile.Operation[liveSecret] {
	return &reconcile.Operation[liveSecret]{Name: "UpdateSecret", Do: func(ctx context.Context, on reconcile.On[liveSecret]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		in := &sdk.UpdateSecretInput{SecretId: on.Live.ARN}
		for _, path := range on.Changed {
			switch path {
			case "description":
				in.Description = &want.Description
			case "kmsKeyId":
				in.KmsKeyId = new(cmp.Or(want.KMSKeyID, ownKey))
			case "value":
				in.SecretString, in.ClientRequestToken = new(string(want.Value)), new(on.Live.next("value"))
			}
		}
		_, err = client.UpdateSecret(ctx, in)
		return aws.NotYet(err)
	}}
}

func putPolicy(want SecretProps) *reconcile.Operation[liveSecret] {
	name := "PutResourcePolicy"
	if want.Policy == nil {
		name = "DeleteResourcePolicy"
	}
	return &reconcile.Operation[liveSecret]{Name: name, Do: func(ctx context.Context, on reconcile.On[liveSecret]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		if want.Policy == nil {
			_, err := client.DeleteResourcePolicy(ctx, &sdk.DeleteResourcePolicyInput{SecretId: on.Live.ARN})
			return aws.NotYet(err)
		}
		text, err := aws.DocumentText(want.Policy)
		if err != nil {
			return err
		}
		_, err = client.PutResourcePolicy(ctx, &sdk.PutResourcePolicyInput{SecretId: on.Live.ARN, ResourcePolicy: &text, BlockPublicPolicy: &want.BlockPublicPolicy})
		return aws.NotYet(err)
	}}
}

// rotationOf is what can be seen of a rotation, nil for none.
func rotationOf(r *Rotation) any {
	if r == nil {
		return nil
	}
	m := map[string]any{"lambdaArn": string(r.LambdaARN), "scheduleExpression": r.ScheduleExpression}
	if r.Duration != "" {
		m["duration"] = r.Duration
	}
	return m
}

// rotation is nil where it was taken off: Secrets Manager goes on showing what it was.
func (l liveSecret) rotation() any {
	if !sdkaws.ToBool(l.RotationEnabled) {
		return nil
	}
	r := &Rotation{LambdaARN: aws.ARN(sdkaws.ToString(l.RotationLambdaARN))}
	if rules := l.RotationRules; rules != nil {
		r.ScheduleExpression, r.Duration = sdkaws.ToString(rules.ScheduleExpression), sdkaws.ToString(rules.Duration)
		if days := sdkaws.ToInt64(rules.AutomaticallyAfterDays); r.ScheduleExpression == "" && days > 0 {
			r.ScheduleExpression = fmt.Sprintf("rate(%d days)", days)
		}
	}
	return rotationOf(r)
}

func rotate(want SecretProps) *reconcile.Operation[liveSecret] {
	name := "RotateSecret"
	if want.Rotation == nil {
		name = "CancelRotateSecret"
	}
	return &reconcile.Operation[liveSecret]{Name: name, Do: func(ctx context.Context, on reconcile.On[liveSecret]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		r := want.Rotation
		if r == nil {
			_, err := client.CancelRotateSecret(ctx, &sdk.CancelRotateSecretInput{SecretId: on.Live.ARN})
			return aws.NotYet(err)
		}
		_, err = client.RotateSecret(ctx, &sdk.RotateSecretInput{
			SecretId: on.Live.ARN, RotationLambdaARN: new(string(r.LambdaARN)), RotateImmediately: r.RotateImmediately, ClientRequestToken: new(on.Live.next("rotation")),
			RotationRules: &types.RotationRulesType{ScheduleExpression: &r.ScheduleExpression, Duration: aws.OrNil(r.Duration)},
		})
		return aws.NotYet(err)
	}}
}

// withWindow adds the recovery window to tags, unless it is the service's own.
func withWindow(tags map[string]string, want SecretProps) map[string]string {
	if *want.RecoveryWindow != defaultWindow {
		tags[tagWindow] = strconv.Itoa(int(*want.RecoveryWindow / day))
	}
	return tags
}

func putWindow(want SecretProps) *reconcile.Operation[liveSecret] {
	if *want.RecoveryWindow == defaultWindow {
		return &reconcile.Operation[liveSecret]{Name: "UntagResource", Do: func(ctx context.Context, on reconcile.On[liveSecret]) error {
			return dropTags(ctx, on, []string{tagWindow})
		}}
	}
	return &reconcile.Operation[liveSecret]{Name: "TagResource", Do: func(ctx context.Context, on reconcile.On[liveSecret]) error {
		return putTags(ctx, on, withWindow(map[string]string{}, want))
	}}
}

func putTags(ctx context.Context, on reconcile.On[liveSecret], tags map[string]string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.TagResource(ctx, &sdk.TagResourceInput{SecretId: on.Live.ARN, Tags: tagList(tags)})
	return aws.NotYet(err)
}

func dropTags(ctx context.Context, on reconcile.On[liveSecret], keys []string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.UntagResource(ctx, &sdk.UntagResourceInput{SecretId: on.Live.ARN, TagKeys: keys})
	return aws.NotYet(err)
}
