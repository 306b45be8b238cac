package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// backend runs the ledger's transactions on one stage.
type backend struct {
	store *Store
	once  bool // a change whose outcome is unknown is not sent again
}

// View implements the ledger's backend. What is wanted first comes in one statement. When that was not all and another
// writer came in between, it is read again in a transaction with one snapshot.
func (b backend) View(ctx context.Context, stage statestore.Stage, wants []ledger.Want, read func(ledger.Tx) error) error {
	s := b.store
	look := func(ctx context.Context, from querier, w *watch) error {
		t, err := s.open(ctx, from, w, stage, wants)
		if err != nil || t.at.stage == 0 {
			return err
		}
		err = read(t)
		if t.err != nil { // what was found in less than the truth is void
			return t.err
		}
		return err
	}
	return s.patiently(ctx, func() error {
		err := s.explained(ctx, func() error {
			ctx, w := s.watch(ctx)
			defer w.stop()
			return look(ctx, s.pool, w)
		})
		if errors.Is(err, errStale) || errors.Is(err, errOlder) || errors.Is(err, errAbsent) {
			return s.view(ctx, func(ctx context.Context, tx pgx.Tx, w *watch) error { return look(ctx, tx, w) })
		}
		return err
	})
}

// Update implements the ledger's backend: one statement reads, the ledger decides, one statement compares and swaps. No
// transaction is open in between.
func (b backend) Update(ctx context.Context, stage statestore.Stage, makeIt bool, wants []ledger.Want, write func(ledger.Tx) (bool, error)) error {
	s := b.store
	migrated := false
	return s.patiently(ctx, func() error {
		for {
			err := s.explained(ctx, func() error { return b.update(ctx, stage, makeIt, wants, write) })
			switch missing := errors.Is(err, errAbsent); {
			case errors.Is(err, errStale):
			case missing && !makeIt:
				return nil
			case (missing || errors.Is(err, errOlder)) && !migrated:
				if err := s.migrate(ctx); err != nil {
					return err
				}
				migrated = true
			default:
				return err
			}
		}
	})
}

func (b backend) update(ctx context.Context, stage statestore.Stage, makeIt bool, wants []ledger.Want, write func(ledger.Tx) (bool, error)) error {
	ctx, w := b.store.watch(ctx)
	defer w.stop()
	t, err := b.store.open(ctx, b.store.pool, w, stage, wants)
	if err != nil || t.at.stage == 0 && !makeIt {
		return err
	}
	durable, err := write(t)
	switch {
	case t.err != nil: // what was decided on less than the truth is void
		return t.err
	case err != nil || !durable:
		return err
	}
	err = t.change()
	if b.once && lost(err) && !pgconn.SafeToRetry(err) {
		return b.store.unavailable(err)
	}
	return err
}

// change writes what the transaction wrote if the stage is still what it was.
func (t *tables) change() error {
	args, size := t.changeArgs()
	sql := t.store.sql.change
	if t.at.stage == 0 {
		sql = t.store.sql.make
		args = append(args, digest(t.stage), []byte(t.stage.Stack), []byte(t.stage.Name))
	} else {
		args = append(args, t.at.stage, t.at.number)
	}
	t.watch.sending(size)
	err := t.store.pool.QueryRow(t.ctx, sql, args...).Scan(new(int64))
	if errors.Is(err, pgx.ErrNoRows) {
		return errStale
	}
	return t.watch.reason(err)
}

// read runs a transaction on the store as a whole. Without a schema there is nothing to read, and use is not called.
func (s *Store) read(ctx context.Context, use func(ctx context.Context, tx pgx.Tx) error) error {
	return s.patiently(ctx, func() error {
		return s.view(ctx, func(ctx context.Context, tx pgx.Tx, _ *watch) error {
			var version int64
			if err := tx.QueryRow(ctx, s.sql.about).Scan(&version, new(string)); err != nil {
				return err
			}
			s.met.Store(true)
			if err := s.checkSchema(version); err != nil {
				return err
			}
			return use(ctx, tx)
		})
	})
}

// view runs use on one snapshot, which it cannot change. An older schema is read as if it had been migrated, in a
// transaction that is never committed: reading changes nothing, not even the schema.
func (s *Store) view(ctx context.Context, use func(ctx context.Context, tx pgx.Tx, w *watch) error) error {
	err := s.explained(ctx, func() error {
		return s.begin(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, use)
	})
	if errors.Is(err, errOlder) {
		err = s.begin(ctx, pgx.TxOptions{}, func(ctx context.Context, tx pgx.Tx, w *watch) error {
			if err := s.lift(ctx, tx); err != nil {
				return err
			}
			return use(ctx, tx, w)
		})
	}
	if errors.Is(err, errAbsent) {
		s.met.Store(true)
		return nil
	}
	return err
}

// begin runs use in a transaction and rolls it back.
func (s *Store) begin(ctx context.Context, options pgx.TxOptions, use func(ctx context.Context, tx pgx.Tx, w *watch) error) error {
	ctx, w := s.watch(ctx)
	defer w.stop()
	tx, err := s.pool.BeginTx(ctx, options)
	if err != nil {
		return w.reason(err)
	}
	err = use(ctx, tx, w)
	w.alive()
	return w.reason(errors.Join(err, tx.Rollback(ctx)))
}
