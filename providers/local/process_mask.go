package local

import "strings"

// shortestLine is the length in bytes from which one line of a secret that has several is a secret itself.
const shortestLine = 8

// masker masks what a process prints: the secrets in its variables, each line of those that have several, and whatever
// redact knows.
func masker(redact func(string) string, secrets []string) func(string) string {
	var pairs []string
	for _, s := range byLength(inLines(secrets)) {
		pairs = append(pairs, s, mask)
	}
	own := strings.NewReplacer(pairs...)
	return func(text string) string {
		text = own.Replace(text)
		if redact != nil {
			text = redact(text)
		}
		return text
	}
}

// inLines are secrets as they show up in output that is read line by line.
func inLines(secrets []string) []string {
	var all []string
	for _, s := range secrets {
		if !strings.Contains(s, "\n") {
			all = append(all, s)
			continue
		}
		for line := range strings.Lines(s) {
			if line = strings.TrimRight(line, "\r\n"); len(line) >= shortestLine {
				all = append(all, line)
			}
		}
	}
	return all
}
