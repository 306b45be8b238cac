package cmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws/keyservice"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// project is where a stack's record and caches lie.
type project struct {
	root    string // the folder that holds .athanor
	store   statestore.Store
	name    string // where the store is, in one form
	older   bool   // the state is older than what was seen, or was changed without its key, which the user accepts
	storeID string // what a store made now would be called
	keyID   string // the key that is needed where the store knows none yet, "" for any
	movedTo string // the store that the stage was moved to, "" when it is here
	plans   bool   // an engine that is made plans right away
}

// openProject finds the project of a directory and names its store. It touches nothing. Options are those of a database.
func openProject(dir, store string, options ...postgres.Option) (*project, error) {
	root := projectRoot(dir)
	store = cmp.Or(store, "bolt:"+filepath.Join(root, ".athanor", "state.db"))
	p := &project{root: root, name: storeName(dir, store)}
	switch scheme, path, ok := strings.Cut(store, ":"); {
	case ok && scheme == "bolt":
		return p, p.openBolt(path)
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		return p, p.openPostgres(store, options)
	case ok && scheme == "s3":
		return p, p.openBucket(dir, store)
	case ok && (scheme == "https" || scheme == "http"):
		return p, p.openService(store)
	default:
		return nil, reconcile.WithHint(fmt.Errorf("%s: not a store", redactURL(store)), storeForms)
	}
}

const storeForms = "bolt:PATH is a file, postgres://USER@HOST/DATABASE a database, s3://BUCKET/PREFIX a folder of a bucket, " +
	"https://HOST a service"

// redactURL keeps passwords in store URLs out of messages and files.
func redactURL(s string) string {
	if whole := postgres.WithoutPassword(s); whole != "" {
		return whole
	}
	if _, err := s3.Parse(s); err == nil { // has no place for a password
		return s
	}
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		return s
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + "://" + rest
}

func (p *project) openPostgres(url string, options []postgres.Option) error {
	options = append(options, postgres.WithID(func() string { return p.storeID }), postgres.WithLookup(reconcile.NewDialer().LookupHost))
	store, err := postgres.Open(url, options...)
	if err != nil {
		return reconcile.WithHint(fmt.Errorf("store %s: %w", redactURL(url), err), "a password is best kept in $PGPASSWORD or ~/.pgpass; in the URL, anything but letters and digits is written %%XX")
	}
	p.store = store
	return nil
}

func (p *project) openBolt(path string) error {
	store, err := bolt.Open(path, bolt.WithID(func() string { return p.storeID }))
	p.store = store
	return err
}

// projectRoot is the nearest folder above dir with a go.mod or a repository, else dir itself.
func projectRoot(dir string) string {
	for at := dir; ; {
		for _, sign := range []string{"go.mod", ".git"} {
			if _, err := os.Stat(filepath.Join(at, sign)); err == nil {
				return at
			}
		}
		up := filepath.Dir(at)
		if up == at {
			return dir
		}
		at = up
	}
}

// keyPlace is where the wrapped key of a stage and its sealed secrets are: beside the program, within the bounds of the
// context.
func keyPlace(ctx context.Context, stage statestore.Stage, dir string) seal.Place {
	read := func(path string, most int64) ([]byte, error) { return localfile.ReadAtMost(ctx, path, most) }
	return seal.Place{Beside: []string{dir}, Read: read, Stack: stage.Stack, Stage: stage.Name}
}

// keySources is the same with all that can open and wrap a key. What a key service is asked for ends with the context.
func keySources(ctx context.Context, stage statestore.Stage, dir string) seal.Place {
	place := keyPlace(ctx, stage, dir)
	place.Service = keyservice.New(ctx)
	return place
}

// engine makes the engine of a stage whose program is in dir. The stage's key is found, or made where nothing was
// sealed yet; a machine remembers which store a stage had, so that a store which was lost and is made anew is no other
// store.
func (p *project) engine(
	ctx context.Context, stage statestore.Stage, dir string, catalog *reconcile.Catalog, acceptOlder bool,
) (*engine.Engine, error) {
	remembered, err := seal.RememberedStore("", p.root, stage.Stack, stage.Name)
	if err != nil {
		return nil, err
	}
	if p.storeID = remembered; p.storeID == "" {
		p.storeID = strings.ToLower(rand.Text()[:16])
	}
	seen, err := p.seenAt(stage).Seen("")
	if err != nil {
		return nil, err
	}
	snap, err := p.store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	if snap.Holder != nil {
		p.movedTo = statestore.MovedBy(snap.Holder.Command)
	}
	have, err := p.seen(ctx, snap)
	if err != nil {
		return nil, err
	}
	older := seen.Check(stage.String(), have)
	place := keySources(ctx, stage, dir)
	place.Stored = snap.Meta[keeper.RingFact]
	find := seal.Find
	if os.Getenv(untrusted.Variable) != "" {
		find = seal.Load // nothing is made for a stranger's stack
	}
	key, err := find(place, cmp.Or(snap.KeyID, p.keyID))
	if err != nil {
		return nil, err
	}
	// A store that was lost and begun anew by a run that was cut shows less too. Like an accepted older one it does not know all.
	if p.older = older != nil; p.older && !acceptOlder && !keeper.BegunSince(seen.Epoch, key, snap) {
		return nil, older
	}
	ring, err := place.Newest()
	if err != nil {
		return nil, err
	}
	if have.Store != "" && have != seen && !p.older { // of an older one, a run that ended has the word
		if err := p.seenAt(stage).Remember("", have); err != nil {
			return nil, err
		}
	}
	store := keeper.New(p.store, stage, key, ring)
	store.Ended = func(lease statestore.Lease) { p.ended(stage, lease) }
	store.Accept, store.Unproven = acceptOlder, p.unproven()
	if acceptOlder && errors.Is(keeper.NewWhole(p.store, stage, key).Prove(snap), keeper.ErrTampered) {
		p.older = true // what was put back or dropped is looked for like what an older state does not know
	}
	if p.plans {
		store.Begin(snap)
	}
	return &engine.Engine{
		Catalog: catalog, Store: store, Key: key, Known: remembered != "",
		Remember: func(_ context.Context, id string) error {
			return seal.RememberStore("", p.root, stage.Stack, stage.Name, id)
		},
		Root: p.root, Cache: filepath.Join(p.root, ".athanor", "cache"), User: p.who(), RunHook: local.Output,
	}, nil
}

