package kms

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// opens is a policy that lets the account decide, and a second account decrypt.
func opens(account string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{
		obj{"Sid": "own", "Effect": "Allow", "Principal": obj{"AWS": "arn:aws:iam::111122223333:root"}, "Action": "kms:*", "Resource": "*"},
		obj{"Sid": "other", "Effect": "Allow", "Principal": obj{"AWS": "arn:aws:iam::" + account + ":root"}, "Action": "kms:Decrypt", "Resource": "*"},
	}}
}

// suite is what is checked of a key.
func suite(fresh func(*testing.T) *world, base obj, variants ...kindtest.Variant) kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(keyTable, kindtest.Suite{
		Kind:  keyKind.Erase(),
		World: ws.Make(fresh, (*world).keys),
		Base:  base,
		Fault: fault, Variants: variants, Hands: hands(ws),
		Others: map[tree.Path][]any{
			"policy": {opens("777788889999")}, "aliases": {list{"alias/other"}, list{"alias/shop", "alias/more"}}, "aliases[*]": {"alias/renamed"},
			"deletionWindow": {"14d"}, "rotationPeriod": {"180d"},
		},
		Steady: map[tree.Path]string{
			"usage": "a key keeps its usage for life", "spec": "a key keeps its spec for life", "multiRegion": "a key is made so, or never is",
		},
		Lingers: "a deletion is scheduled, and the key counts as deleted",
	})
}

// TestKey is in ministack, which keeps how often a key is rotated; moto does not. Ministack makes no RSA keys, and moto does.
func TestKey(t *testing.T) {
	base := obj{"aliases": list{"alias/shop"}, "rotation": true, "tags": obj{"team": "shop"}}
	variants := []kindtest.Variant{
		{Name: "tuned", Props: obj{
			"aliases": list{"alias/shop", "alias/shop/orders"}, "description": "of the shop", "rotation": true, "rotationPeriod": "90d",
			"policy": opens("444455556666"), "deletionWindow": "7d", "tags": obj{"team": "web", "cost center": "42"},
		}},
		{Name: "disabled", Props: obj{"disabled": true, "description": "rests"}},
		{Name: "everywhere", Props: obj{"multiRegion": true}},
	}
	codes := kindtest.Variant{Name: "codes", Props: obj{"usage": "GENERATE_VERIFY_MAC", "spec": "HMAC_256", "aliases": list{"alias/codes"}}}
	whole := suite(newWorld, base, append(variants, codes)...).Shared()
	for _, c := range kindtest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			s := whole
			if c.Name == kindtest.PropAlone { // neither usage nor spec of a code can be alone
				s.Variants = variants
			}
			c.Do(t, s)
		})
	}
	t.Run("moto", func(t *testing.T) {
		kindtest.RunOnly(t, suite(newMotoWorld, obj{"spec": "RSA_2048", "usage": "SIGN_VERIFY"}, kindtest.Variant{Name: "seals", Props: obj{"spec": "RSA_2048"}},
			kindtest.Variant{Name: "longer", Props: obj{"spec": "RSA_3072", "usage": "SIGN_VERIFY"}}), kindtest.PropAlone)
	})
}

// TestFaults breaks each call of a creation: there is one key in the end, with its alias.
func TestFaults(t *testing.T) {
	declared := obj{"aliases": list{"alias/shop"}, "rotation": true}
	for name, fresh := range map[string]func(*testing.T) *world{"moto": newMotoWorld, "ministack": newWorld} {
		t.Run(name, func(t *testing.T) {
			awstest.Faults(t, fresh, kindtest.Quick(keyKind, 300*time.Millisecond), declared, (*world).keys, awstest.Broken{
				{Name: "the creation is not answered", Fault: awstest.Fault{Op: "KMS.CreateKey", Kind: awstest.DropAnswer}, Wrote: 3},
				{Name: "the creation fails", Fault: awstest.Fault{Op: "KMS.CreateKey", Kind: awstest.ServerError}, Wrote: 4},
				{Name: "the alias is not answered", Fault: awstest.Fault{Op: "KMS.CreateAlias", Kind: awstest.DropAnswer}, Wrote: 3},
				{Name: "the rotation is throttled", Fault: awstest.Fault{Op: "KMS.EnableKeyRotation", Kind: awstest.Throttle}, Wrote: 4},
				{Name: "a read is late", Fault: awstest.Fault{Op: "KMS.ListAliases", Kind: awstest.ServerError}, Wrote: 3},
			})
		})
	}
}

