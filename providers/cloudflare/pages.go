package cloudflare

import (
	"iter"

	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"
)

// Pages goes through a listing, page after page from 1. The client's own pagers are not used: they ask for the next
// page without the context of the caller, and so past every gate.
func Pages[T any](ask func(page int64) (*pagination.V4PagePaginationArray[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := int64(1); ; page++ {
			answer, err := ask(page)
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
