// Package release says which release a binary is, and whether there is a newer one.
//
// It does not know how a release is made or installed.
package release

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// Release is what a release binary knows of itself. Each is empty in a build that is no release.
type Release struct {
	Version string // v1.2.3
	Commit  string
	Date    string // of the commit
}

// Text is the version of a release, else what Go knows of the build.
func (r Release) Text() string {
	if r.Version != "" {
		return r.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "(development build)"
}

// Built is the commit that this binary was built of, and its date; empty where nobody knows.
func (r Release) Built() (commit, date string) {
	commit, date = r.Commit, r.Date
	info, ok := debug.ReadBuildInfo()
	if commit != "" || !ok {
		return commit, date
	}
	changed := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = " with changes"
			}
		}
	}
	if commit != "" {
		commit += changed
	}
	return commit, date
}

// Of is a version as a module has it, "" for one that is no release.
func Of(version string) string {
	if version == "" || strings.HasPrefix(version, "(") || notReleased.MatchString(version) {
		return ""
	}
	return "v" + strings.TrimPrefix(version, "v")
}

// notReleased matches versions that nobody can get: of a commit, or of changed files.
var notReleased = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}|\+`)
