package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// plan says which files are pages, and in what order.
type plan struct {
	Repository string    `yaml:"repository"`
	Sections   []section `yaml:"sections"`
	// Words are what people type who call the subject of a page otherwise, by its URL.
	Words map[string]string `yaml:"words"`
	// pictures are files that pages link to and the site has too, by their path in it.
	pictures map[string]string
}

type section struct {
	Name   string  `yaml:"name"`
	Title  string  `yaml:"title"`
	Weight float64 `yaml:"weight"` // in the search; 0 is 1
	// Unsearched pages are not found by the search.
	Unsearched bool     `yaml:"unsearched"`
	Pages      []string `yaml:"pages"`
	Rest       string   `yaml:"rest"` // a pattern of further pages, by name
	Without    []string `yaml:"without"`
}

// page is one page of the site.
type page struct {
	section, slug, title string
	source               string // the file it comes from, "" when it is made
	summary              string
	body                 string // Markdown, without the title
	weight               int
}

func (p *page) url() string {
	if p.source == "README.md" {
		return "/"
	}
	return "/" + p.section + "/" + p.slug + "/"
}

func readPlan(file string) (*plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// read reads the pages. A Markdown file under docs that is no page is an error: nobody would find it.
func (p *plan) read(root fs.FS) (pages []*page, err error) {
	seen := map[string]bool{}
	for _, s := range p.Sections {
		files := slices.Clone(s.Pages)
		for _, file := range s.Without {
			seen[file] = true
		}
		if s.Rest != "" {
			rest, err := fs.Glob(root, s.Rest)
			if err != nil {
				return nil, err
			}
			for _, file := range rest {
				if !slices.Contains(files, file) && !slices.Contains(s.Without, file) {
					files = append(files, file)
				}
			}
		}
		for i, file := range files {
			text, err := fs.ReadFile(root, file)
			if err != nil {
				return nil, err
			}
			title, body, ok := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
			if !ok || !strings.HasPrefix(string(text), "# ") {
				return nil, fmt.Errorf("%s does not begin with a title", file)
			}
			seen[file] = true
			slug := strings.ToLower(strings.TrimSuffix(path.Base(file), ".md"))
			if slug == "readme" {
				slug = path.Base(path.Dir(file))
			}
			pages = append(pages, &page{
				section: s.Name, slug: slug, title: title, source: file, summary: firstSentence(body), body: body, weight: i + 1,
			})
		}
	}
	var lost []error
	err = fs.WalkDir(root, "docs", func(file string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(file) == ".md" && !seen[file] {
			lost = append(lost, fmt.Errorf("%s is no page of site/pages.yaml", file))
		}
		return err
	})
	return pages, errors.Join(append(lost, err)...)
}

// firstSentence is the first sentence of the first paragraph of text.
func firstSentence(body string) string {
	fence := false
	for paragraph := range strings.SplitSeq(body, "\n\n") {
		text := strings.Join(strings.Fields(paragraph), " ")
		if strings.Count(paragraph, "```")%2 == 1 {
			fence = !fence
			continue
		}
		if fence || text == "" || strings.ContainsAny(text[:1], "#`|-<") {
			continue
		}
		text = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(text, "$1")
		if i := strings.Index(text, ". "); i > 0 {
			text = text[:i+1]
		}
		return strings.NewReplacer("**", "", "`", "").Replace(text)
	}
	return ""
}

var linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// link rewrites links between files: to the page that a file has become, to a picture, or else to the file in the repository.
func (p *plan) link(root fs.FS, pages []*page) error {
	at := map[string]string{}
	for _, g := range pages {
		if g.source != "" {
			at[g.source] = g.url()
		}
	}
	p.pictures = map[string]string{}
	var problems []error
	for _, g := range pages {
		if g.source == "" {
			continue
		}
		g.body = changeLinks(g.body, func(target string) string {
			to, err := url.Parse(target)
			if err != nil || to.IsAbs() || to.Path == "" {
				return target
			}
			file := path.Join(path.Dir(g.source), to.Path)
			to.Path = at[file]
			if to.Path != "" {
				return to.String()
			}
			info, err := fs.Stat(root, file)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: the link %s leads nowhere", g.source, target))
				return target
			}
			if path.Ext(file) == ".png" {
				to.Path = "/pictures/" + strings.TrimPrefix(file, "docs/")
				p.pictures[to.Path] = file
				return to.String()
			}
			kind := "/blob/main/"
			if info.IsDir() {
				kind = "/tree/main/"
			}
			to.Path = kind + file
			return p.Repository + to.String()
		})
	}
	return errors.Join(problems...)
}

