package s3

import (
	"path"
	"strings"
)

// mediaTypes are ours: the table of package mime depends on the machine, and the same program would make other
// objects on another one.
const mediaTypes = `
.html text/html; charset=utf-8
.htm text/html; charset=utf-8
.css text/css; charset=utf-8
.js text/javascript; charset=utf-8
.mjs text/javascript; charset=utf-8
.txt text/plain; charset=utf-8
.log text/plain; charset=utf-8
.md text/markdown; charset=utf-8
.csv text/csv; charset=utf-8
.ics text/calendar; charset=utf-8
.json application/json
.map application/json
.webmanifest application/manifest+json
.jsonl application/x-ndjson
.ndjson application/x-ndjson
.xml application/xml
.yaml application/yaml
.yml application/yaml
.toml application/toml
.pdf application/pdf
.zip application/zip
.gz application/gzip
.tgz application/gzip
.tar application/x-tar
.wasm application/wasm
.parquet application/vnd.apache.parquet
.svg image/svg+xml
.png image/png
.jpg image/jpeg
.jpeg image/jpeg
.gif image/gif
.webp image/webp
.avif image/avif
.ico image/vnd.microsoft.icon
.woff font/woff
.woff2 font/woff2
.ttf font/ttf
.otf font/otf
.mp3 audio/mpeg
.mp4 video/mp4
.webm video/webm
`

// mediaType goes by the ending of a key.
func mediaType(key string) string {
	ending := strings.ToLower(path.Ext(key))
	for line := range strings.Lines(mediaTypes) {
		if of, is, ok := strings.Cut(strings.TrimSpace(line), " "); ok && of == ending {
			return is
		}
	}
	return "application/octet-stream"
}
