// Package install brings the programs of Terraform providers to this machine: from a registry, or from a mirror that the user names,
// into a cache of the user, as the lock file of a stack says.
//
// It knows the protocols of registries and mirrors, versions, hashes, signatures, the lock file and the cache. It does not know
// who may install or run what, nor what a provider is when it runs.
package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/athanor-dev/athanor/reconcile"
)

// MirrorVariable names the variable that holds where packages come from instead of the registries: the address of a network mirror, or a
// folder. It is the user's, never the stack's.
const MirrorVariable = "ATHANOR_PROVIDER_MIRROR"

// Installer installs the providers of one stack. It is safe for concurrent use.
type Installer struct {
	// Folder is that of the stack, with its lock file.
	Folder string
	// Cache is the folder with what was installed. Default: athanor/providers in the user's folder of caches.
	Cache string
	// Mirror is where packages come from. Default: $ATHANOR_PROVIDER_MIRROR, and without it the registry that a source names.
	Mirror string
	// Platform is what packages are for, such as linux_amd64. Default: this machine.
	Platform string
	// Client makes the requests. Default: one that carries no credentials.
	Client *http.Client
	// Note is told what was installed, in a sentence. Nil: nobody is.
	Note func(string)

	once sync.Once
	mu   sync.Mutex
	// checked are the programs of which this process has seen that they are what was locked.
	checked map[string]string
}

func (in *Installer) client() *http.Client {
	in.once.Do(func() {
		if in.Client == nil {
			in.Client = newClient()
		}
	})
	return in.Client
}

func (in *Installer) platform() string {
	if in.Platform != "" {
		return in.Platform
	}
	return runtime.GOOS + "_" + runtime.GOARCH
}

// Errors of what is locked.
var (
	// ErrNotInstalled says that a provider has to be installed before it runs.
	ErrNotInstalled = errors.New("the provider is not installed")
	// ErrHash says that a package is not the one that was locked.
	ErrHash = errors.New("the package is not the one that is locked")
)

// Approval is what a user approves of a provider: its source, and with a lock file the version and the hash for this machine.
func (in *Installer) Approval(s Source, c Constraint) (string, error) {
	lock, err := ReadLock(in.Folder)
	if err != nil {
		return "", err
	}
	l, ok := lock.Providers[s.String()]
	if !ok || !c.Allows(l.Version) {
		return s.String(), nil
	}
	return strings.TrimSpace(s.String() + " " + l.Version + " " + l.hash(in.platform())), nil
}

// Program is the program of a provider that is locked and installed, held against its hash. It asks no network. The error is
// ErrNotInstalled when it has to be installed first.
func (in *Installer) Program(s Source, c Constraint) (string, error) {
	lock, err := ReadLock(in.Folder)
	if err != nil {
		return "", err
	}
	l, ok := lock.Providers[s.String()]
	if !ok || !c.Allows(l.Version) {
		return "", fmt.Errorf("%s: %w", s, ErrNotInstalled)
	}
	return in.installed(s, l)
}

func (in *Installer) installed(s Source, l Locked) (string, error) {
	for _, hash := range l.with(in.platform(), "h1:") {
		folder, err := in.place(s, l.Version, hash)
		if err != nil {
			return "", err
		}
		in.mu.Lock()
		path, ok := in.checked[folder]
		in.mu.Unlock()
		if ok {
			return path, nil
		}
		have, err := dirhash.HashDir(folder, "", dirhash.Hash1)
		if err != nil || have != hash {
			continue // it is not there, or was changed since: it is installed anew
		}
		if path, err = s.program(folder); err != nil {
			return "", err
		}
		in.mu.Lock()
		if in.checked == nil {
			in.checked = map[string]string{}
		}
		in.checked[folder] = path
		in.mu.Unlock()
		return path, nil
	}
	return "", fmt.Errorf("%s %s: %w", s, l.Version, ErrNotInstalled)
}

