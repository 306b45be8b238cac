// Package mediatype tells the media type of a file by the ending of its name, alike on every machine: package mime of the
// standard library asks the machine's own tables first, and one program would then deploy other objects from another
// machine. The package knows no file's content and no service's default for what it does not know.
package mediatype

import (
	_ "embed"
	"path"
	"strings"
	"sync"
)

// table has a media type and its endings on each line: the types of IANA's registry and those in use beside them, as in
// the npm package mime 4.0.7, which Cloudflare's own client asks.
//
//go:embed types.txt
var table string

var endings = sync.OnceValue(func() map[string]string {
	types := map[string]string{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		for _, ending := range fields[1:] {
			types[ending] = fields[0]
		}
	}
	return types
})

// Of gives the media type of a file, with the character set for text, which is taken for UTF-8. Letters of an ending count in
// either case. A name without an ending, or with one that the table does not have, has no type: ok is false.
func Of(name string) (mediaType string, ok bool) {
	ending := path.Ext(path.Base(name))
	if len(ending) < 2 {
		return "", false
	}
	mediaType, ok = endings()[strings.ToLower(ending[1:])]
	if ok && strings.HasPrefix(mediaType, "text/") {
		mediaType += "; charset=utf-8"
	}
	return mediaType, ok
}

// Endings lists every ending that has a type, without its dot.
func Endings() []string {
	var all []string
	for line := range strings.Lines(table) {
		all = append(all, strings.Fields(line)[1:]...)
	}
	return all
}
