package service_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/bolt/bolttest"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
	"github.com/athanor-dev/athanor/statestore/storetest"
)

// long asks for the tests that take minutes: task service.
var long = flag.Bool("long", false, "run every store behind the service, with and without a proxy in between")

// everything is a grant of the strongest role on all stages.
func everything() []wire.Grant { return []wire.Grant{{Role: "admin", On: "*/*"}} }

// settings are those of services in tests: nothing is held back for its rate.
func settings(t testing.TB) service.Settings {
	t.Helper()
	return service.Settings{
		Version: "test", Rate: 1e6, Burst: 1e6,
		Log: func(method, path string, err error) { t.Logf("%s %s: %v", method, path, err) },
	}
}

// newToken makes an API token in a store.
func newToken(t testing.TB, store statestore.Folders, grants ...wire.Grant) string {
	t.Helper()
	if len(grants) == 0 {
		grants = everything()
	}
	token, err := service.NewTokens(store, time.Now).Create(t.Context(), wire.Author{Account: "test"}, "ci", grants, 0)
	if err != nil {
		t.Fatal(err)
	}
	return token.Secret
}

// fleet are replicas of a service on one store, each on a machine of its own.
type fleet struct {
	t       *testing.T
	store   func(storetest.World) statestore.Folders
	between func(http.Handler) http.Handler // what stands between clients and service

	mu    sync.Mutex
	token string
	urls  map[string]string
}

// open gives a client in the given world, of the replica on its machine. A service sees no process of its clients.
func (f *fleet) open(world storetest.World) statestore.Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.urls[world.Self.Boot] == "" {
		there := world
		there.Self.PID, there.Locks = 1<<20, nil
		there.Dead = func(p storetest.Process) bool { return false }
		store := f.store(there)
		if f.token == "" {
			f.token = newToken(f.t, store)
		}
		s := service.New(f.t.Context(), store, settings(f.t))
		server := httptest.NewServer(f.between(described(f.t, s)))
		f.t.Cleanup(func() { s.Stop(); server.Close(); store.Close() })
		f.urls[world.Self.Boot] = server.URL
	}
	token := f.token
	// What only has to happen is waited for: a machine at work, a database and a proxy that cuts every fourth answer can take longer
	// than a user waits.
	store, err := remote.Open(f.urls[world.Self.Boot], func(string) (string, error) { return token, nil },
		remote.OnMachine(world), remote.WithPatience(2*time.Minute))
	if err != nil {
		f.t.Fatal(err)
	}
	return store
}

func direct(h http.Handler) http.Handler { return h }

// overBolt is a service in front of a file.
func overBolt(between func(http.Handler) http.Handler) func(t *testing.T) storetest.Subject {
	return func(t *testing.T) storetest.Subject {
		path := filepath.Join(t.TempDir(), "state.db")
		f := &fleet{t: t, between: between, urls: map[string]string{}, store: func(world storetest.World) statestore.Folders {
			store, err := bolt.Open(path, bolt.OnMachine(world))
			if err != nil {
				t.Fatal(err)
			}
			return store
		}}
		return storetest.Subject{
			Open:   f.open,
			Damage: func(t *testing.T, stage statestore.Stage, address string) { bolttest.Damage(t, path, stage, address) },
			Records: func(t *testing.T, stage statestore.Stage) storetest.Records {
				return bolttest.Records(t, path, stage, nil)
			},
			SetRecords: func(t *testing.T, stage statestore.Stage, set storetest.Records) {
				bolttest.Records(t, path, stage, set)
			},
		}
	}
}

// overPostgres is a service in front of a database.
func overPostgres(between func(http.Handler) http.Handler) func(t *testing.T) storetest.Subject {
	return func(t *testing.T) storetest.Subject {
		url := pgtest.Start(t).Schema(t)
		f := &fleet{t: t, between: between, urls: map[string]string{}, store: func(world storetest.World) statestore.Folders {
			store, err := postgres.Open(url, postgres.OnMachine(world), postgres.WithPatience(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			return store
		}}
		return storetest.Subject{
			Open:    f.open,
			Damage:  func(t *testing.T, stage statestore.Stage, address string) { pgtest.Damage(t, url, stage, address) },
			Records: func(t *testing.T, stage statestore.Stage) storetest.Records { return pgtest.Records(t, url, stage) },
			SetRecords: func(t *testing.T, stage statestore.Stage, set storetest.Records) {
				pgtest.SetRecords(t, url, stage, set)
			},
		}
	}
}

// TestStoreOverBolt: a client passes what every store passes, by HTTP in front of a file, with -long; without, a proxy that
// cuts and repeats requests is in between.
func TestStoreOverBolt(t *testing.T) {
	if !*long {
		return
	}
	t.Parallel()
	storetest.Run(t, overBolt(direct))
}

// TestStoreOverPostgres: the same in front of a database. That the store itself passes is the business of its own package.
func TestStoreOverPostgres(t *testing.T) {
	if !*long {
		return
	}
	t.Parallel()
	storetest.Run(t, overPostgres(direct))
}
