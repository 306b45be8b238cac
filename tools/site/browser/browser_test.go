// Package browser tries the built documentation in Chromium.
package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/athanor-dev/athanor/tools/browsertest"
)

// open serves the site that $ATHANOR_SITE names and opens a browser, whose messages of errors fail the test.
func open(t *testing.T) (ctx context.Context, base string) {
	t.Helper()
	dir := os.Getenv("ATHANOR_SITE")
	if dir == "" {
		t.Skip("ATHANOR_SITE names no built site (task site)")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	ctx = browsertest.Start(t, t.Skip, 2*time.Minute)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *cdruntime.EventExceptionThrown:
			t.Errorf("a script failed: %v", e.ExceptionDetails)
		case *cdruntime.EventConsoleAPICalled:
			if e.Type == cdruntime.APITypeError {
				t.Errorf("the console: %v", e.Args)
			}
		}
	})
	return ctx, server.URL + "/"
}

// TestSearch types what users type, and expects the page that answers it first.
func TestSearch(t *testing.T) {
	ctx, base := open(t)
	for phrase, want := range map[string]string{
		"dead letter queue": "/kinds/aws.sqs.queue/",
		"private bucket":    "/kinds/aws.s3.bucket/",
		"cron worker":       "/kinds/cloudflare.worker/",
		"interrupted run":   "/explanation/engine/",
		"rotate key":        "/guides/secrets/",
		"exit codes":        "/reference/cli/",
		"import existing":   "/commands/adopt/",
		"remote state":      "/guides/stores/",
		"hosted zone":       "/kinds/aws.route53.hostedzone/",
		"lambda log group":  "/kinds/aws.lambda.function/",
	} {
		var links []string
		err := chromedp.Run(ctx, chromedp.Navigate(base), chromedp.WaitVisible("search input"),
			chromedp.SendKeys("search input", phrase), chromedp.WaitVisible(fmt.Sprintf(`search ol[data-words=%q] li a`, phrase), chromedp.ByQuery),
			chromedp.Evaluate(`[...document.querySelectorAll("search li a")].map(a => new URL(a.href).pathname)`, &links))
		if err != nil {
			t.Fatalf("%s: %v", phrase, err)
		}
		if len(links) == 0 || links[0] != want {
			t.Errorf("%q finds %v, want %s first", phrase, links, want)
		}
	}
}

// TestPhone opens pages of every form at the width of a small phone: nothing may be wider than the screen, and the list of pages
// opens.
func TestPhone(t *testing.T) {
	ctx, base := open(t)
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(320, 640, chromedp.EmulateMobile)); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"", "kinds/", "kinds/aws.lambda.function/", "reference/cli/", "explanation/proof/", "commands/deploy/", "explanation/bench/"} {
		var status int64
		var wide []string
		err := chromedp.Run(ctx, chromedp.Navigate(base+page), chromedp.Evaluate(`performance.getEntriesByType("navigation")[0].responseStatus`, &status),
			chromedp.Evaluate(`[...document.querySelectorAll("body *")].filter(e => !e.closest("pre, .wide, .skip") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))`, &wide))
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		if status != http.StatusOK {
			t.Errorf("%s: status %d", page, status)
		}
		if len(wide) > 0 {
			t.Errorf("%s: wider than the screen: %s", page, strings.Join(wide, "\n"))
		}
	}
	var shown bool
	if err := chromedp.Run(ctx, chromedp.Click("label.menu"), chromedp.WaitVisible("nav a", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector("nav").checkVisibility()`, &shown)); err != nil || !shown {
		t.Errorf("the list of pages does not open: %v", err)
	}
}

// TestWithoutScript reads a page with scripts switched off: its text and the list of pages are there.
func TestWithoutScript(t *testing.T) {
	ctx, base := open(t)
	var heading string
	var links int
	err := chromedp.Run(ctx, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(base+"kinds/aws.sqs.queue/"),
		chromedp.Text("h1", &heading), chromedp.Evaluate(`document.querySelectorAll("nav a").length`, &links))
	if err != nil || heading != "aws.sqs.Queue" || links < 50 {
		t.Errorf("%v: heading %q, %s links", err, heading, fmt.Sprint(links))
	}
}
