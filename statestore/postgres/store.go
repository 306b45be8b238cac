// Package postgres is the store for teams: one PostgreSQL database, any number of clients.
//
// It knows how the ledger's tables lie in the database, how a stage is read and changed in one statement each, how the
// schema is made and migrated, and how long a server that went away is waited for. What stands in the tables is the
// ledger's. No session state is used, so that a pooler such as PgBouncer may hand every transaction to another
// connection, and no lock outlives a statement, so that a client which stops in the middle holds nobody up.
package postgres

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
)

// Store is a store in a schema of a PostgreSQL database. It connects when it is first used and keeps at most four
// connections, none of them for longer than a minute without use.
type Store struct {
	pool     *pgxpool.Pool
	sql      statements
	place    string // for people: host and database, never a password
	role     string
	foreign  bool
	lookup   func(ctx context.Context, host string) ([]string, error)
	id       func() string
	patience time.Duration
	// connections is how many there are at most; 0 is what the URL says.
	connections int32
	now         func(server time.Time) time.Time // tests have a clock of their own
	migrations  []migration
	met         atomic.Bool // the server answered once: from then on it is waited for

	ops     ledger.Operations
	once    ledger.Operations // for what must not be sent again when its outcome is unknown
	folders turns             // of this process at each folder
}

var _ statestore.Folders = (*Store)(nil)

// Option sets how a store behaves.
type Option func(*Store)

// WithID says which identity the store gets when its schema is made. Without it, or when it gives an empty one, a
// random identity is made. A schema that is there keeps its own.
func WithID(id func() string) Option { return func(s *Store) { s.id = id } }

// WithPatience sets how long a call waits for a server that does not answer, or that went away after it had answered
// once, before it ends with ErrUnavailable. A server that never answered is not waited for: its address is likely
// wrong. The default is 10 s.
func WithPatience(d time.Duration) Option { return func(s *Store) { s.patience = d } }

// OnMachine sets the machine that the store asks for clocks and processes, its server included, for tests.
func OnMachine(machine host.World) Option {
	return func(s *Store) {
		s.ops.World, s.once.World = machine, machine
		s.now = func(time.Time) time.Time { return machine.Now() }
	}
}

// WithConnections sets how many connections the store keeps at most. The default is 4.
func WithConnections(n int32) Option { return func(s *Store) { s.connections = n } }

// Foreign says that the server is not the stage's own. The passwords, client certificates and options of the environment and
// of the user's files are not for it.
func Foreign() Option { return func(s *Store) { s.foreign = true } }

// WithLookup sets how the name of a server is resolved, for each connection anew. Connections are made to the addresses
// that it returns and to no others.
func WithLookup(lookup func(ctx context.Context, host string) ([]string, error)) Option {
	return func(s *Store) { s.lookup = lookup }
}

// Open names a store by the URL of its database: postgres://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETERS. What the URL
// leaves out is taken from the variables of libpq ($PGHOST, $PGPASSWORD, …) and from ~/.pgpass. A server that is neither on
// the loopback nor behind a socket is asked for TLS, and its certificate is verified, unless sslmode says otherwise.
// Parameters are those of libpq, such as sslmode, sslrootcert and target_session_attrs, and
//
//   - schema: the schema that holds the store, "athanor" by default. Each is a store of its own.
//
// Open connects to nothing. The schema is made by the first Acquire, and until then every stage is empty. Errors name
// no password.
func Open(url string, options ...Option) (*Store, error) {
	s := &Store{
		id: func() string { return "" }, patience: 10 * time.Second,
		now:        func(server time.Time) time.Time { return server },
		migrations: migrations(),
	}
	world := host.Real()
	s.ops = ledger.Operations{Backend: backend{store: s}, World: world}
	s.once = ledger.Operations{Backend: backend{store: s, once: true}, World: world}
	for _, option := range options {
		option(s)
	}
	address, err := parse(url, s.foreign)
	if err != nil {
		return nil, err
	}
	s.sql, s.place, s.role = statementsFor(address.schema), address.place, address.config.ConnConfig.User
	config := address.config
	if s.connections > 0 {
		config.MaxConns = s.connections
	}
	if s.lookup != nil {
		config.ConnConfig.LookupFunc = s.lookup
	}
	config.ConnConfig.ConnectTimeout = min(config.ConnConfig.ConnectTimeout, s.patience)
	// A pool makes its connections when they are asked for; the context is only theirs to inherit values from.
	if s.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil { //nolint:forbidigo // nothing is done in it
		return nil, err
	}
	return s, nil
}

