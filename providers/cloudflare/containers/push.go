package containers

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/asset/image"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// imageAsset is the name of the image that is pushed.
const imageAsset = "image"

// architecture is that of Cloudflare's machines.
const architecture = "amd64"

func checkPush(push *Push) props.Errors {
	var problems props.Errors
	set := 0
	for _, way := range []string{push.Layout, push.Copy, push.Go} {
		if way != "" {
			set++
		}
	}
	if set != 1 {
		problems.Wrong("push", "want one of layout, copy and go")
	}
	if push.Go == "" && (push.Base != "" || push.Args != nil || push.Env != nil || push.Ports != nil) {
		problems.Wrong("push", "base, args, env and ports are for an image that is built: with go")
	}
	return problems
}

// isKnown reports whether the image can be prepared now.
func (p Push) isKnown() bool {
	return !token.Has(p.Layout) && !token.Has(p.Copy) && !token.Has(p.Go) && !token.Has(p.Base)
}

// prepareContainer builds or reads the image that is to be pushed.
func prepareContainer(ctx context.Context, work kind.Workspace, want ContainerProps) (map[string]kind.Asset, error) {
	push := want.Push
	if push == nil || !push.isKnown() {
		return nil, nil
	}
	var made kind.Asset
	var err error
	switch {
	case push.Layout != "":
		made, err = image.Layout(ctx, work, push.Layout, architecture)
	case push.Copy != "":
		made, err = image.Copy(ctx, work, push.Copy, architecture)
	default:
		made, err = image.Program{
			Go: asset.Go{Package: push.Go, Arch: architecture}, Base: push.Base, Args: push.Args, Env: push.Env, Ports: push.Ports,
		}.Build(ctx, work)
	}
	if err != nil {
		return nil, err
	}
	return map[string]kind.Asset{imageAsset: made}, nil
}

// place is the account's folder in the registry.
type place struct{ registry, account string }

func placeOf(cloud kind.Cloud, location kind.Location) place {
	return place{cloudflare.Registry(cloud), location.Account}
}

// pushed is the image that a push makes: a tag of its digest, so that equal images have one name.
func (p place) pushed(name string, made kind.Asset) string {
	return p.fullName(name + ":" + tagOf(made))
}

func tagOf(made kind.Asset) string { return made.Digest[:min(len(made.Digest), 16)] }

// push uploads what the registry lacks of an image, by a password that is good for some minutes and stands nowhere else.
func (p place) push(ctx context.Context, cloud kind.Cloud, name string, made kind.Asset) error {
	const minutes = 15 // as wrangler asks for
	var who struct{ User, Username, Password string }
	path := "/accounts/" + p.account + "/containers/registries/" + url.PathEscape(p.registry) + "/credentials"
	body := kind.Document{"permissions": []any{"push", "pull"}, "expiration_minutes": minutes}
	if err := cloudflare.Send(ctx, cloud, http.MethodPost, path, body, &who); err != nil {
		return err
	}
	return image.Push(ctx, made, image.Repository{
		Name: p.registry + "/" + p.account + "/" + name, User: cmp.Or(who.Username, who.User, "v1"), Password: who.Password,
	}, tagOf(made))
}
