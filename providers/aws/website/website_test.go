package website

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// nowhere is the cloud of a kind that calls nothing.
type nowhere struct{}

func (nowhere) Place(context.Context) (reconcile.Place, error) {
	return reconcile.Place{Provider: "aws", Account: "111122223333", Region: "eu-west-1"}, nil
}
func (nowhere) Classify(error) reconcile.Class { return reconcile.Unknown }

func TestConforms(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, kindtest.Suite{
		Kind:  websiteKind.Erase(),
		World: func(t kindtest.T) kindtest.World { return kindtest.World{Cloud: nowhere{}, Dir: t.TempDir()} },
		Base: map[string]any{
			"domains": []any{"shop.example"}, "hostedZoneId": "Z1", "certificate": "arn:aws:acm:us-east-1:111122223333:certificate/1",
			"parts": map[string]any{"bucket": "b", "distribution": "E1", "domainName": "d.cloudfront.net", "hostedZoneId": "Z"},
		},
		Variants: []kindtest.Variant{
			{Name: "other", Props: map[string]any{
				"files": "dist", "index": "start.html", "notFound": "404.html", "cacheControl": "no-cache", "immutable": []any{"assets/*"},
				"domains": []any{"www.shop.example"}, "hostedZoneId": "Z2", "certificate": "arn:aws:acm:us-east-1:111122223333:certificate/2",
				"priceClass": "PriceClass_100", "responseHeadersPolicy": "SecurityHeadersPolicy", "tags": map[string]any{"team": "web"},
				"viewerRequest": "arn:aws:cloudfront::111122223333:function/index",
				"parts": map[string]any{
					"bucket": "c", "distribution": "E2", "domainName": "e.cloudfront.net", "hostedZoneId": "Y", "records": []any{"www.shop.example"},
				},
			}},
			{Name: "page", Props: map[string]any{"singlePage": true}},
		},
	})
}

