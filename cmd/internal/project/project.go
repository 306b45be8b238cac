// Package project is where the state of a stack lies: it finds the folder of a project, opens the store that a name means, finds the key of a
// stage, and makes the engine that works on it.
//
// It does not know what a stack declares, nor what a command does with the engine.
package project

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/login"
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

// Project is where a stack's record and caches lie.
type Project struct {
	Root    string // the folder that holds .athanor
	Store   statestore.Store
	Name    string // where the store is, in one form
	Older   bool   // the state is older than what was seen, or was changed without its key, which the user accepts
	storeID string // what a store made now would be called
	KeyID   string // the key that is needed where the store knows none yet, "" for any
	MovedTo string // the store that the stage was moved to, "" when it is here
	Plans   bool   // an engine that is made plans right away
}

// Open finds the project of a directory and names its store. It touches nothing. Options are those of a database.
func Open(dir, store string, options ...postgres.Option) (*Project, error) {
	root := Root(dir)
	store = cmp.Or(store, "bolt:"+filepath.Join(root, ".athanor", "state.db"))
	p := &Project{Root: root, Name: StoreName(dir, store)}
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
		return nil, reconcile.WithHint(fmt.Errorf("%s: not a store", Redacted(store)), StoreForms)
	}
}

// StoreForms says how stores are named.
const StoreForms = "bolt:PATH is a file, postgres://USER@HOST/DATABASE a database, s3://BUCKET/PREFIX a folder of a bucket, " +
	"https://HOST a service"

