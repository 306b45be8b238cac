package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/athanor-dev/athanor/statestore"
)

const (
	// filesSQL reads which files the tables lie in, how large they are, and the number that the next transaction gets.
	filesSQL = `select array_agg(c.relfilenode::text order by c.relname), sum(pg_total_relation_size(c.oid))::bigint,
			(pg_snapshot_xmax(pg_current_snapshot())::xid)::text
		from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname in ('records', 'stages')`
	// readersSQL counts who can still read what was replaced before the transaction of that number. The server keeps it for them.
	readersSQL = `select count(*) from (
		select greatest(age(backend_xid), age(backend_xmin)) as age from pg_stat_activity
			where pid <> pg_backend_pid() and coalesce(datname, current_database()) = current_database()
		union all select age(transaction) from pg_prepared_xacts where database = current_database()
		union all select age(xmin) from pg_replication_slots) as readers
		where age > age($1::text::xid)`
)

// Compact rewrites the tables, so that their files hold nothing that was replaced or deleted before, and gives up the
// versions before the current state of each stage. It returns a
// [statestore.RemnantsError] that names what may still hold it: always what no client reaches, such as the write-ahead
// log, and the tables where the role does not own them or somebody else uses them for longer than the store's patience.
func (s *Store) Compact(ctx context.Context) error {
	stages, err := s.Stages(ctx)
	if err != nil {
		return err
	}
	for _, stage := range stages {
		if err := s.ops.DropVersions(ctx, stage); err != nil {
			return err
		}
	}
	obstacle := ""
	err = s.patiently(ctx, func() (err error) {
		obstacle, err = s.rewriteTables(ctx)
		return err
	})
	if err != nil {
		return err
	}
	rest := &statestore.RemnantsError{}
	if obstacle != "" {
		rest.Where = append(rest.Where, fmt.Sprintf("the database's tables, until their owner runs %s (%s)", s.sql.rewrite, obstacle))
	}
	rest.Where = append(rest.Where, "the database server's write-ahead log, until the server overwrites it",
		"archives of that log, replicas and backups")
	return rest
}

// rewriteTables asks the server for new files of the tables. The obstacle says why they may hold old bytes all the same.
func (s *Store) rewriteTables(ctx context.Context) (obstacle string, err error) {
	before, err := s.files(ctx)
	if err != nil {
		return "", err
	}
	if done, err := s.readersEnded(ctx, before.next); err != nil || !done {
		return "a transaction that began earlier can still read what was replaced", err
	}
	err = s.watched(ctx, before.size, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, s.sql.rewrite)
		return err
	})
	if errors.Is(err, errSilent) {
		return "the tables were in use", nil
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && !lost(err) {
		return refused.Message, nil
	}
	if err != nil {
		return "", err
	}
	after, err := s.files(ctx)
	if err != nil {
		return "", err
	}
	for i, file := range after.names {
		if file == before.names[i] { // the server skips the tables of others, with a warning
			return "this role does not own them", nil
		}
	}
	return "", nil
}

// readersEnded waits until the transactions that began before the one with the given number have ended.
func (s *Store) readersEnded(ctx context.Context, number string) (bool, error) {
	for deadline := time.Now().Add(s.patience); ; {
		readers := 0
		err := s.watched(ctx, 0, func(ctx context.Context) error {
			return s.pool.QueryRow(ctx, readersSQL, number).Scan(&readers)
		})
		if err != nil || readers == 0 || !time.Now().Before(deadline) {
			return err == nil && readers == 0, err
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// files are those that the tables lie in.
type files struct {
	names []string
	size  int
	next  string // the number that the next transaction gets
}

func (s *Store) files(ctx context.Context) (f files, err error) {
	err = s.watched(ctx, 0, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, filesSQL, s.sql.schema).Scan(&f.names, &f.size, &f.next)
	})
	return f, err
}

// watched runs a call of the server, which may take as long as sending so many bytes.
func (s *Store) watched(ctx context.Context, size int, call func(ctx context.Context) error) error {
	ctx, w := s.watch(ctx)
	defer w.stop()
	w.sending(size)
	return w.reason(call(ctx))
}
