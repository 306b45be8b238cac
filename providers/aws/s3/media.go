package s3

import (
	"path"
	"strings"

	"github.com/athanor-dev/athanor/asset/mediatype"
)

// ownTypes are what this kind has given from the start where the common table has another type or none: another one would
// change every such object.
var ownTypes = map[string]string{
	".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml", ".jsonl": "application/x-ndjson",
	".ndjson": "application/x-ndjson", ".tgz": "application/gzip", ".parquet": "application/vnd.apache.parquet",
}

// mediaType gives the type of an object by the ending of its key.
func mediaType(key string) string {
	if own, ok := ownTypes[strings.ToLower(path.Ext(key))]; ok {
		return own
	}
	if known, ok := mediatype.Of(key); ok {
		return known
	}
	return "application/octet-stream"
}
