package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

type counts struct{ pages, links int }

// document is what a page of the site has.
type document struct {
	ids   map[string]bool
	links []string // of the page and of what it loads
	title string
	heads int // of the first order
}

// check reads every page and follows its links within the site. A page needs a title and one heading of the first order; an
// anchor must stand on its page; whatever a page loads comes from the site.
func check(site fs.FS, base string) (problems []error, n counts, err error) {
	pages := map[string]*document{}
	err = fs.WalkDir(site, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".html" || strings.HasPrefix(file, "pagefind/") {
			return err
		}
		text, err := fs.ReadFile(site, file)
		if err != nil {
			return err
		}
		d, loads, err := parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		pages[file] = d
		for _, load := range loads {
			if to, err := url.Parse(load); err != nil || to.IsAbs() && !strings.HasPrefix(load, base) {
				problems = append(problems, fmt.Errorf("%s loads %s from elsewhere", file, load))
			}
		}
		return nil
	})
	if err != nil {
		return nil, n, err
	}
	prefix, err := url.Parse(base)
	if err != nil {
		return nil, n, err
	}
	for file, d := range pages {
		n.pages++
		if d.title == "" || d.heads != 1 {
			problems = append(problems, fmt.Errorf("%s: title %q, %d headings of the first order", file, d.title, d.heads))
		}
		for _, link := range d.links {
			n.links++
			if why := follow(site, pages, prefix, file, link); why != nil {
				problems = append(problems, fmt.Errorf("%s: the link %s %w", file, link, why))
			}
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return problems, n, nil
}

// follow says why a link within the site leads nowhere.
func follow(site fs.FS, pages map[string]*document, base *url.URL, file, link string) error {
	to, err := url.Parse(link)
	if err != nil {
		return err
	}
	to = base.JoinPath(file).ResolveReference(to)
	if to.Host != base.Host || to.Scheme != base.Scheme {
		return nil // somewhere else; nothing here goes out
	}
	at := strings.TrimPrefix(to.Path, base.Path)
	if at == "" || strings.HasSuffix(at, "/") {
		at += "index.html"
	}
	if _, err := fs.Stat(site, at); err != nil {
		return errors.New("leads nowhere")
	}
	if d := pages[at]; d != nil && to.Fragment != "" && !d.ids[to.Fragment] {
		return errors.New("names a place that the page does not have")
	}
	return nil
}

func parse(text []byte) (d *document, loads []string, err error) {
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	d = &document{ids: map[string]bool{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "title":
			if n.FirstChild != nil && d.title == "" {
				d.title = strings.TrimSpace(n.FirstChild.Data)
			}
		case "h1":
			d.heads++
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				if d.ids[a.Val] {
					return nil, nil, fmt.Errorf("the id %s stands twice", a.Val)
				}
				d.ids[a.Val] = true
			case a.Key == "href" && n.Data == "a":
				d.links = append(d.links, a.Val)
			case a.Key == "src", a.Key == "href":
				d.links = append(d.links, a.Val)
				loads = append(loads, a.Val)
			}
		}
	}
	return d, loads, nil
}
