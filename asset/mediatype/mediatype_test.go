package mediatype_test

import (
	"mime"
	"testing"

	"github.com/athanor-dev/athanor/asset/mediatype"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"PHOTO.JPG": "image/jpeg", "captions.vtt": "text/vtt; charset=utf-8", "cv.docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"film.mov": "video/quicktime", "a.b/page.html": "text/html; charset=utf-8", "data.tar.gz": "application/gzip",
		"none": "", "": "", ".": "", "a.": "", "a.unknown": "", "folder.html/none": "", "html": "", "index.HTML": "text/html; charset=utf-8",
	} {
		if got, ok := mediatype.Of(name); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %t; want %q", name, got, ok, want)
		}
	}
}

// TestTable: every ending has one type, and that is one by the standard's own grammar.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, ending := range mediatype.Endings() {
		of, ok := mediatype.Of("a." + ending)
		if _, _, err := mime.ParseMediaType(of); !ok || err != nil || seen[ending] {
			t.Errorf("%s: %q %t %v, twice %t", ending, of, ok, err, seen[ending])
		}
		seen[ending] = true
	}
	if len(seen) < 1000 {
		t.Errorf("%d endings", len(seen))
	}
}
