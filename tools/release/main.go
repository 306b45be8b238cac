// Command release makes what a release consists of, from a commit, into a folder: an archive and a bill of materials for each
// system, packages, a container image, definitions for package managers, notes, and the checksums of all of them.
//
// It publishes nothing. Each binary is built twice, from two exports of the commit in different folders, and the two must be equal: one
// binary of each processor is compiled again as a whole, with an empty cache, and the others are linked again; with -all every one is
// compiled again, which takes half as long again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	root, out, certificates := flag.String("root", ".", "the repository"), flag.String("out", "dist/release", "the folder that is written"),
		flag.String("certificates", "/etc/ssl/certs/ca-certificates.crt", "the authorities that the container image trusts")
	commit, key := flag.String("commit", "HEAD", "what is released"), flag.String("sign", "", "the SSH key that signs the checksums, empty for none")
	once, all := flag.Bool("once", false, "build once, without the comparison"), flag.Bool("all", false, "compile every binary twice, not one of each processor")
	only := flag.String("only", "", "build and compare this `OS/ARCH` alone, and write nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, job{root: *root, out: *out, commit: *commit, certificates: *certificates, key: *key, only: *only, once: *once, all: *all}); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1) //nolint:gocritic // what stop would end ends with the program
	}
}

// job is one call of this command.
type job struct {
	root, out, commit, certificates, key, only string
	once, all                                  bool
}

// release is what is known about a release before anything is built.
type release struct {
	version string // v1.2.3
	commit  string
	time    time.Time // of the commit: everything in a release has this time
	notes   string
}

// number is the version without its v, as package managers take it.
func (r release) number() string { return strings.TrimPrefix(r.version, "v") }

func run(ctx context.Context, j job) error {
	r, err := describe(ctx, j.root, j.commit)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "athanor-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	binaries, err := j.built(ctx, r, work)
	if err != nil {
		return err
	}
	if j.only != "" {
		return nil
	}
	trusted, err := os.ReadFile(j.certificates)
	if err != nil {
		return fmt.Errorf("the authorities of the container image: %w", err)
	}
	source := filepath.Join(work, "1")
	p := parts{release: r, binaries: binaries, certificates: trusted}
	for name, to := range map[string]*[]byte{"LICENSE": &p.licence, "README.md": &p.readme, "install.sh": &p.installer} {
		if *to, err = os.ReadFile(filepath.Join(source, name)); err != nil {
			return err
		}
	}
	if p.recipes, err = readFolder(filepath.Join(source, "ci")); err != nil {
		return err
	}
	files, err := p.files()
	if err != nil {
		return err
	}
	if err := writeAll(j.out, files, r.time); err != nil {
		return err
	}
	return sign(ctx, j.out, j.key)
}

// built builds every binary with its bill of materials.
func (j job) built(ctx context.Context, r release, work string) ([]binary, error) {
	first, again := builder{dir: filepath.Join(work, "1")}, builder{dir: filepath.Join(work, "elsewhere", "2")}
	for _, b := range []builder{first, again} {
		if err := export(ctx, j.root, r.commit, b.dir); err != nil {
			return nil, err
		}
	}
	bills := filepath.Join(work, "sbom")
	if err := execute(ctx, filepath.Join(first.dir, "tools"), nil, "go", "build", "-buildvcs=false", "-o", bills, "./sbom"); err != nil {
		return nil, err
	}
	chosen, err := j.chosen()
	if err != nil {
		return nil, err
	}
	var all []binary
	for _, t := range chosen {
		begun := time.Now()
		builders, how := j.builders(t, first, again, filepath.Join(work, "cache"))
		b, err := builtAlike(ctx, builders, r, t, "./cmd/athanor", work)
		if err != nil {
			return nil, err
		}
		bill := filepath.Join(work, t.name()+".json")
		if err := execute(ctx, first.dir, nil, bills, "-binary", b, "-out", bill, "-dir", "."); err != nil {
			return nil, err
		}
		made := binary{target: t}
		if made.program, err = os.ReadFile(b); err != nil {
			return nil, err
		}
		if made.bill, err = os.ReadFile(bill); err != nil {
			return nil, err
		}
		all = append(all, made)
		fmt.Printf("%s: %d bytes, %s, in %v\n", t.name(), len(made.program), how, time.Since(begun).Round(time.Second))
	}
	return all, nil
}

// chosen are the targets that are built.
func (j job) chosen() ([]target, error) {
	if j.only == "" {
		return targets, nil
	}
	for _, t := range targets {
		if t.os+"/"+t.arch == j.only {
			return []target{t}, nil
		}
	}
	return nil, fmt.Errorf("-only %s: it is no target", j.only)
}

// builders build a target, so that what they make can be compared, and how. What a binary could depend on is the folder, the state of
// the cache and what a compiler does at random. The first shows in each binary that is linked in another folder; the others are the
// compiler's, which is one program for each processor, whatever the system.
func (j job) builders(t target, first, again builder, cache string) (builders []builder, how string) {
	switch {
	case j.once:
		return []builder{first}, "built once"
	case j.all || t.os == "linux":
		again.cache = cache
		return []builder{first, again}, "compiled twice, equal"
	}
	return []builder{first, again}, "linked twice, equal"
}

var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// describe finds the version, the time and the notes of a commit. A commit without a tag has a version as Go gives it one,
// and the notes of what is not released.
func describe(ctx context.Context, root, commit string) (release, error) {
	var r release
	line, err := git(ctx, root, "log", "-1", "--format=%H %ct", commit)
	if err != nil {
		return r, err
	}
	var seconds int64
	if _, err := fmt.Sscanf(line, "%s %d", &r.commit, &seconds); err != nil {
		return r, err
	}
	r.time = time.Unix(seconds, 0).UTC()
	tags, err := git(ctx, root, "tag", "--points-at", r.commit)
	if err != nil {
		return r, err
	}
	for tag := range strings.FieldsSeq(tags) {
		switch {
		case !semantic.MatchString(tag):
		case r.version != "":
			return r, fmt.Errorf("the commit has two versions, %s and %s", r.version, tag)
		default:
			r.version = tag
		}
	}
	section := r.number()
	if r.version == "" {
		r.version = "v0.0.0-" + r.time.Format("20060102150405") + "-" + r.commit[:12]
		section = "Unreleased"
	}
	changes, err := git(ctx, root, "show", r.commit+":CHANGELOG.md")
	if err != nil {
		return r, err
	}
	r.notes, err = notesOf(changes, section)
	return r, err
}

// notesOf is what a changelog says about a version: a section that begins with `## VERSION`.
func notesOf(changes, version string) (string, error) {
	var b strings.Builder
	within := false
	for line := range strings.Lines(changes) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			first, _, _ := strings.Cut(strings.TrimSpace(title), " ")
			within = strings.Trim(first, "[]") == version
			continue
		}
		if within {
			b.WriteString(line)
		}
	}
	notes := strings.TrimSpace(b.String())
	if notes == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing about %s", version)
	}
	return notes + "\n", nil
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// execute runs a program, whose output is shown.
func execute(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}

// namespace is what signatures of releases are made for, so that one of something else is none of a release.
const namespace = "athanor-release"

// sign signs the checksums. Without a key it says how.
func sign(ctx context.Context, out, key string) error {
	sums := filepath.Join(out, "SHA256SUMS")
	if key == "" {
		fmt.Printf("not signed; to sign: ssh-keygen -Y sign -n %s -f KEY %s\n", namespace, sums)
		return nil
	}
	if err := os.Remove(sums + ".sig"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return execute(ctx, "", nil, "ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", key, sums)
}
