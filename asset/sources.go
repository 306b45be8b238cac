package asset

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Sources are what a program in Go is made of on this machine, in absolute paths.
type Sources struct {
	// Files are single ones: those that say which modules there are, and embedded ones.
	Files []string
	// Packages are folders whose Go files count.
	Packages []string
	// Trees are what embedding patterns are about: files, or folders of which everything counts.
	Trees []string
	// Compiled are the source files of those packages that are compiled.
	Compiled []string
}

// listedPackage is what the go command tells of a package.
type listedPackage struct {
	Dir           string
	Standard      bool
	EmbedPatterns []string
	EmbedFiles    []string
	GoFiles       []string
	SFiles        []string
	HFiles        []string
	SysoFiles     []string
	Module        *struct {
		GoMod   string
		Version string
		Replace *struct{ Version string }
	}
}

// onThisMachine reports a package that somebody may be working on: of the module itself, of a workspace, or of a module
// that is replaced by a folder.
func (p *listedPackage) onThisMachine() bool {
	return !p.Standard && p.Dir != "" && p.Module != nil && (p.Module.Version == "" || p.Module.Replace != nil && p.Module.Replace.Version == "")
}

// GoSources asks the go command in a folder what a package there is made of: itself, and what it imports of modules that lie
// on this machine. What cannot be told, because it does not build, is left out. Flags are those of go list.
func GoSources(ctx context.Context, dir, target string, flags ...string) Sources {
	return goSources(ctx, dir, target, GoEnvironment(), flags...)
}

// goSources is [GoSources] in another environment.
func goSources(ctx context.Context, dir, target string, env []string, flags ...string) Sources {
	args := append([]string{"list", "-e", "-deps", "-json=Dir,Standard,EmbedPatterns,EmbedFiles,GoFiles,SFiles,HFiles,SysoFiles,Module"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "--", target)...)
	cmd.Dir, cmd.Env = dir, env
	var s Sources
	if target == "." {
		s.Packages = append(s.Packages, dir)
	}
	out, _ := cmd.Output() // with -e it tells what it can
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if dec.Decode(&p) != nil {
			break
		}
		if p.onThisMachine() {
			s.add(&p)
		}
	}
	for _, list := range []*[]string{&s.Files, &s.Packages, &s.Trees, &s.Compiled} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s
}

func (s *Sources) add(p *listedPackage) {
	s.Packages = append(s.Packages, p.Dir)
	if mod := p.Module.GoMod; mod != "" {
		s.Files = append(s.Files, mod, strings.TrimSuffix(mod, ".mod")+".sum", filepath.Join(filepath.Dir(mod), "go.work"))
	}
	for _, f := range p.EmbedFiles {
		s.Files = append(s.Files, filepath.Join(p.Dir, filepath.FromSlash(f)))
	}
	for _, f := range slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.SysoFiles) {
		s.Compiled = append(s.Compiled, filepath.Join(p.Dir, f))
	}
	for _, pattern := range p.EmbedPatterns {
		if root := embedRoot(pattern); root != "" {
			s.Trees = append(s.Trees, filepath.Join(p.Dir, filepath.FromSlash(root)))
		}
	}
}

// embedRoot is the folder or file that an embedding pattern is about, "" for the package's own folder: much may lie there
// that is not embedded, so that of it only the files that are there count.
func embedRoot(pattern string) string {
	pattern = strings.TrimPrefix(pattern, "all:")
	i := strings.IndexAny(pattern, "*?[")
	if i < 0 {
		return pattern
	}
	return strings.TrimSuffix(pattern[:strings.LastIndexByte(pattern[:i], '/')+1], "/")
}