// folder makes a stack's directory with these files in dist.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		path := filepath.Join(dir, "dist", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// declared are the resources of a website by their addresses.
func declared(t *testing.T, dir string, p WebsiteProps) (map[string]engine.Resource, error) {
	t.Helper()
	g, err := athanor.Evaluate(func(s *athanor.Stack) error {
		s.Output("url", NewWebsite(s, "site", p).URL)
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test", Dir: dir})
	if err != nil {
		return nil, err
	}
	all := map[string]engine.Resource{}
	for _, r := range g.Resources {
		all[r.Address] = r
	}
	return all, nil
}

func at(t *testing.T, r engine.Resource, path tree.Path) any {
	t.Helper()
	v, _ := tree.Get(r.Props, path)
	return v
}

func TestPartsOfWebsite(t *testing.T) {
	t.Parallel()
	dir := folder(t, "index.html", "404.html", "docs/a.b.html", "docs/a-b.html", "assets/app-1f.js", ".git/config", ".well-known/security.txt")
	all, err := declared(t, dir, WebsiteProps{
		Files: "dist", NotFound: "404.html", CacheControl: "max-age=60", Immutable: []string{"assets/*"},
		Domains: []string{"shop.example", "a-b.shop.example"}, HostedZoneID: "Z1",
	})
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]string{}
	var others []string
	for _, address := range slices.Sorted(maps.Keys(all)) {
		if r := all[address]; r.Kind == "aws.s3.Object" {
			objects[at(t, r, "key").(string)] = at(t, r, "cacheControl").(string)
			if source := at(t, r, "source"); source != "dist/"+at(t, r, "key").(string) {
				t.Errorf("%s is made of %v", address, source)
			}
		} else {
			others = append(others, address+" "+r.Kind)
		}
	}
	const year = "public, max-age=31536000, immutable"
	want := map[string]string{
		"index.html": "max-age=60", "404.html": "max-age=60", "docs/a.b.html": "max-age=60", "docs/a-b.html": "max-age=60",
		"assets/app-1f.js": year, ".well-known/security.txt": "max-age=60",
	}
	if !maps.Equal(objects, want) {
		t.Errorf("files %v, want %v", objects, want)
	}
	if want := []string{
		"site aws.Website", "site/bucket aws.s3.Bucket", "site/certificate aws.acm.Certificate", "site/control aws.cloudfront.OriginAccessControl",
		"site/distribution aws.cloudfront.Distribution", "site/record-a-b-shop-example-", "site/record-a-b-shop-example-",
		"site/record-shop-example-a aws.route53.Record", "site/record-shop-example-aaaa aws.route53.Record",
	}; !slices.EqualFunc(others, want, strings.HasPrefix) {
		t.Errorf("resources %q, want %q", others, want)
	}
	index := all["site/file-index-html"]
	if len(index.Options.DependsOn) != 1 || all[index.Options.DependsOn[0]].Props["key"] != "assets/app-1f.js" {
		t.Errorf("the index comes after %v", index.Options.DependsOn)
	}
	if region := all["site/certificate"].Settings["region"]; region != "us-east-1" {
		t.Errorf("the certificate is in %v", region)
	}
	if region := all["site/bucket"].Settings["region"]; region != nil {
		t.Errorf("the bucket is in %v", region)
	}
	if when := at(t, all["site/distribution"], "invalidate.when").([]any); len(when) != len(want) {
		t.Errorf("caches are emptied by %v", when)
	}
	answers := at(t, all["site/distribution"], "errors").([]any)
	if len(answers) != 2 || answers[0].(map[string]any)["page"] != "/404.html" || answers[0].(map[string]any)["status"] != int64(404) {
		t.Errorf("errors %v", answers)
	}
}

// TestRenamed: the parts are renamed with the website.
func TestRenamed(t *testing.T) {
	t.Parallel()
	g, err := athanor.Evaluate(func(s *athanor.Stack) error {
		NewWebsite(s, "site[a]", WebsiteProps{Files: "dist"}, athanor.RenamedFrom("page[a]"))
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test", Dir: folder(t, "index.html")})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range g.Resources {
		if want := []string{strings.Replace(r.Address, "site", "page", 1)}; !slices.Equal(r.Options.RenamedFrom, want) {
			t.Errorf("%s was %v, want %v", r.Address, r.Options.RenamedFrom, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	reference := string(athanor.Attributes[struct{ Path string }](stackOf(t), "build").Path)
	linked := folder(t, "index.html")
	if err := os.Symlink("/etc/hostname", filepath.Join(linked, "dist", "host")); err != nil {
		t.Fatal(err)
	}
	inFolder := folder(t, "index.html", "docs/index.html")
	if err := os.Symlink("docs", filepath.Join(inFolder, "dist", "manual")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		p    WebsiteProps
		want string
	}{
		{folder(t, "index.html"), WebsiteProps{Files: "build"}, "site: files: "},
		{folder(t, "page.html"), WebsiteProps{Files: "dist"}, "index.html: file does not exist"},
		{folder(t, "index.html"), WebsiteProps{Files: "dist", NotFound: "404.html"}, "404.html: file does not exist"},
		{linked, WebsiteProps{Files: "dist"}, "host: a link that leads out of the folder"},
		{inFolder, WebsiteProps{Files: "dist"}, "manual: a link that leads to no file"},
		{folder(t, "index.html"), WebsiteProps{Files: reference}, errReference.Error()},
		{folder(t, "index.html"), WebsiteProps{Domains: []string{"shop.example", reference}, HostedZoneID: "Z1"}, "site: domains[1]: " + errDomain.Error()},
	} {
		if _, err := declared(t, c.dir, c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	for want, p := range map[string]WebsiteProps{
		"notFound":     {NotFound: "404.html", SinglePage: true},
		"index":        {Index: new("/index.html")},
		"domains":      {Domains: []string{"shop.example"}},
		"domains[0]":   {Domains: []string{"*.shop.example"}, HostedZoneID: "Z"},
		"domains[1]":   {Domains: []string{"shop.example", "shop.example"}, HostedZoneID: "Z"},
		"hostedZoneId": {HostedZoneID: "Z"},
		"certificate":  {Certificate: "arn:aws:acm:us-east-1:111122223333:certificate/1"},
	} {
		err := checkWebsite(websiteKind.WithDefaults(p))
		if err == nil || !strings.HasPrefix(err.Error(), want+":") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// stackOf is a stack of which nothing is kept.
func stackOf(t *testing.T) (stack *athanor.Stack) {
	t.Helper()
	if _, err := athanor.Evaluate(func(s *athanor.Stack) error {
		stack = s
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test"}); err != nil {
		t.Fatal(err)
	}
	return stack
}

// TestWordsDiffer: files and domains that look alike as parts of addresses have different ones.
func TestWordsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{
		"a/b.css", "a.b.css", "a-b.css", "a_b.css", "a/b-css", "a b.css", "ä.css", "ö.css", strings.Repeat("x", 200), strings.Repeat("x", 201),
	} {
		w := word(name)
		if other, ok := seen[w]; ok || len(w) > 120 {
			t.Errorf("%q and %q are both %q", name, other, w)
		}
		seen[w] = name
	}
}

// TestURL: a website is where its first domain is, and without one where CloudFront has it.
func TestURL(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]WebsiteProps{
		"https://d.cloudfront.net": {Parts: Parts{DomainName: "d.cloudfront.net"}},
		"https://shop.example":     {Parts: Parts{DomainName: "d.cloudfront.net"}, Domains: []string{"shop.example", "www.shop.example"}},
	} {
		w, err := websiteKind.Create(t.Context(), kind.Site[WebsiteProps, Website]{Want: p})
		if err != nil || w.URL != want {
			t.Errorf("%q, %v, want %q", w.URL, err, want)
		}
	}
}