// warnMoved says that a stage was moved to another store, where its state goes on. What this store has of it is old.
func (a *app) warnMoved(stage statestore.Stage, where string) {
	if where == "" {
		return
	}
	a.Warn("%s was moved to %s: what this store has of it is old. --store or $ATHANOR_STORE names the new one.", stage, where)
}

// unproven warns, once, that the rest of a damaged state is not proven.
func (p *project) unproven() func(*keeper.TamperedError) {
	var once sync.Once
	return func(err *keeper.TamperedError) {
		once.Do(func() { render.Style{}.Warning(os.Stderr, err.Error()) })
	}
}

// who is who runs the command, for the history: the name that the environment says, and beside it what was authenticated,
// the role in the database or the account of the operating system. The two may differ, and only the second is proof.
func (p *project) who() string { return strings.TrimSpace(userName() + " " + p.proven()) }

func (p *project) proven() string {
	switch store := p.store.(type) {
	case *postgres.Store:
		return fmt.Sprintf("(role %s)", store.Role())
	case *remote.Store:
		return accountOf(store)
	}
	return fmt.Sprintf("(uid %d)", os.Getuid())
}

func (p *project) seenAt(stage statestore.Stage) seal.SeenAt {
	return seal.SeenAt{Project: p.root, Stack: stage.Stack, Stage: stage.Name, Store: p.name}
}

// seen is how far a snapshot of a stage goes; nothing while the store has no resource of it, whatever runs were cut in it:
// planning then searches for all objects.
func (p *project) seen(ctx context.Context, snap *statestore.Snapshot) (seal.Seen, error) {
	if snap.Serial == 0 {
		return seal.Seen{}, nil
	}
	have := seal.Seen{Serial: snap.Serial}
	if snap.LastRun != nil {
		have.Epoch = snap.LastRun.Epoch
	}
	var err error
	have.Store, err = p.store.ID(ctx)
	return have, err
}

// ended remembers how far a run took the state of a stage. A machine that cannot remember notices less, and stops
// nothing.
func (p *project) ended(stage statestore.Stage, lease statestore.Lease) {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	id, err := p.store.ID(ctx)
	if err == nil {
		err = p.seenAt(stage).Remember("", seal.Seen{Store: id, Serial: lease.Serial, Epoch: lease.Epoch})
	}
	if err != nil {
		render.Style{}.Warning(os.Stderr, fmt.Sprintf("what was deployed is not remembered on this machine: %v", err))
	}
}

// userName is who runs the command: the login name, else the system's account name, else the uid.
func userName() string {
	for _, name := range []string{os.Getenv("USER"), os.Getenv("LOGNAME"), os.Getenv("USERNAME")} {
		if name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// defaultStage is the developer's own stage: one to deploy to, and one for dev sessions, so that neither touches what
// the other made.
func defaultStage(command string) string {
	name, prefix := stagePart(userName()), "dev-"
	if name == "" {
		name = strconv.Itoa(os.Getuid())
	}
	if command == devName {
		prefix = engine.LocalStage
	}
	const longest = 40
	return strings.TrimRight((prefix + name)[:min(len(prefix)+len(name), longest)], "-")
}

// stageFlags are the flags of a command that works on the developer's own stage by default, after its own.
func stageFlags(own ...cli.Flag) []cli.Flag { return cli.StageFlags(defaultStage(""), own...) }

// stagePart shapes a name to what stages may be made of.
func stagePart(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// checkStage says what is wrong with a stage's name.
func checkStage(name string) error {
	if name == "" || name != stagePart(name) || len(name) > 40 {
		return reconcile.WithHint(fmt.Errorf("stage %q: %w", name, errStage), "for example --stage prod")
	}
	return nil
}

var errStage = errors.New("a stage is 1 to 40 characters of a-z, 0-9 and -, and begins and ends with a letter or digit")