// TestDenied fails at once, in the words of the service; an aspect that may not be read is not one that is not there.
func TestDenied(t *testing.T) {
	awstest.Denied(t, newMotoWorld, obj{"aliases": list{"alias/shop"}, "rotation": true}, "KMS.CreateKey", "KMS.CreateAlias", "KMS.EnableKeyRotation",
		"KMS.GetKeyPolicy", "KMS.GetKeyRotationStatus", "KMS.ListResourceTags", "KMS.ListAliases")
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newMotoWorld, obj{"aliases": list{"alias/shop"}}, "arn:aws:kms:eu-west-9:111122223333:key/1", func(arn string) []string {
		return []string{arn[strings.LastIndexByte(arn, '/')+1:], "alias/shop"}
	})
}

func TestDiscovered(t *testing.T) {
	awstest.Discovered(t, newMotoWorld, Service(), obj{"aliases": list{"alias/shop"}}, "")
}

// TestPending is about a key whose deletion is scheduled: state takes it for deleted, its aliases are free, nothing finds it, and
// it can be adopted by its id until it is deleted.
func TestPending(t *testing.T) {
	for name, fresh := range map[string]func(*testing.T) *world{"moto": newMotoWorld, "ministack": newWorld} {
		t.Run(name, func(t *testing.T) {
			w := fresh(t)
			declared := obj{"aliases": list{"alias/shop"}, "rotation": true, "deletionWindow": "7d"}
			out := w.Settled(t, declared, nil)
			first := out.Attrs["id"]
			job := w.Job(t, w.Kind, nil, &out)
			look, err := w.Kind.Look(t.Context(), job)
			if err != nil || !look.Holds {
				t.Fatalf("%+v, %v", look, err)
			}
			if err := w.Kind.Delete(t.Context(), job); err == nil {
				t.Error("it is deleted without permission")
			}
			job.MayDelete = true
			for range 2 {
				if err := w.Kind.Delete(t.Context(), job); err != nil {
					t.Fatal(err)
				}
			}
			shown := w.described(t, first)
			until, _ := shown["DeletionDate"].(float64)
			if left := time.Until(time.Unix(int64(until), 0)); shown["KeyState"] != "PendingDeletion" || left > 8*24*time.Hour || left < 6*24*time.Hour {
				t.Errorf("%v, in %v", shown, left)
			}
			if mark := adopt.MarkOf(w.tags(t, first)); !mark.IsZero() {
				t.Errorf("it still has the owner tag %+v", mark)
			}
			second := w.Settled(t, declared, nil)
			if second.Attrs["id"] == first || !second.Created {
				t.Fatalf("declared again it is %v", second.Attrs)
			}
			// Somebody names the first one, and no alias: its deletion is cancelled.
			adopted := w.Job(t, w.Kind, obj{"aliases": list{"alias/old"}, "rotation": true, "deletionWindow": "7d"}, nil)
			adopted.ID, adopted.Address = first.(string), "old"
			adopted.Mark.Address = "old"
			look, err = w.Kind.Look(t.Context(), adopted)
			if err != nil || look.Absent || len(look.Steps) == 0 || look.Steps[0].Path != "disabled" || look.Steps[0].Have != "PendingDeletion" {
				t.Fatalf("%+v, %v", look, err)
			}
			if _, err := w.Kind.Settle(t.Context(), adopted, reconcile.Hooks{}); err != nil {
				t.Fatal(err)
			}
			if shown := w.described(t, first); shown["KeyState"] != "Enabled" || !slices.Equal(w.aliases(t, first), []string{"alias/old"}) {
				t.Errorf("%v", shown)
			}
		})
	}
}

