package cloudfront

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

const controlType = "aws.cloudfront.OriginAccessControl"

// NewOriginAccessControl declares an origin access control. One is enough for all buckets of an account.
func NewOriginAccessControl(s *athanor.Stack, name string, p OriginAccessControlProps, opts ...athanor.Option) OriginAccessControl {
	return athanor.Declare(s, controlKind, name, p, opts...)
}

// ReadOriginAccessControl uses an origin access control that the stack does not own, by its identity or by OriginAccessControlProps
// that name it.
func ReadOriginAccessControl(s *athanor.Stack, name string, by any) OriginAccessControl {
	return athanor.Read(s, controlKind, name, by)
}

// OriginAccessControlProps declare an origin access control. Defaults and limits are those of
// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_OriginAccessControlConfig.html
type OriginAccessControlProps struct {
	// Name of the control, one in the account: up to 64 letters, digits and - _ . characters. Default: none, a name is generated. A
	// change renames the control in place.
	Name string
	// Description of the control. Default: none.
	Description string `prop:"maxlen=256" wire:"-"`
	// OriginType is what it signs requests to: s3, lambda (the URL of a function), mediastore or mediapackagev2.
	OriginType *string `prop:"enum=s3|lambda|mediastore|mediapackagev2,default=s3" wire:"-"`
	// Signing says which requests are signed: always, never, or no-override, those that the viewer did not sign.
	Signing *string `prop:"enum=always|never|no-override,default=always" wire:"-"`
}

// OriginAccessControl is what others may refer to of an origin access control.
type OriginAccessControl struct {
	// ID of the control, for origins.
	ID string
	// Name of the control.
	Name string `attr:"mutable=name"`
}

// liveControl is an observed origin access control.
type liveControl struct {
	attrs OriginAccessControl
	have  OriginAccessControlProps
}

type controlSite = kind.Site[OriginAccessControlProps, OriginAccessControl]

var controlTable = kind.TableOf[OriginAccessControlProps]()

