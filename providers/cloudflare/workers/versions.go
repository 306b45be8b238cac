package workers

import (
	"context"
	"errors"
	"net/http"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

var errMigrates = errors.New("classes of Durable Objects change for all calls at once, and traffic is less than all")

// roll uploads a version that gets its share of the calls. The rest stays with the version that had them before: with two
// versions at work, with the older one.
func (w write) roll(ctx context.Context) error {
	if m, err := migration(w.want, w.live, w.changed); err != nil || m != nil {
		return errors.Join(err, cloudflare.Invalid(reconcile.WithHint(errMigrates, "deploy once with traffic: 100")))
	}
	body, err := w.form(ctx, false)
	if err != nil {
		return err
	}
	// The version that is uploaded keeps the secrets of the newest one. The version before goes on with what it has.
	if err := w.deleteSecrets(ctx); err != nil {
		return err
	}
	var made liveVersion
	err = cloudflare.Call(ctx, w.cloud, w.request(http.MethodPost, "/versions?bindings_inherit=strict", body), &made)
	if err != nil {
		return w.lag(cloudflare.NotYet(err))
	}
	if err := w.putUnversioned(ctx); err != nil {
		return err
	}
	before := w.live.stable
	if before == "" {
		before = w.live.version.ID
	}
	return share(ctx, w.cloud, w.target, made.ID, *w.want.Traffic, before)
}

// shift gives the newest version another share of the calls.
func (u *update) shift() *kind.Operation[liveWorker] {
	return kind.Set("CreateScriptDeployment", func(ctx context.Context, on kind.Update[liveWorker]) error {
		return share(ctx, on.Cloud, on.Live.target, on.Live.version.ID, *u.want.Traffic, on.Live.stable)
	})
}

// share divides the calls among two versions.
func share(ctx context.Context, cloud kind.Cloud, t target, newest string, percent int, other string) error {
	shares := []map[string]any{{"version_id": newest, "percentage": percent}}
	if percent < everything {
		shares = append(shares, map[string]any{"version_id": other, "percentage": everything - percent})
	}
	body := map[string]any{"strategy": "percentage", "versions": shares}
	return cloudflare.NotYet(cloudflare.Call(ctx, cloud, t.request(http.MethodPost, "/deployments", body), nil))
}
