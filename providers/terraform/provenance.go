package terraform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/athanor-dev/athanor/providers/terraform/install"
	"github.com/athanor-dev/athanor/reconcile"
)

// provenance is where the program of a provider comes from: a file of this machine, or what is locked and installed.
type provenance struct {
	file       string // absolute, "" for one that is installed
	installer  *install.Installer
	source     install.Source
	constraint install.Constraint
}

// key tells programs apart.
func (p provenance) key() string {
	if p.file != "" {
		return p.file
	}
	return p.source.String()
}

// version is the version that is locked, "" for a file and for one that was never installed.
func (p provenance) version() string {
	if p.file != "" {
		return ""
	}
	lock, err := install.ReadLock(p.installer.Folder)
	if err != nil {
		return "" // the process that starts it is told
	}
	return lock.Providers[p.source.String()].Version
}

// path is the program.
func (p provenance) path() (string, error) {
	if p.file != "" {
		return p.file, nil
	}
	path, err := p.installer.Program(p.source, p.constraint)
	if errors.Is(err, install.ErrNotInstalled) {
		err = reconcile.WithHint(err, "athanor plan installs it, as %s says or as the newest version that fits", install.LockName)
	}
	return path, err
}

// in learns from a context in which folder the stack is.
func (s *providers) in(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if folder := reconcile.FolderOf(ctx); folder != "" && folder != s.folder {
		s.folder, s.installer = folder, nil
	}
}

// provenance says where the program of settings comes from. It asks nobody.
func (s *providers) provenance(settings Settings) (p provenance, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if settings.Path != "" {
		if settings.Version != "" {
			return p, fmt.Errorf("providers: %s: path names one program; version has no meaning then", settings.Terraform)
		}
		p.file, err = ProgramFile(s.folder, settings.Path)
		return p, err
	}
	if s.installer == nil {
		folder := s.folder
		if folder == "" {
			if folder, err = os.Getwd(); err != nil {
				return p, err
			}
		}
		s.installer = &install.Installer{Folder: folder, Note: s.warn}
	}
	p.installer = s.installer
	if p.source, err = install.ParseSource(settings.Terraform); err != nil {
		return p, err
	}
	p.constraint, err = install.ParseConstraint(settings.Version)
	return p, err
}

// ProgramFile is the file that path names in the settings of a stack in a folder.
func ProgramFile(folder, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	return filepath.Abs(path)
}

// Approval is what a user approves of settings of this provider, as a stack in a folder has them: its program, or the source that it is
// installed from, with the version and the hash that are locked.
func Approval(folder string, settings map[string]any) (string, error) {
	text := func(name string) string { v, _ := settings[name].(string); return v }
	if path := text("path"); path != "" {
		return ProgramFile(folder, path)
	}
	source, err := install.ParseSource(text("terraform"))
	if err != nil {
		return "", err
	}
	constraint, err := install.ParseConstraint(text("version"))
	if err != nil {
		return "", err
	}
	return (&install.Installer{Folder: folder}).Approval(source, constraint)
}

// fetch installs the program of settings, unless it is there.
func (s *providers) fetch(ctx context.Context, settings Settings) error {
	s.in(ctx)
	from, err := s.provenance(settings)
	if err != nil || from.file != "" {
		return err
	}
	if err := refusesStrangers(settings); err != nil {
		return err
	}
	_, err = from.installer.Install(ctx, from.source, from.constraint)
	return err
}

// IsLocked reports whether the lock file of a folder has a provider.
func IsLocked(folder, source string) (bool, error) {
	s, err := install.ParseSource(source)
	if err != nil {
		return false, err
	}
	lock, err := install.ReadLock(folder)
	if err != nil {
		return false, err
	}
	_, ok := lock.Providers[s.String()]
	return ok, nil
}

// CacheFolder is the folder of the user with the providers that are installed, which has a lock file of its own for those that no stack names.
func CacheFolder() (string, error) {
	folder, err := install.CacheFolder()
	if err != nil {
		return "", err
	}
	return folder, os.MkdirAll(folder, 0o700)
}