var controlKind = &kind.Kind[OriginAccessControlProps, liveControl, OriginAccessControl]{
	Type: controlType,
	Doc:  "An origin access control of CloudFront: it signs the requests of distributions to private origins. It has no tags: its name alone says whose it is.",

	Observe:    observeControl,
	Create:     createControl,
	Compare:    compareControl,
	Attributes: func(live liveControl) OriginAccessControl { return live.attrs },
	Delete:     deleteControl,
	Identity:   func(c OriginAccessControl) string { return c.ID },
	Global:     aws.Global,

	Props: controlTable,
	Unique: func(want OriginAccessControlProps) []string {
		return aws.Declares("AWS::CloudFront::OriginAccessControl", want.Name)
	},
	Named: &kind.Named[OriginAccessControlProps, liveControl]{
		Given: func(want OriginAccessControlProps) string { return want.Name },
		Rule:  func(OriginAccessControlProps) kind.NameRule { return kind.NameRule{Max: 64, Marks: "-_."} },
	},
	List: listControls,

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("CloudFront", "cloudfront", aws.Source(source), kind.Permissions{
		Observe: []string{"GetOriginAccessControl", "ListOriginAccessControls"},
		List:    []string{"ListOriginAccessControls"},
		Create:  []string{"CreateOriginAccessControl"},
		Update:  []string{"UpdateOriginAccessControl"},
		Delete:  []string{"GetOriginAccessControl", "DeleteOriginAccessControl"},
		Resource: func(location kind.Location, _ string) []string {
			return []string{string(arnOf(location, "origin-access-control/*"))}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudfront.html
		Anywhere: []string{"ListOriginAccessControls", "CreateOriginAccessControl"},
	}),
}

var errNoControl = errors.New("an origin access control is found by its identity or its name, and there is neither")

// controlConfig is the configuration of an origin access control as CloudFront writes it.
type controlConfig struct {
	Name            string
	Description     string
	SigningProtocol string
	SigningBehavior string
	OriginType      string `xml:"OriginAccessControlOriginType"`
}

type controlDocument struct {
	XMLName   xml.Name `xml:"OriginAccessControlConfig"`
	Namespace string   `xml:"xmlns,attr"`
	controlConfig
}

func configOf(name string, want OriginAccessControlProps) controlDocument {
	return controlDocument{Namespace: namespace, controlConfig: controlConfig{
		Name: name, Description: want.Description, SigningProtocol: "sigv4",
		SigningBehavior: *want.Signing, OriginType: *want.OriginType,
	}}
}

// shownControl is an origin access control as CloudFront shows it.
type shownControl struct {
	ID     string        `xml:"Id"`
	Config controlConfig `xml:"OriginAccessControlConfig"`
}

func controlPath(id string) string { return version + "origin-access-control/" + url.PathEscape(id) }

func getControl(ctx context.Context, cloud kind.Cloud, id string) (out shownControl, etag string, err error) {
	etag, err = call(ctx, cloud, aws.XMLCall{Operation: "GetOriginAccessControl", Method: http.MethodGet, Path: controlPath(id), Out: &out})
	return out, etag, err
}

// observeControl reads a control by its identity, or finds it by its name in the list of all.
func observeControl(ctx context.Context, s controlSite) (live liveControl, err error) {
	id := s.ID
	switch p, isARN := aws.ARN(id).Parse(); {
	case s.Last != nil:
		id = s.Last.ID
	case isARN:
		id = strings.TrimPrefix(p.Resource, "origin-access-control/")
		if aws.ARN(s.ID) != arnOf(s.Location, "origin-access-control/"+id) {
			return live, aws.Foreign(s.ID, s.Location)
		}
	case id == "" && s.Name == "":
		return live, errNoControl
	case id == "":
		err := pages(ctx, s.Cloud, "ListOriginAccessControls", "origin-access-control", func(page listing) {
			for _, c := range page.Controls {
				if c.Name == s.Name {
					id = c.ID
				}
			}
		})
		if err != nil {
			return live, err
		}
		if id == "" {
			return live, reconcile.ErrAbsent
		}
	}
	shown, _, err := getControl(ctx, s.Cloud, id)
	if err != nil {
		return live, aws.Absent(err)
	}
	c := shown.Config
	return liveControl{
		attrs: OriginAccessControl{ID: shown.ID, Name: c.Name},
		have:  OriginAccessControlProps{Name: c.Name, Description: c.Description, OriginType: &c.OriginType, Signing: &c.SigningBehavior},
	}, nil
}

func createControl(ctx context.Context, s controlSite) (OriginAccessControl, error) {
	var out shownControl
	_, err := call(ctx, s.Cloud, aws.XMLCall{
		Operation: "CreateOriginAccessControl", Method: http.MethodPost, Path: version + "origin-access-control", In: configOf(s.Name, s.Want), Out: &out,
	})
	return OriginAccessControl{ID: out.ID, Name: s.Name}, err
}

// compareControl states every aspect; one call sets all.
func compareControl(d *kind.Diff[liveControl], want OriginAccessControlProps, live liveControl) {
	set := kind.Set("UpdateOriginAccessControl", func(ctx context.Context, u kind.Update[liveControl]) error {
		_, etag, err := getControl(ctx, u.Cloud, u.Live.attrs.ID)
		if err != nil {
			return aws.NotYet(err)
		}
		name := u.Live.attrs.Name
		if slices.Contains(u.Changed, "name") {
			name = u.Name
		}
		_, err = call(ctx, u.Cloud, aws.XMLCall{
			Operation: "UpdateOriginAccessControl", Method: http.MethodPut, Path: controlPath(u.Live.attrs.ID) + "/config", Match: etag,
			In: configOf(name, controlTable.Merged(want, u.Live.have, u.Changed)),
		})
		return aws.NotYet(err)
	})
	kind.CompareName(d, "name", live.attrs.Name, set)
	kind.Compare(d, controlTable, want, live.have, set)
}

func deleteControl(ctx context.Context, s controlSite) error {
	_, etag, err := getControl(ctx, s.Cloud, s.Last.ID)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.Cloud, aws.XMLCall{Operation: "DeleteOriginAccessControl", Method: http.MethodDelete, Path: controlPath(s.Last.ID), Match: etag})
	return err
}

func listControls(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	err = pages(ctx, scope.Cloud, "ListOriginAccessControls", "origin-access-control", func(page listing) {
		for _, c := range page.Controls {
			if strings.HasPrefix(c.Name, scope.Prefix) {
				all = append(all, kind.Found{Kind: controlType, Place: scope.Place, Identity: c.ID, Name: c.Name})
			}
		}
	})
	return all, err
}