// changeLinks changes the targets of the links of Markdown that are not in code.
func changeLinks(body string, change func(string) string) string {
	var out strings.Builder
	fenced, ticks := false, 0 // a code span may go on in the next line
	for line := range strings.Lines(body) {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "```"):
			fenced, ticks = !fenced, 0
		case trimmed == "":
			ticks = 0
		}
		done := 0
		for _, at := range linkTarget.FindAllStringSubmatchIndex(line, -1) {
			if fenced || (ticks+strings.Count(line[:at[0]], "`"))%2 == 1 {
				continue
			}
			out.WriteString(line[done:at[2]])
			out.WriteString(change(line[at[2]:at[3]]))
			done = at[3]
		}
		out.WriteString(line[done:])
		if !strings.HasPrefix(strings.TrimSpace(line), "```") {
			ticks += strings.Count(line, "`")
		}
	}
	return out.String()
}

// write writes what Hugo reads, and what it only copies.
func write(root fs.FS, work, base string, p *plan, pages []*page) error {
	files := map[string]string{}
	for at, file := range p.pictures {
		picture, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		files["static"+at] = string(picture)
	}
	for i, s := range p.Sections {
		if s.Name != "start" {
			files["content/"+s.Name+"/_index.md"] = matter(map[string]any{"title": s.Title, "weight": i + 1}) + "\n"
		}
	}
	for i, name := range []string{"commands", "kinds"} {
		files["content/"+name+"/_index.md"] = matter(map[string]any{"title": strings.ToUpper(name[:1]) + name[1:], "weight": 20 + i}) + "\n"
	}
	sections := map[string]section{}
	for _, s := range p.Sections {
		sections[s.Name] = s
	}
	words := maps.Clone(p.Words)
	for _, g := range pages {
		front := map[string]any{"title": g.title, "weight": g.weight, "description": g.summary, "words": words[g.url()]}
		front["searched"], front["search"] = !sections[g.section].Unsearched, cmp.Or(sections[g.section].Weight, 1)
		delete(words, g.url())
		if g.source != "" {
			front["source"] = p.Repository + "/blob/main/" + g.source
		}
		name := "content" + g.url() + "index.md"
		if g.url() == "/" {
			name = "content/_index.md"
		}
		files[name] = matter(front) + "\n" + g.body
	}
	for at := range words {
		return fmt.Errorf("site/pages.yaml has words for %s, which is no page", at)
	}
	files["static/llms.txt"] = llms(base, p, pages)
	for name, text := range files {
		file := filepath.Join(work, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// matter is the front matter of a page. Hugo takes JSON.
func matter(front map[string]any) string {
	text, err := json.MarshalIndent(front, "", "  ")
	if err != nil {
		panic(err) // text and numbers
	}
	return string(text) + "\n"
}

// llms is the index for programs that read: each page's Markdown, with what it is about.
func llms(base string, p *plan, pages []*page) string {
	var out strings.Builder
	out.WriteString("# athanor\n\n> An infrastructure deployer that makes the cloud match a program.\n")
	sections := slices.Clone(p.Sections)
	sections = append(sections, section{Name: "commands", Title: "Commands"}, section{Name: "kinds", Title: "Kinds"})
	for _, s := range sections {
		fmt.Fprintf(&out, "\n## %s\n\n", s.Title)
		for _, g := range pages {
			if g.section == s.Name {
				fmt.Fprintf(&out, "- [%s](%s%sindex.md): %s\n", g.title, strings.TrimSuffix(base, "/"), g.url(), g.summary)
			}
		}
	}
	return out.String()
}
