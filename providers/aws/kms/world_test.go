package kms

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

// world is an emulator as it is: nobody else has a client of the SDK either.
type world struct{ awstest.World[aws.Cloud] }

// newWorld is in ministack, which keeps how often a key is rotated; moto does not.
func newWorld(t *testing.T) *world {
	t.Helper()
	return worldIn(t, awstest.StartMinistack(t))
}

func newMotoWorld(t *testing.T) *world {
	t.Helper()
	return worldIn(t, awstest.Start(t))
}

func worldIn(t *testing.T, server *awstest.Server) *world {
	t.Helper()
	connect := func(cfg sdkaws.Config, _ ...func(*struct{})) *aws.Cloud { return aws.FromConfig(cfg).AtAnyRate() }
	w := &world{awstest.NewWorld(t, server, server.Direct(), connect, keyKind.Erase(), "key")}
	w.Located(t, server.Account)
	return w
}

// ask makes a call as somebody else.
func (w *world) ask(t kindtest.T, operation string, in obj) obj {
	t.Helper()
	out := obj{}
	if err := service().Call(context.Background(), w.Others, operation, in, &out); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return out
}

func (w *world) tags(t kindtest.T, id any) map[string]string {
	t.Helper()
	tags := map[string]string{}
	all, _ := w.ask(t, "ListResourceTags", obj{"KeyId": id})["Tags"].([]any)
	for _, x := range all {
		tags[x.(obj)["TagKey"].(string)] = x.(obj)["TagValue"].(string)
	}
	return tags
}

func (w *world) aliases(t kindtest.T, id any) []string {
	t.Helper()
	var all []string
	for _, x := range w.ask(t, "ListAliases", obj{"KeyId": id})["Aliases"].([]any) {
		all = append(all, x.(obj)["AliasName"].(string))
	}
	slices.Sort(all)
	return all
}

func (w *world) described(t kindtest.T, id any) obj {
	t.Helper()
	return w.ask(t, "DescribeKey", obj{"KeyId": id})["KeyMetadata"].(obj)
}

// keys are all that are not scheduled for deletion, as others see them.
func (w *world) keys(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, item := range w.ask(t, "ListKeys", obj{})["Keys"].([]any) {
		id := item.(obj)["KeyId"]
		k := w.described(t, id)
		if k["KeyState"] == "PendingDeletion" {
			continue
		}
		var rotation any
		if k["KeySpec"] == "SYMMETRIC_DEFAULT" {
			if shown := w.ask(t, "GetKeyRotationStatus", obj{"KeyId": id}); shown["KeyRotationEnabled"] == true {
				rotation = shown["RotationPeriodInDays"]
			}
		}
		policy, _ := w.ask(t, "GetKeyPolicy", obj{"KeyId": id, "PolicyName": "default"})["Policy"].(string)
		all = append(all, obj{
			"state": k["KeyState"], "description": k["Description"], "usage": k["KeyUsage"], "spec": k["KeySpec"], "multi": k["MultiRegion"], "rotation": rotation,
			"policy": json.RawMessage(strings.ReplaceAll(string(tree.Canonical(aws.CanonicalPolicy(policy))), w.Server.Account, "ACCOUNT")), "aliases": w.aliases(t, id), "tags": awstest.Owned(w.tags(t, id)),
		})
	}
	return all
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "KMSInternalException")(class)
}

// hands change each aspect of a key as somebody else would.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hand := func(do func(w *world, t kindtest.T, id any, p KeyProps)) kindtest.Hand {
		return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			do(w, t, to.Attrs["id"], kindtest.PropsOf(t, keyTable, to.Props))
			return nil
		})
	}
	rotation := hand(func(w *world, t kindtest.T, id any, p KeyProps) {
		if !p.Rotation {
			w.ask(t, "DisableKeyRotation", obj{"KeyId": id})
			return
		}
		w.ask(t, "EnableKeyRotation", obj{"KeyId": id, "RotationPeriodInDays": int(p.RotationPeriod.Hours() / 24)})
	})
	return map[tree.Path]kindtest.Hand{
		"": hand(func(w *world, t kindtest.T, id any, _ KeyProps) {
			w.ask(t, "ScheduleKeyDeletion", obj{"KeyId": id, "PendingWindowInDays": 7})
			for _, alias := range w.aliases(t, id) {
				w.ask(t, "DeleteAlias", obj{"AliasName": alias})
			}
		}),
		"description": hand(func(w *world, t kindtest.T, id any, p KeyProps) {
			w.ask(t, "UpdateKeyDescription", obj{"KeyId": id, "Description": p.Description})
		}),
		"disabled": hand(func(w *world, t kindtest.T, id any, p KeyProps) {
			w.ask(t, map[bool]string{true: "DisableKey", false: "EnableKey"}[p.Disabled], obj{"KeyId": id})
		}),
		"rotation": rotation, "rotationPeriod": rotation,
		"policy": hand(func(w *world, t kindtest.T, id any, p KeyProps) {
			document := p.Policy
			if document == nil {
				document = standardPolicy(reconcile.Place{Account: w.Server.Account, Region: w.Server.Region})
			}
			w.ask(t, "PutKeyPolicy", obj{"KeyId": id, "PolicyName": "default", "Policy": *aws.Text(document)})
		}),
		"aliases": hand(func(w *world, t kindtest.T, id any, p KeyProps) {
			have := w.aliases(t, id)
			for _, alias := range p.Aliases {
				if !slices.Contains(have, alias) {
					w.ask(t, "CreateAlias", obj{"AliasName": alias, "TargetKeyId": id})
				}
			}
			for _, alias := range have {
				if !slices.Contains(p.Aliases, alias) {
					w.ask(t, "DeleteAlias", obj{"AliasName": alias})
				}
			}
		}),
		"deletionWindow": hand(func(w *world, t kindtest.T, id any, p KeyProps) {
			if *p.DeletionWindow == 30*24*time.Hour {
				w.ask(t, "UntagResource", obj{"KeyId": id, "TagKeys": list{"athanor:deletion-days"}})
				return
			}
			w.ask(t, "TagResource", obj{"KeyId": id, "Tags": []tag{{"athanor:deletion-days", strconv.Itoa(int(p.DeletionWindow.Hours() / 24))}}})
		}),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			id := to.Attrs["id"]
			return awstest.Retag(w.tags(t, id), to, func(keys []string) error {
				w.ask(t, "UntagResource", obj{"KeyId": id, "TagKeys": keys})
				return nil
			}, func(tags map[string]string) error {
				w.ask(t, "TagResource", obj{"KeyId": id, "Tags": tagList(tags)})
				return nil
			})
		}),
	}
}
