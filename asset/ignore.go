package asset

import (
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Ignore are the lines of an ignore file, such as .gitignore, as git reads them.
type Ignore []rule

// rule is one line of an ignore file.
type rule struct {
	matches *regexp.Regexp // on the path from the file's folder
	folder  bool           // only folders
	not     bool
}

// ReadIgnore reads the text of an ignore file. Lines that git takes no notice of are left out.
func ReadIgnore(text string) Ignore {
	var rules Ignore
	for line := range strings.Lines(text) {
		if r, ok := readRule(strings.TrimRight(line, "\r\n")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// longestIgnore bounds an ignore file: far above any real one.
const longestIgnore = 1 << 20

// ReadIgnoreFile reads an ignore file; one that is not there, or is no file, says nothing.
func ReadIgnoreFile(ctx context.Context, path string) Ignore {
	data, err := localfile.ReadAtMost(ctx, path, longestIgnore)
	if err != nil {
		return nil
	}
	return ReadIgnore(string(data))
}

// Excludes reports whether a file or folder is left out, by its path from the ignore file's folder, with slashes. Of the
// lines that fit the last one counts; where none does it is as before. What lies in a folder that is left out is the
// caller's to leave out.
func (g Ignore) Excludes(path string, folder, before bool) bool {
	for _, r := range g {
		if (!r.folder || folder) && r.matches.MatchString(path) {
			before = !r.not
		}
	}
	return before
}

func readRule(line string) (rule, bool) {
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " ")
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var r rule
	if line, r.not = strings.CutPrefix(line, "!"); line == "" {
		return rule{}, false
	}
	line, r.folder = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if _, err := path.Match(strings.ReplaceAll(line, "**", "*"), ""); err != nil || line == "" {
		return rule{}, false // git takes no notice of it either
	}
	text := pattern(line)
	if !anchored {
		text = "(?:.*/)?" + text
	}
	matches, err := regexp.Compile("^" + text + "$")
	r.matches = matches
	return r, err == nil
}

// pattern is a line of an ignore file as a regular expression.
func pattern(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		rest := line[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(rest, "/**") && len(rest) == 3:
			b.WriteString("/.+")
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i++
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			class := rest[1:end]
			if class != "" && class[0] == '!' {
				class = "^" + class[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
			i += end
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i++
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return b.String()
}
