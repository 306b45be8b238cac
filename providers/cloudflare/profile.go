package cloudflare

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/reconcile"
)

const (
	profileEnv     = "CLOUDFLARE_PROFILE"
	defaultProfile = "default"
)

// errNoProfile says that a profile is not in the user's file, or that there is no such file.
var errNoProfile = errors.New("there is no such profile")

// credentials are who asks: the token is never shown, and the account is "" where only the settings or the environment
// say which.
type credentials struct{ token, account string }

// profiles is the user's file of profiles, by name.
type profiles map[string]struct {
	Token   string `yaml:"token"`
	Account string `yaml:"account"`
}

// credentials finds out who asks: by the profile that the settings name, by the environment variable that they name, by
// the profile that the environment names, by CLOUDFLARE_API_TOKEN, and by the profile "default", in this order. A profile
// that only the environment names may be one for other clouds: where there is a token then, it need not exist.
func (c *Cloud) credentials() (credentials, error) {
	s := c.settings
	switch {
	case s.Profile != nil && s.TokenEnv != nil:
		return credentials{}, Invalid(errors.New("settings of cloudflare: want profile or tokenEnv, not both"))
	case s.Profile != nil:
		return c.ofProfile(*s.Profile)
	case s.TokenEnv != nil:
		return c.ofEnvironment(*s.TokenEnv)
	}
	who, missing := c.ofEnvironment(defaultTokenEnv)
	if name := c.getenv(profileEnv); name != "" {
		if named, err := c.ofProfile(name); missing != nil || !errors.Is(err, errNoProfile) {
			return named, err
		}
	}
	if missing != nil {
		if standing, err := c.ofProfile(defaultProfile); !errors.Is(err, errNoProfile) {
			return standing, err
		}
	}
	return who, missing
}

func (c *Cloud) ofEnvironment(name string) (credentials, error) {
	if token := c.getenv(name); token != "" {
		return credentials{token: token}, nil
	}
	return credentials{}, reconcile.WithHint(&TokenError{Env: name},
		"make a token at https://dash.cloudflare.com/profile/api-tokens and put it into %s, or into a profile", name)
}

// ofProfile reads a profile. An error tells nothing of what the file holds.
func (c *Cloud) ofProfile(name string) (credentials, error) {
	folder, err := c.folder()
	if err != nil {
		return credentials{}, fmt.Errorf("%w: %w", errNoProfile, err)
	}
	path := filepath.Join(folder, "athanor", "cloudflare.yaml")
	all, err := readProfiles(path)
	if err != nil {
		return credentials{}, Invalid(err)
	}
	p, ok := all[name]
	switch {
	case !ok:
		return credentials{}, reconcile.WithHint(Invalid(fmt.Errorf("profile %q: %w", name, errNoProfile)),
			"%s holds profiles as %s: {token: …, account: …}", path, name)
	case p.Token == "":
		return credentials{}, Invalid(fmt.Errorf("%s: profile %q has no token", path, name))
	}
	return credentials{p.Token, p.Account}, nil
}

// readProfiles reads the user's file, none when it is not there. One that others can read is refused, since it holds
// tokens.
func readProfiles(path string) (profiles, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, reconcile.WithHint(fmt.Errorf("%s holds tokens, and others can read it (%v)", path, mode), "chmod 600 %s", path)
	}
	var all profiles
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil { // its text would tell what the file holds
		return nil, reconcile.WithHint(fmt.Errorf("%s is no file of profiles", path), "want lines such as work: {token: …, account: …}")
	}
	return all, nil
}