// CacheFolder is the user's folder of what was installed.
func CacheFolder() (string, error) {
	user, err := os.UserCacheDir()
	return filepath.Join(user, "athanor", "providers"), err
}

// place is the folder of a package in the cache, by what is in it.
func (in *Installer) place(s Source, version, hash string) (string, error) {
	cache := in.Cache
	if cache == "" {
		var err error
		if cache, err = CacheFolder(); err != nil {
			return "", err
		}
	}
	name := strings.NewReplacer("/", "-", "+", "_", "=", "").Replace(strings.TrimPrefix(hash, "h1:"))
	if len(name) != len("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU") || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%s: the hash %q is none", s, hash)
	}
	return filepath.Join(cache, strings.ReplaceAll(s.Host, ":", "_"), s.Namespace, s.Name, version, in.platform(), name), nil
}

// Install brings a provider to this machine, unless it is there, and locks what it had not locked: the version that is locked, if the
// constraint allows it, else the newest that it allows. What is not what was locked, or is badly signed, is not installed.
func (in *Installer) Install(ctx context.Context, s Source, c Constraint) (string, error) {
	lock, err := ReadLock(in.Folder)
	if err != nil {
		return "", err
	}
	l, locked := lock.Providers[s.String()]
	if locked = locked && c.Allows(l.Version); locked {
		path, err := in.installed(s, l)
		if err == nil || !errors.Is(err, ErrNotInstalled) {
			return path, err
		}
	}
	path, err := in.fetch(ctx, lock, s, c, locked)
	if err != nil {
		return "", fmt.Errorf("installing %s: %w", s, err)
	}
	return path, nil
}

func (in *Installer) origin() (origin, error) {
	where := in.Mirror
	if where == "" {
		where = os.Getenv(MirrorVariable)
	}
	switch {
	case where == "":
		return registry{in}, nil
	case !strings.Contains(where, "://"):
		return folderMirror{where}, nil
	}
	u, err := url.Parse(strings.TrimSuffix(where, "/") + "/")
	if err == nil {
		err = checkAddress(u)
	}
	if err != nil {
		return nil, fmt.Errorf("the mirror of providers: %w", err)
	}
	return mirror{in, u}, nil
}

func (in *Installer) fetch(ctx context.Context, lock *Lock, s Source, c Constraint, locked bool) (string, error) {
	from, err := in.origin()
	if err != nil {
		return "", err
	}
	l := lock.Providers[s.String()]
	if !locked {
		all, err := from.versions(ctx, s)
		if err != nil {
			return "", err
		}
		version, err := choose(all, c, in.platform())
		if err != nil {
			return "", err
		}
		l = Locked{Version: version}
	}
	o, err := from.offer(ctx, s, l.Version, in.platform())
	if err != nil {
		return "", err
	}
	if err := l.takes(o); err != nil {
		return "", reconcile.WithHint(err, "if that is as it should be, take %s out of %s, and approve what is locked then", s, LockName)
	}
	path, err := in.unpacked(ctx, s, &l, o)
	if err != nil {
		return "", err
	}
	for platform, hashes := range o.hashes {
		for _, h := range hashes {
			l.add(platform, h)
		}
	}
	if o.signedBy != "" && !slices.Contains(l.SignedBy, o.signedBy) {
		l.SignedBy = append(l.SignedBy, o.signedBy)
	}
	lock.Providers[s.String()] = l
	if err := lock.write(in.Folder); err != nil {
		return "", err
	}
	if in.Note != nil {
		in.Note(l.note(s, o))
	}
	return path, nil
}

func (l Locked) note(s Source, o *offer) string {
	by := "nobody signed it"
	switch {
	case o.mirrored:
		by = "from a mirror, which has no signatures"
	case o.signedBy != "":
		by = "signed by the key " + o.signedBy
	}
	return fmt.Sprintf("installed %s %s: %s; %s holds its hashes", s, l.Version, by, LockName)
}