// TestAliases: one that leads to an earlier key of the resource is led to the new one, and one of a stranger's key is left alone.
func TestAliases(t *testing.T) {
	w := newMotoWorld(t)
	first := w.Settled(t, obj{"aliases": list{"alias/shop"}}, nil)
	next := w.Job(t, w.Kind, obj{"aliases": list{"alias/shop"}, "spec": "RSA_2048"}, nil)
	next.Mark.Generation, next.Nonce = next.Mark.Generation+1, "second"
	second, err := w.Kind.Settle(t.Context(), next, reconcile.Hooks{})
	if err != nil || second.Identity == first.Identity {
		t.Fatalf("%v, %v", second, err)
	}
	if have := w.aliases(t, second.Attrs["id"]); !slices.Equal(have, []string{"alias/shop"}) {
		t.Errorf("aliases %v", have)
	}
	theirs := w.ask(t, "CreateKey", obj{})["KeyMetadata"].(obj)["KeyId"]
	w.ask(t, "CreateAlias", obj{"AliasName": "alias/theirs", "TargetKeyId": theirs})
	job := w.Job(t, w.Kind, obj{"aliases": list{"alias/shop", "alias/theirs"}, "spec": "RSA_2048"}, &second)
	job.Mark, job.Nonce = next.Mark, next.Nonce
	if _, err = w.Kind.Settle(t.Context(), job, reconcile.Hooks{}); !errors.Is(err, errTaken) {
		t.Errorf("%v", err)
	}
	if have := w.aliases(t, theirs); !slices.Equal(have, []string{"alias/theirs"}) {
		t.Errorf("the stranger's key has %v", have)
	}
}

// TestByAlias finds a stranger's key by the first alias: it can be adopted, and is not taken without that.
func TestByAlias(t *testing.T) {
	w := newMotoWorld(t)
	theirs := w.ask(t, "CreateKey", obj{})["KeyMetadata"].(obj)
	w.ask(t, "CreateAlias", obj{"AliasName": "alias/shop", "TargetKeyId": theirs["KeyId"]})
	look, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, obj{"aliases": list{"alias/shop"}}, nil))
	if err != nil || look.Identity != theirs["Arn"] || look.Absent {
		t.Errorf("%+v, %v", look, err)
	}
}

// TestRefused finds what KMS would refuse, before any call.
func TestRefused(t *testing.T) {
	kindtest.Refuses(t, keyKind.Erase(), kindtest.Refusals{
		{obj{"aliases": list{"shop"}}, "want alias/"},
		{obj{"aliases": list{"alias/aws/sqs"}}, "keys of AWS"},
		{obj{"aliases": list{"alias/a b"}}, "want alias/"},
		{obj{"spec": "RSA_2048", "rotation": true}, "only a key of the spec"},
		{obj{"usage": "SIGN_VERIFY"}, "ENCRYPT_DECRYPT alone"},
		{obj{"rotation": true, "rotationPeriod": "30d"}, "rotationPeriod"},
		{obj{"deletionWindow": "36h"}, "deletionWindow"},
		{obj{"aliases": list{"alias/a/b-c_d"}, "usage": "SIGN_VERIFY", "spec": "RSA_2048"}, ""},
	})
}

// TestGolden has the members of https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html as it shows them.
func TestGolden(t *testing.T) {
	declared := obj{"description": "of the shop", "usage": "SIGN_VERIFY", "spec": "RSA_2048", "multiRegion": true}
	body := kind.Document{"Description": "of the shop", "KeyUsage": "SIGN_VERIFY", "KeySpec": "RSA_2048", "MultiRegion": true}
	kindtest.Golden(t, keyTable, declared, kind.Document{}, body)
	awstest.ConformTree(t, "kms", "CreateKey", obj{
		"Description": "of the shop", "KeyUsage": "SIGN_VERIFY", "KeySpec": "RSA_2048", "MultiRegion": true, "Policy": *aws.Text(opens("444455556666")),
		"Tags": list{obj{"TagKey": "team", "TagValue": "shop"}},
	})
	for operation, body := range map[string]obj{
		"EnableKeyRotation":   {"KeyId": "1", "RotationPeriodInDays": int64(90)},
		"ScheduleKeyDeletion": {"KeyId": "1", "PendingWindowInDays": int64(7)},
		"PutKeyPolicy":        {"KeyId": "1", "PolicyName": "default", "Policy": "{}"},
		"CreateAlias":         {"AliasName": "alias/shop", "TargetKeyId": "1"},
		"ListAliases":         {"KeyId": "1", "Limit": int64(100)},
		"ListResourceTags":    {"KeyId": "1", "Limit": int64(50)},
	} {
		awstest.ConformTree(t, "kms", operation, body)
	}
}
