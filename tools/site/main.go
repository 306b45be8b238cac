// Command site writes the documentation as a static site: the Markdown files of the repository, a page for each command and each
// kind, made from what the binary says of them, a Markdown twin of every page, and llms.txt. Hugo renders it and Pagefind
// indexes it. It then reads every page as a browser would find it and fails on a link that leads nowhere.
//
//	go -C tools run ./site -root .. -binary ../athanor -out ../site/public
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	root := flag.String("root", "..", "root of the repository")
	binary := flag.String("binary", "", "athanor, whose commands and kinds are documented")
	out := flag.String("out", "", "folder that the site is written to; what is in it is replaced")
	hugo := flag.String("hugo", "hugo", "Hugo")
	pagefind := flag.String("pagefind", "", "Pagefind; without it the site has no search")
	base := flag.String("base", "https://athanor.dev/", "URL that the site is served at")
	flag.Parse()
	if err := run(*root, *binary, *out, *hugo, *pagefind, *base); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(root, binary, out, hugo, pagefind, base string) (err error) {
	if binary == "" || out == "" {
		return errors.New("name the binary with -binary, and a folder with -out")
	}
	plan, err := readPlan(filepath.Join(root, "site", "pages.yaml"))
	if err != nil {
		return err
	}
	pages, err := plan.read(os.DirFS(root))
	if err != nil {
		return err
	}
	binary, err = filepath.Abs(binary)
	if err != nil {
		return err
	}
	made, err := fromBinary(os.DirFS(root), binary)
	if err != nil {
		return err
	}
	pages = append(pages, made...)
	if err := plan.link(os.DirFS(root), pages); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "site")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := write(os.DirFS(root), work, base, plan, pages); err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := command(root, hugo, "--source", "site", "--contentDir", filepath.Join(work, "content"), "--destination", out,
		"--baseURL", base, "--cleanDestinationDir", "--panicOnWarning", "--quiet"); err != nil {
		return err
	}
	if err := os.CopyFS(out, os.DirFS(filepath.Join(work, "static"))); err != nil {
		return err
	}
	if pagefind != "" {
		if err := command(root, pagefind, "--site", out, "--quiet"); err != nil {
			return err
		}
	}
	problems, count, err := check(os.DirFS(out), base)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	fmt.Printf("%d pages, %d links, in %s\n", count.pages, count.links, out)
	return nil
}

func command(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir, c.Stderr = dir, os.Stderr
	if text, err := c.Output(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, text)
	}
	return nil
}
