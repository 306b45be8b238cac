package cloudflare

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"

	"github.com/athanor-dev/athanor/reconcile"
)

// CallPages goes through a listing without the client's own types: path is below the endpoint, and query what is asked for
// beside the page. An answer that does not tell of pages is the only one.
func CallPages[T any](ctx context.Context, cloud reconcile.Cloud, path string, query url.Values) iter.Seq2[T, error] {
	return Pages(func(page int64) (*pagination.V4PagePaginationArray[T], error) {
		asked := url.Values{"page": {strconv.FormatInt(page, 10)}}
		maps.Copy(asked, query)
		answer := new(pagination.V4PagePaginationArray[T])
		err := Call(ctx, cloud, Request{Method: http.MethodGet, Path: path + "?" + asked.Encode(), Info: &answer.ResultInfo}, &answer.Result)
		if answer.ResultInfo.PerPage == 0 {
			answer.ResultInfo.PerPage = int64(len(answer.Result)) + 1
		}
		return answer, err
	})
}

// CallList goes through a listing that Cloudflare gives on one page, without the client's own types. each is one of it.
func CallList[S, T any](ctx context.Context, cloud reconcile.Cloud, path string, each func(S) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var all []S
		if err := Send(ctx, cloud, http.MethodGet, path, nil, &all); err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, shown := range all {
			if t, err := each(shown); !yield(t, err) {
				return
			}
		}
	}
}

// Cycle finds listings that have no end: a server that does not know of pages answers each page alike. The zero value is ready.
type Cycle struct{ seen map[[sha256.Size]byte]bool }

var errCycle = errors.New("a page of the listing came before: the server does not go on")

// Check returns an error for a page, or a cursor, that came before. Every page of a listing is given to it in turn.
func (c *Cycle) Check(page any) error {
	text, err := json.Marshal(page)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if c.seen[sum] {
		return Invalid(errCycle)
	}
	if c.seen == nil {
		c.seen = map[[sha256.Size]byte]bool{}
	}
	c.seen[sum] = true
	return nil
}

// Pages goes through a listing, page after page from 1. The client's own pagers are not used: they ask for the next
// page without the context of the caller, and so past every gate. A listing that has no end is an error.
func Pages[T any](ask func(page int64) (*pagination.V4PagePaginationArray[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var cycle Cycle
		for page := int64(1); ; page++ {
			answer, err := ask(page)
			if err == nil && len(answer.Result) > 0 {
				err = cycle.Check(answer.Result)
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range answer.Result {
				if !yield(item, nil) {
					return
				}
			}
			// The service may give fewer for each page than it was asked for.
			if n := int64(len(answer.Result)); n == 0 || n < answer.ResultInfo.PerPage {
				return
			}
		}
	}
}
