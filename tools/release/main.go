// Command release makes what a release consists of, from a commit, into a folder: an archive and a bill of materials for each
// system, packages, a container image, definitions for package managers, notes, and the checksums of all of them.
//
// It publishes nothing. Each binary is built twice, from two exports of the commit in different folders and with different
// caches, and the two must be equal.
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
	once := flag.Bool("once", false, "build once, without the comparison")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, job{root: *root, out: *out, commit: *commit, certificates: *certificates, key: *key, once: *once}); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1) //nolint:gocritic // what stop would end ends with the program
	}
}

// job is one call of this command.
type job struct {
	root, out, commit, certificates, key string
	once                                 bool
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
	builders := []builder{{dir: filepath.Join(work, "1")}}
	if !j.once {
		builders = append(builders, builder{dir: filepath.Join(work, "elsewhere", "2"), cache: filepath.Join(work, "cache")})
	}
	for _, b := range builders {
		if err := export(ctx, j.root, r.commit, b.dir); err != nil {
			return nil, err
		}
	}
	bills := filepath.Join(work, "sbom")
	if err := execute(ctx, filepath.Join(builders[0].dir, "tools"), nil, "go", "build", "-buildvcs=false", "-o", bills, "./sbom"); err != nil {
		return nil, err
	}
	var all []binary
	for _, t := range targets {
		b, err := builtAlike(ctx, builders, r, t, "./cmd/athanor", work)
		if err != nil {
			return nil, err
		}
		bill := filepath.Join(work, t.name()+".json")
		if err := execute(ctx, builders[0].dir, nil, bills, "-binary", b, "-out", bill, "-dir", "."); err != nil {
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
		fmt.Printf("%s: %d bytes, built %d times\n", t.name(), len(made.program), len(builders))
	}
	return all, nil
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