// Redacted keeps passwords in store URLs out of messages and files.
func Redacted(s string) string {
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

func (p *Project) openPostgres(url string, options []postgres.Option) error {
	options = append(options, postgres.WithID(func() string { return p.storeID }), postgres.WithLookup(reconcile.NewDialer().LookupHost))
	store, err := postgres.Open(url, options...)
	if err != nil {
		return reconcile.WithHint(fmt.Errorf("store %s: %w", Redacted(url), err), "a password is best kept in $PGPASSWORD or ~/.pgpass; in the URL, anything but letters and digits is written %%XX")
	}
	p.Store = store
	return nil
}

func (p *Project) openBolt(path string) error {
	store, err := bolt.Open(path, bolt.WithID(func() string { return p.storeID }))
	if err != nil {
		return reconcile.WithHint(fmt.Errorf("store bolt:%s: %w", path, err), "bolt:PATH names a file, such as bolt:.athanor/state.db")
	}
	p.Store = store
	return nil
}

// Root is the nearest folder above dir with a go.mod or a repository, else dir itself.
func Root(dir string) string {
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

// KeyPlace is where the wrapped key of a stage and its sealed secrets are: beside the program, within the bounds of the
// context.
func KeyPlace(ctx context.Context, stage statestore.Stage, dir string) seal.Place {
	read := func(path string, most int64) ([]byte, error) { return localfile.ReadAtMost(ctx, path, most) }
	return seal.Place{Beside: []string{dir}, Read: read, Stack: stage.Stack, Stage: stage.Name}
}

// KeySources is the same with all that can open and wrap a key. What a key service is asked for ends with the context.
func KeySources(ctx context.Context, stage statestore.Stage, dir string) seal.Place {
	place := KeyPlace(ctx, stage, dir)
	place.Service = keyservice.New(ctx)
	return place
}

// Engine makes the engine of a stage whose program is in dir. The stage's key is found, or made where nothing was
// sealed yet; a machine remembers which store a stage had, so that a store which was lost and is made anew is no other
// store.
func (p *Project) Engine(
	ctx context.Context, stage statestore.Stage, dir string, catalog *reconcile.Catalog, acceptOlder bool,
) (*engine.Engine, error) {
	remembered, err := seal.RememberedStore("", p.Root, stage.Stack, stage.Name)
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
	snap, err := p.Store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	if snap.Holder != nil {
		p.MovedTo = statestore.MovedBy(snap.Holder.Command)
	}
	have, err := p.seen(ctx, snap)
	if err != nil {
		return nil, err
	}
	older := seen.Check(stage.String(), have)
	place := KeySources(ctx, stage, dir)
	place.Stored = snap.Meta[keeper.RingFact]
	find := seal.Find
	if os.Getenv(untrusted.Variable) != "" {
		find = seal.Load // nothing is made for a stranger's stack
	}
	key, err := find(place, cmp.Or(snap.KeyID, p.KeyID))
	if err != nil {
		return nil, err
	}
	// A store that was lost and begun anew by a run that was cut shows less too. Like an accepted older one it does not know all.
	if p.Older = older != nil; p.Older && !acceptOlder && !keeper.BegunSince(seen.Epoch, key, snap) {
		return nil, older
	}
	ring, err := place.Newest()
	if err != nil {
		return nil, err
	}
	if have.Store != "" && have != seen && !p.Older { // of an older one, a run that ended has the word
		if err := p.seenAt(stage).Remember("", have); err != nil {
			return nil, err
		}
	}
	store := keeper.New(p.Store, stage, key, ring)
	store.Ended = func(lease statestore.Lease) { p.ended(stage, lease) }
	store.Accept, store.Unproven = acceptOlder, p.unproven()
	if acceptOlder && errors.Is(keeper.NewWhole(p.Store, stage, key).Prove(snap), keeper.ErrTampered) {
		p.Older = true // what was put back or dropped is looked for like what an older state does not know
	}
	if p.Plans {
		store.Begin(snap)
	}
	return &engine.Engine{
		Catalog: catalog, Store: store, Key: key, Known: remembered != "",
		Remember: func(_ context.Context, id string) error {
			return seal.RememberStore("", p.Root, stage.Stack, stage.Name, id)
		},
		Root: p.Root, Cache: filepath.Join(p.Root, ".athanor", "cache"), User: p.Who(), RunHook: local.Output,
	}, nil
}

// unproven warns, once, that the rest of a damaged state is not proven.
func (p *Project) unproven() func(*keeper.TamperedError) {
	var once sync.Once
	return func(err *keeper.TamperedError) {
		once.Do(func() { render.Style{}.Warning(os.Stderr, err.Error()) })
	}
}

// Who is who runs the command, for the history: the name that the environment says, and beside it what was authenticated,
// the role in the database or the account of the operating system. The two may differ, and only the second is proof.
func (p *Project) Who() string { return strings.TrimSpace(UserName() + " " + p.proven()) }

func (p *Project) proven() string {
	switch store := p.Store.(type) {
	case *postgres.Store:
		return fmt.Sprintf("(role %s)", store.Role())
	case *remote.Store:
		return accountOf(store)
	}
	return fmt.Sprintf("(uid %d)", os.Getuid())
}

func (p *Project) seenAt(stage statestore.Stage) seal.SeenAt {
	return seal.SeenAt{Project: p.Root, Stack: stage.Stack, Stage: stage.Name, Store: p.Name}
}

// seen is how far a snapshot of a stage goes; nothing while the store has no resource of it, whatever runs were cut in it:
// planning then searches for all objects.
func (p *Project) seen(ctx context.Context, snap *statestore.Snapshot) (seal.Seen, error) {
	if snap.Serial == 0 {
		return seal.Seen{}, nil
	}
	have := seal.Seen{Serial: snap.Serial}
	if snap.LastRun != nil {
		have.Epoch = snap.LastRun.Epoch
	}
	var err error
	have.Store, err = p.Store.ID(ctx)
	return have, err
}

// ended remembers how far a run took the state of a stage. A machine that cannot remember notices less, and stops
// nothing.
func (p *Project) ended(stage statestore.Stage, lease statestore.Lease) {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	id, err := p.Store.ID(ctx)
	if err == nil {
		err = p.seenAt(stage).Remember("", seal.Seen{Store: id, Serial: lease.Serial, Epoch: lease.Epoch})
	}
	if err != nil {
		render.Style{}.Warning(os.Stderr, fmt.Sprintf("what was deployed is not remembered on this machine: %v", err))
	}
}

// UserName is who runs the command: the login name, else the system's account name, else the uid.
func UserName() string {
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

// DefaultStage is the developer's own stage: one to deploy to, and one for dev sessions, so that neither touches what
// the other made.
func DefaultStage(command string) string {
	name, prefix := StagePart(UserName()), "dev-"
	if name == "" {
		name = strconv.Itoa(os.Getuid())
	}
	if command == DevName {
		prefix = engine.LocalStage
	}
	const longest = 40
	return strings.TrimRight((prefix + name)[:min(len(prefix)+len(name), longest)], "-")
}

// StageFlags are the flags of a command that works on the developer's own stage by default, after its own.
func StageFlags(own ...cli.Flag) []cli.Flag { return cli.StageFlags(DefaultStage(""), own...) }

// StagePart shapes a name to what stages may be made of.
func StagePart(s string) string {
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

// CheckStage says what is wrong with a stage's name.
func CheckStage(name string) error {
	if name == "" || name != StagePart(name) || len(name) > 40 {
		return reconcile.WithHint(fmt.Errorf("stage %q: %w", name, errStage), "for example --stage prod")
	}
	return nil
}

var errStage = errors.New("a stage is 1 to 40 characters of a-z, 0-9 and -, and begins and ends with a letter or digit")

// DevName is the name of the command, and of its runs in the history.
const DevName = "dev"

// AbsoluteStore makes the path of a store independent of the working directory, for saved plans.
func AbsoluteStore(store string) string {
	if path, ok := strings.CutPrefix(store, "bolt:"); ok && path != "" {
		return "bolt:" + files.Absolute(path)
	}
	return store
}

// StoreName writes a store in one form: files with links resolved, databases without a password, buckets by where they
// are.
func StoreName(dir, name string) string {
	if path, ok := strings.CutPrefix(name, "bolt:"); ok {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if real, err := localfile.Real(path); err == nil {
			path = real
		}
		return "bolt:" + path
	}
	if tool := grants.ForeignState(name); tool != "" {
		return tool + ":" + ForeignName(dir, strings.TrimPrefix(name, tool+":"))
	}
	if address, err := s3.Parse(name); err == nil {
		return address.String()
	}
	if origin, err := remote.Origin(name); err == nil {
		return origin
	}
	return cmp.Or(postgres.WithoutPassword(name), name)
}

// BoundsRoot is the root folder of the project for what its stacks may read: that of the repository or module, but
// never the user's home or a folder above it, which a repository of settings makes a root.
func BoundsRoot(dir string) string {
	root := Root(dir)
	if real, err := localfile.Real(root); err == nil {
		root = real
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return root
	}
	if home, err = localfile.Real(home); err == nil && localfile.Within(root, home) {
		return dir
	}
	return root
}

// ForeignName is a place of another tool's state in one form, without a password: a file by its real path.
func ForeignName(dir, where string) string {
	scheme, _, isURL := strings.Cut(where, "://")
	switch {
	case isURL && strings.HasPrefix(scheme, "postgres"):
		return postgres.WithoutPassword(where)
	case isURL:
		u, err := url.Parse(where)
		if err != nil {
			return scheme + "://…"
		}
		u.User = nil
		return u.String()
	}
	if !filepath.IsAbs(where) {
		where = filepath.Join(dir, where)
	}
	if real, err := localfile.Real(where); err == nil {
		where = real
	}
	return where
}

// NewRun is the id of a run, as the engine makes them.
func NewRun() string { return time.Now().UTC().Format("20060102-150405-") + rand.Text()[:6] }

// WhoFrom is the one who gives an order, and on which machine, for the history.
func (p *Project) WhoFrom() string {
	name := UserName()
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name + " " + p.proven()
}

// openService opens the store behind a service.
func (p *Project) openService(address string) error {
	store, err := remote.Open(address, login.Token)
	if err != nil {
		return reconcile.WithHint(fmt.Errorf("store %s: %w", Redacted(address), err), "https://HOST")
	}
	p.Store = store
	return nil
}

// accountOf is who a service takes the user for, in parentheses; empty when it does not answer, which the run then says.
func accountOf(store *remote.Store) string {
	ctx, stop := context.WithTimeout(context.Background(), accountPatience)
	defer stop()
	about, err := store.Service(ctx)
	if err != nil {
		return ""
	}
	return "(" + about.Account + ")"
}

// accountPatience is how long the history waits to learn who runs a command.
const accountPatience = 10 * time.Second

// Versions is the store of a project as one that keeps earlier versions.
func (p *Project) Versions() (statestore.Versions, error) {
	store, ok := p.Store.(statestore.Versions)
	if !ok {
		return nil, fmt.Errorf("%s keeps no versions of state", p.Name)
	}
	return store, nil
}

// IdentityOf splits what a run says of who ran it into the name and what was authenticated. See [Project.Who].
func IdentityOf(user string) (name, identity string) {
	if i := strings.LastIndex(user, " ("); i >= 0 && strings.HasSuffix(user, ")") {
		return user[:i], user[i+2 : len(user)-1]
	}
	return user, ""
}

// OwnFolder is the name of the folder that holds the project's own files: its state store and its caches.
const OwnFolder = ".athanor"

// Close closes the store of a project. That it could not be closed is the error, unless there is one.
func (p *Project) Close(err *error) {
	if closing := p.Store.Close(); *err == nil {
		*err = closing
	}
}

// Service is the service behind a store, which was asked for by that name. A store that is none is refused what only a service has.
func Service(store statestore.Store, named, what string) (*remote.Store, error) {
	if service, ok := store.(*remote.Store); ok {
		return service, nil
	}
	err := errors.New("only a service " + what)
	if named != "" {
		err = fmt.Errorf("store %s: %w", Redacted(named), err)
	}
	return nil, cli.Hint(err, "athanor login https://HOST, then --store https://HOST; athanor serve is one")
}

// ErrNoService says that a store is none that a service can stand in front of.
var ErrNoService = errors.New("a service needs a store in PostgreSQL or in a file")

// OneVersion is a store whose state is one version of it.
func OneVersion(store statestore.Store, snap *statestore.Snapshot) statestore.Store {
	return oneVersion{store, snap}
}

type oneVersion struct {
	statestore.Store
	snap *statestore.Snapshot
}

// Load implements [statestore.Store].
func (s oneVersion) Load(context.Context, statestore.Stage) (*statestore.Snapshot, error) {
	return s.snap, nil
}