// Role is the role that the store is used as, which the server has authenticated.
func (s *Store) Role() string { return s.role }

// Load implements [statestore.Store].
func (s *Store) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	return s.ops.Load(ctx, stage)
}

// Acquire implements [statestore.Store]. It makes or migrates the schema when that is needed.
func (s *Store) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	return s.ops.Acquire(ctx, stage, claim)
}

// Commit implements [statestore.Store].
func (s *Store) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	return s.ops.Commit(ctx, lease, batch)
}

// Versions implements [statestore.Versions].
func (s *Store) Versions(ctx context.Context, stage statestore.Stage) ([]statestore.Version, error) {
	return s.ops.Versions(ctx, stage)
}

// LoadVersion implements [statestore.Versions].
func (s *Store) LoadVersion(ctx context.Context, stage statestore.Stage, serial uint64) (*statestore.Snapshot, error) {
	return s.ops.LoadVersion(ctx, stage, serial)
}

// Interrupt implements [statestore.Store].
func (s *Store) Interrupt(ctx context.Context, stage statestore.Stage, order statestore.Order) (bool, error) {
	return s.once.Interrupt(ctx, stage, order)
}

// Runs implements [statestore.Store].
func (s *Store) Runs(ctx context.Context, stage statestore.Stage, limit int) ([]statestore.Run, error) {
	return s.ops.Runs(ctx, stage, limit)
}

// Events implements [statestore.Store].
func (s *Store) Events(ctx context.Context, stage statestore.Stage, run string, after uint64, limit int) ([]statestore.Event, error) {
	return s.ops.Events(ctx, stage, run, after, limit)
}

// Stages implements [statestore.Store]: sorted by the bytes of their names.
func (s *Store) Stages(ctx context.Context) ([]statestore.Stage, error) {
	var stages []statestore.Stage
	err := s.read(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.sql.stages)
		if err != nil {
			return err
		}
		stages, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (statestore.Stage, error) {
			var stack, name []byte
			err := row.Scan(&stack, &name)
			return statestore.Stage{Stack: string(stack), Name: string(name)}, err
		})
		stages = slices.DeleteFunc(stages, ledger.IsFolder)
		return err
	})
	return stages, err
}

// ReadFolder implements [statestore.Folders].
func (s *Store) ReadFolder(ctx context.Context, name string, read func(statestore.Folder) error, keys ...string) error {
	return s.ops.ReadFolder(ctx, name, read, keys...)
}

// ChangeFolder implements [statestore.Folders]. It makes or migrates the schema when that is needed.
func (s *Store) ChangeFolder(
	ctx context.Context, name string, change func(statestore.Folder) (bool, error), keys ...string,
) error {
	leave, err := s.folders.enter(ctx, name)
	if err != nil {
		return err
	}
	defer leave()
	return s.ops.ChangeFolder(ctx, name, change, keys...)
}

// ID implements [statestore.Store]. Before the schema is made it is the identity that this handle would give it, empty
// when that is not known yet; who makes it first decides.
func (s *Store) ID(ctx context.Context) (string, error) {
	id, found := "", false
	err := s.read(ctx, func(ctx context.Context, tx pgx.Tx) error {
		err := tx.QueryRow(ctx, s.sql.about).Scan(new(int64), &id)
		found = err == nil
		return err
	})
	if err == nil && !found {
		id = s.id()
	}
	return id, err
}

// Close implements [statestore.Store]. It waits a second at most for the server to take leave; a connection to one that is
// silent ends by itself later.
func (s *Store) Close() error {
	done := make(chan struct{})
	go func() {
		s.pool.Close()
		close(done)
	}()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	return nil
}

// Check proves the structure of each stage's rows, and that the indexes agree with them. The second result says what
// kept it from looking.
func (s *Store) Check(ctx context.Context) (broken []error, err error) {
	stages, err := s.Stages(ctx)
	if err != nil {
		return nil, err
	}
	for _, stage := range stages {
		snap, err := s.Load(ctx, stage)
		if err != nil {
			return broken, err
		}
		indexes, err := s.ops.Check(ctx, stage)
		if err != nil {
			return broken, err
		}
		broken = append(append(broken, snap.Check()...), indexes...)
	}
	return broken, nil
}