// takes compares what an origin tells of a version with what is locked.
func (l Locked) takes(o *offer) error {
	for platform, hashes := range o.hashes {
		for _, prefix := range []string{"zh:", "h1:"} {
			have := l.with(platform, prefix)
			told := slices.DeleteFunc(slices.Clone(hashes), func(h string) bool { return !strings.HasPrefix(h, prefix) })
			if len(have) > 0 && len(told) > 0 && !slices.ContainsFunc(told, func(h string) bool { return slices.Contains(have, h) }) {
				return fmt.Errorf("%w: for %s it is %s there, and %s here", ErrHash, platform, strings.Join(told, ", "), strings.Join(have, ", "))
			}
		}
	}
	if !o.mirrored && len(l.SignedBy) > 0 && !slices.Contains(l.SignedBy, o.signedBy) {
		by := o.signedBy
		if by == "" {
			by = "nobody"
		}
		return fmt.Errorf("%w: it was signed by %s when it was locked, and is by %s", ErrSignature, strings.Join(l.SignedBy, ", "), by)
	}
	return nil
}

// unpacked puts a package into the cache, when it is what it should be, and adds its hashes to what is locked.
func (in *Installer) unpacked(ctx context.Context, s Source, l *Locked, o *offer) (string, error) {
	some, err := in.place(s, l.Version, emptyHash)
	if err != nil {
		return "", err
	}
	parent := filepath.Dir(some)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(parent, ".new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	folder := filepath.Join(work, "package")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	if o.folder != "" {
		err = copyFolder(o.folder, folder)
	} else {
		err = in.unpackFrom(ctx, filepath.Join(work, "package.zip"), folder, l, o)
	}
	if err != nil {
		return "", err
	}
	hash, err := dirhash.HashDir(folder, "", dirhash.Hash1)
	if err != nil {
		return "", err
	}
	if err := l.check(in.platform(), hash, o); err != nil {
		return "", err
	}
	if _, err := s.program(folder); err != nil {
		return "", err
	}
	to, err := in.place(s, l.Version, hash)
	if err != nil {
		return "", err
	}
	l.add(in.platform(), hash)
	if err := os.Rename(folder, to); err != nil {
		// Another athanor was first, or what is there was changed.
		if path, err := in.installed(s, *l); err == nil {
			return path, nil
		}
		if err := errors.Join(os.RemoveAll(to), os.Rename(folder, to)); err != nil {
			return "", err
		}
	}
	return in.installed(s, *l)
}

// emptyHash is the hash of nothing.
const emptyHash = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

func (in *Installer) unpackFrom(ctx context.Context, path, folder string, l *Locked, o *offer) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	var hash string
	if o.file != "" {
		hash, err = copyFile(f, o.file)
	} else {
		hash, err = in.download(ctx, o.base, o.at, f)
	}
	if err != nil {
		return err
	}
	if err := l.check(in.platform(), hash, o); err != nil {
		return err
	}
	l.add(in.platform(), hash)
	return unpack(path, folder)
}

// check holds a hash of a package against what is locked and what its origin tells.
func (l *Locked) check(platform, hash string, o *offer) error {
	prefix := hash[:len("zh:")]
	for _, want := range [][]string{l.with(platform, prefix), Locked{Hashes: o.hashes}.with(platform, prefix)} {
		if len(want) > 0 && !slices.Contains(want, hash) {
			return fmt.Errorf("%w: it is %s, and should be %s", ErrHash, hash, strings.Join(want, " or "))
		}
	}
	return nil
}

func copyFile(to *os.File, path string) (string, error) {
	from, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	return copyHashed(to, from, path)
}

// copyFolder copies what is in a folder of a mirror, which holds files and folders alone.
func copyFolder(from, to string) error {
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !e.Type().IsRegular() {
			err = fmt.Errorf("%w: %s is no file", errPackage, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
}
