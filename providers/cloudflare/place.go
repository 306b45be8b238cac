package cloudflare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudflare/cloudflare-go/v6/accounts"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"
	"github.com/cloudflare/cloudflare-go/v6/zones"

	"github.com/athanor-dev/athanor/reconcile"
)

const perPage = 50 // what every listing allows

// Place is the account that the settings name, or the only one that the token reaches. It is asked for once, so that
// nothing is read or written with a token of another. An account that the token does not reach is an [*AccountError].
func (c *Cloud) Place(ctx context.Context) (reconcile.Place, error) {
	if place := c.known(); place.Account != "" {
		return place, nil
	}
	leave, err := c.alone(ctx)
	if err != nil {
		return reconcile.Place{}, err
	}
	defer leave()
	if place := c.known(); place.Account != "" {
		return place, nil
	}
	reached, err := again(ctx, c.reached)
	id := c.account()
	switch refused, ok := errors.AsType[*Error](err); {
	case ok && refused.Has(noListing) && objectID().MatchString(id): // the account's own token: every path has the id in it
	case ok && refused.Has(noListing):
		return reconcile.Place{}, reconcile.WithHint(err, "a token that belongs to an account cannot list accounts: set account in the settings of cloudflare, or CLOUDFLARE_ACCOUNT_ID, to the id of the account")
	case err != nil:
		return reconcile.Place{}, err
	default:
		if id, err = choose(id, reached); err != nil {
			return reconcile.Place{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place = reconcile.Place{Provider: "cloudflare", Account: id}
	return c.place, nil
}

// noListing is the code of listing accounts with a token that belongs to one.
const noListing = 1001

func (c *Cloud) known() reconcile.Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.place
}

// alone waits until nobody else asks.
func (c *Cloud) alone(ctx context.Context) (leave func(), err error) {
	select {
	case c.asking <- struct{}{}:
		return func() { <-c.asking }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// again repeats a read that nobody else repeats.
func again[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	return reconcile.Retry(context.WithValue(ctx, askingKey{}, true), classOf, read)
}

// account is what is asked for: an id, a name, or "".
func (c *Cloud) account() string {
	if c.settings.Account != nil {
		return *c.settings.Account
	}
	who, _ := c.who() // without a token nothing is asked
	return cmp.Or(who.account, c.getenv("CLOUDFLARE_ACCOUNT_ID"))
}

// reached are the names of the accounts that the token reaches, by id. A token that is for zones alone is shown no
// account, but whose the zones are.
func (c *Cloud) reached(ctx context.Context) (map[string]string, error) {
	client, err := Client(c, accounts.NewAccountService)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for a, err := range Pages(func(page int64) (*pagination.V4PagePaginationArray[accounts.Account], error) {
		var p accounts.AccountListParams
		p.Page.Value, p.Page.Present = float64(page), true
		p.PerPage.Value, p.PerPage.Present = perPage, true
		return client.List(ctx, p)
	}) {
		if err != nil {
			return nil, err
		}
		found[a.ID] = a.Name
	}
	if len(found) > 0 {
		return found, nil
	}
	for z, err := range c.listZones(ctx, zones.ZoneListParams{}) {
		if err != nil {
			return nil, err
		}
		found[z.Account.ID] = z.Account.Name
	}
	return found, nil
}

// choose finds the account that is asked for.
func choose(want string, reached map[string]string) (string, error) {
	if _, ok := reached[want]; ok {
		return want, nil
	}
	var fits []string
	for id, name := range reached {
		if want == "" || name == want {
			fits = append(fits, id)
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	err := &AccountError{Want: want, Ambiguous: len(fits) > 1, Reached: reached}
	return "", reconcile.WithHint(err, "set account in the settings of cloudflare, or CLOUDFLARE_ACCOUNT_ID, to the id of one that the token reaches")
}

// AccountError says that the account asked for is not among those that the token reaches, or that several may be meant.
type AccountError struct {
	// Want is the id or the name that is asked for, "" for the only one.
	Want string
	// Ambiguous: several may be meant.
	Ambiguous bool
	// Reached are the names of the accounts that the token reaches, by id.
	Reached map[string]string
}

func (e *AccountError) Error() string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(e.Reached)) {
		all = append(all, fmt.Sprintf("%s (%s)", id, e.Reached[id]))
	}
	reach := "no account"
	if len(all) > 0 {
		reach = strings.Join(all, ", ")
	}
	switch {
	case e.Ambiguous && e.Want != "":
		return fmt.Sprintf("several accounts are called %q: the token reaches %s", e.Want, reach)
	case e.Want == "":
		return "no account is named, and the token reaches " + reach
	}
	return fmt.Sprintf("the token does not reach the account %q, but %s", e.Want, reach)
}
