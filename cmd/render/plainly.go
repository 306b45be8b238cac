package render

import (
	"regexp"
	"strings"
	"sync"
)

// osReasons are those of an operating system for which a call failed.
const osReasons = `no such file or directory|permission denied|is a directory|not a directory|file exists|too many levels of symbolic links|` +
	`no space left on device|disk quota exceeded|input/output error|path escapes from parent|invalid argument|file name too long|` +
	`read-only file system|directory not empty|exec format error|operation not permitted|device or resource busy|too many open files|` +
	`text file busy|invalid cross-device link|no such device or address|no such process|The system cannot find the (?:file|path) specified\.|Access is denied\.`

// plainWord is what an error says, and what users are told.
type plainWord struct {
	from *regexp.Regexp
	to   string
}

// plainly are the words of Go and of operating systems for what failed, and the plain ones. What stands in front of a reason was a call of
// the system, which says nothing to a user: the file or the address does.
// They are compiled for the first error that is shown: most commands show none.
var plainly = sync.OnceValue(func() []plainWord {
	return []plainWord{
		{regexp.MustCompile(`(?:openat|open|lstat|stat|fstatat|statat|unlinkat|mkdirat|mkdir|rmdir|readlink|readdirent|fdopendir|read|write|chmod|remove|` +
			`truncate|fsync|sync|flock|chdir|fork/exec|CreateFile|GetFileAttributesEx) ([^:\n]+): (` + osReasons + `)`), "$1: $2"},
		{regexp.MustCompile(`(?:rename|renameat|link|symlink) (/[^:\n]+?|\S+) (/[^:\n]+|\S+): (` + osReasons + `)`), "$1 to $2: $3"},
		{
			regexp.MustCompile(`dial (?:tcp|udp|unix)[46]?(?: \S+)?: lookup (\S+?)(?: on \S+)?: (?:no such host|server misbehaving|Temporary failure in name resolution)`),
			"the name $1 is not known (no such host)",
		},
		{regexp.MustCompile(`dial (?:tcp|udp|unix)[46]? (\S+): (?:connect: )?`), "cannot connect to $1: "},
		{regexp.MustCompile(`listen (?:tcp|unix)[46]? (\S+): bind: `), "cannot listen on $1: "},
		{regexp.MustCompile(`listen (?:tcp|unix)[46]?: (?:address (\S+): missing port in address|lookup (\S+?)(?: on \S+)?: .*)`), "cannot listen on $1$2: want HOST:PORT"},
		{regexp.MustCompile(`listen (?:tcp|unix)[46]?: address (\S+): `), "cannot listen on $1: "},
		{regexp.MustCompile(`(?:read|write) (?:tcp|udp|unix)[46]? (?:\S+->)?(\S+?): (?:read: |write: )?i/o timeout`), "no answer from $1 in time"},
		{
			regexp.MustCompile(`(?:read|write) (?:tcp|udp|unix)[46]? (?:\S+->)?(\S+?): (?:read: |write: )?(connection reset by peer|broken pipe|use of closed network connection)`),
			"the connection to $1 was cut ($2)",
		},
		{regexp.MustCompile(`(?:Get|Post|Put|Patch|Delete|Head) "([^"\s]+)": (?:net/http: |http: )?EOF\b`), "$1: the connection was closed without an answer"},
		{regexp.MustCompile(`(?:Get|Post|Put|Patch|Delete|Head) "([^"\s]+)": `), "$1: "},
		{regexp.MustCompile(`context deadline exceeded(?: \([^)]*\))?|net/http: TLS handshake timeout|\bi/o timeout|net/http: request canceled(?: \([^)]*\))?`), "no answer in time"},
		{regexp.MustCompile(`http: server gave HTTP response to HTTPS client`), "it speaks HTTP there and not HTTPS"},
		{regexp.MustCompile(`(?:net/http: HTTP/1\.x transport connection broken: )?\bmalformed HTTP (?:response|version|status code) ("[^"\n]*")`), "it speaks no HTTP there: $1"},
		{regexp.MustCompile(`\breadLoopPeekFailLocked: %!w\(<nil>\)`), "it speaks no HTTP there"}, // what net/http says of a server that speaks first
		{regexp.MustCompile(`\bunexpected EOF\b`), "it ends too early"},
		{regexp.MustCompile(`(^|: )EOF$`), "${1}it is empty or ends too early"},
		{regexp.MustCompile(`exec: "([^"\n]+)": executable file not found in (?:\$PATH|%PATH%)`), "there is no program $1 in the PATH"},
		{regexp.MustCompile(`strconv\.\w+: parsing ("[^"\n]*"): (?:invalid syntax|value out of range)`), "$1 is no number that fits"},
		{regexp.MustCompile(`invalid character (?:'.'|'\\.+?') looking for beginning of (?:value|object key string)`), "it is no JSON"},
		{regexp.MustCompile(`json: unknown field ("[^"\n]*")`), "unknown field $1"},
		{regexp.MustCompile(`json: cannot unmarshal (\w+)(?: \S+)? into Go struct field \w*\.(\S+) of type \S+`), "$2: it cannot be a $1"},
		{regexp.MustCompile(`json: cannot unmarshal (\w+)(?: \S+)? into Go value of type \S+`), "it cannot be a $1"},
	}
})

// rawWord finds that something may be there to be said plainly.
var rawWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:` + osReasons + `)|dial |listen |read (?:tcp|udp|unix)|write (?:tcp|udp|unix)|(?:Get|Post|Put|Patch|Delete|Head) "|` +
		`deadline|timeout|canceled|http: |HTTP |EOF|exec: |strconv\.|json: |invalid character|readLoop`)
})

// Plainly is the text of an error without words that only a programmer of Go or of an operating system knows.
func Plainly(text string) string {
	if text == "" || !rawWord().MatchString(text) {
		return text
	}
	return inWords(plainly(), text)
}

// inWords is a text in plain words for those of a system.
func inWords(words []plainWord, text string) string {
	for _, p := range words {
		text = p.from.ReplaceAllString(text, p.to)
	}
	// What names its file or address by itself does so once.
	parts := strings.Split(text, ": ")
	kept := parts[:1]
	for _, part := range parts[1:] {
		if last := kept[len(kept)-1]; part != last || part == "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ": ")
}
