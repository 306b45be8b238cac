package aws

import (
	"context"
	"iter"
)

// Pages are the answers of one listing operation, until next says that there is no more: it prepares the call for the next
// page. It takes the operation alone, as the paginators of the SDK do not: a client that becomes an interface is linked with
// every operation of its service.
func Pages[I, O, F any](
	ctx context.Context, call func(context.Context, *I, ...F) (*O, error), in *I, next func(*I, *O) bool,
) iter.Seq2[*O, error] {
	return func(yield func(*O, error) bool) {
		for {
			page, err := call(ctx, in)
			if !yield(page, err) || err != nil || !next(in, page) {
				return
			}
		}
	}
}

// PagesByToken are the [Pages] of an operation whose answers name a token as long as there is more: token reads it, and at is where
// the next call has it.
func PagesByToken[I, O, F any](
	ctx context.Context, call func(context.Context, *I, ...F) (*O, error), in *I, at **string, token func(*O) *string,
) iter.Seq2[*O, error] {
	return Pages(ctx, call, in, func(_ *I, out *O) bool {
		*at = token(out)
		return *at != nil && **at != ""
	})
}
