package cloudfront

import (
	"cmp"
	"context"
	"encoding/xml"
	"net/http"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// controls are all as others see them.
func (w *world) controls(t kindtest.T) []any {
	t.Helper()
	var ids []string
	err := pages(context.Background(), w.Others, "ListOriginAccessControls", "origin-access-control", func(page listing) {
		for _, c := range page.Controls {
			ids = append(ids, c.ID)
		}
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	var all []any
	for _, id := range ids {
		c, _, err := getControl(context.Background(), w.Others, id)
		if err != nil {
			t.Fatalf("%v", err)
		}
		all = append(all, obj{"description": c.Config.Description, "type": c.Config.OriginType, "signing": c.Config.SigningBehavior, "protocol": c.Config.SigningProtocol})
	}
	return all
}

func controlHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			id := to.Attrs["id"].(string)
			_, etag, err := getControl(context.Background(), w.Others, id)
			if err != nil {
				return err
			}
			_, err = call(context.Background(), w.Others, aws.XMLCall{Operation: "DeleteOriginAccessControl", Method: http.MethodDelete, Path: controlPath(id), Match: etag})
			return err
		}),
	}
	write := func(w *world, t kindtest.T, to kindtest.Edited, name string) error {
		id := to.Attrs["id"].(string)
		_, etag, err := getControl(context.Background(), w.Others, id)
		if err != nil {
			return err
		}
		_, err = call(context.Background(), w.Others, aws.XMLCall{
			Operation: "UpdateOriginAccessControl", Method: http.MethodPut, Path: controlPath(id) + "/config", Match: etag,
			In: configOf(name, kindtest.PropsOf(t, controlTable, to.Props)),
		})
		return err
	}
	whole := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		return write(w, t, to, to.Attrs["name"].(string))
	})
	hands["name"] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		return write(w, t, to, cmp.Or(to.Text(), "by-hand"))
	})
	for _, path := range []tree.Path{"description", "originType", "signing"} {
		hands[path] = whole
	}
	return hands
}

func TestControl(t *testing.T) {
	ws := awstest.Worlds[*world]{}
	kindtest.Run(t, kindtest.Derive(controlTable, kindtest.Suite{
		Kind:  controlKind.Erase(),
		World: ws.Make(newControlWorld, (*world).controls),
		Base:  obj{},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{"description": "a & b", "originType": "lambda", "signing": "no-override"}},
			{Name: "named", Props: obj{"name": "site-control"}},
		},
		Hands: controlHands(ws),
	}))
}

// TestControlFaults breaks each call of a creation: there is one control in the end.
func TestControlFaults(t *testing.T) {
	awstest.Faults(t, newControlWorld, kindtest.Quick(controlKind, 300*time.Millisecond), obj{"name": "site"}, (*world).controls, awstest.Broken{
		{Name: "the creation is not answered", Fault: awstest.Fault{Op: "CloudFront.CreateOriginAccessControl", Kind: awstest.DropAnswer}, Wrote: 1},
		{Name: "the creation fails", Fault: awstest.Fault{Op: "CloudFront.CreateOriginAccessControl", Kind: awstest.ServerError}, Wrote: 2},
		{Name: "the list is late", Fault: awstest.Fault{Op: "CloudFront.ListOriginAccessControls", Kind: awstest.ServerError}, Wrote: 1},
	})
}

func TestControlDenied(t *testing.T) {
	awstest.Denied(t, newControlWorld, obj{"name": "site"}, "CloudFront.CreateOriginAccessControl", "CloudFront.ListOriginAccessControls", "CloudFront.GetOriginAccessControl")
}

func TestControlElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newControlWorld, obj{"name": "site"}, "arn:aws:cloudfront::999988887777:origin-access-control/E1ELSEWHERE", func(id string) []string {
		return []string{id}
	})
}

// TestControlConforms holds the bodies of calls to the service's own description.
func TestControlConforms(t *testing.T) {
	w := newControlWorld(t)
	out := w.Settled(t, obj{"name": "site"}, nil)
	w.Settled(t, obj{"name": "site", "description": "x", "originType": "lambda"}, &out)
	const want = `<OriginAccessControlConfig xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"><Name>site</Name><Description>x</Description>` +
		`<SigningProtocol>sigv4</SigningProtocol><SigningBehavior>always</SigningBehavior><OriginAccessControlOriginType>lambda</OriginAccessControlOriginType></OriginAccessControlConfig>`
	if have := w.sent(t, "UpdateOriginAccessControl"); have != want {
		t.Errorf("sent %s", have)
	}
	for _, operation := range []string{"CreateOriginAccessControl", "UpdateOriginAccessControl"} {
		awstest.ConformXML(t, "cloudfront", operation, w.sent(t, operation))
	}
}

// TestGoldenControl has the members of https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_OriginAccessControlConfig.html, with the
// defaults of what is not declared.
func TestGoldenControl(t *testing.T) {
	declared := kindtest.PropsOf(t, controlTable, obj{"signing": "no-override"})
	controlTable.Default(&declared)
	have, err := xml.Marshal(configOf("site", declared))
	if err != nil {
		t.Fatal(err)
	}
	const want = `<OriginAccessControlConfig xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"><Name>site</Name><Description></Description>` +
		`<SigningProtocol>sigv4</SigningProtocol><SigningBehavior>no-override</SigningBehavior><OriginAccessControlOriginType>s3</OriginAccessControlOriginType></OriginAccessControlConfig>`
	if string(have) != want {
		t.Errorf("have %s", have)
	}
}
