package cli

import (
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// sharedCategory holds the flags that every command on a stage has.
const sharedCategory = "Flags of every command that works on a stage"

// Safety holds the flags that allow something, ask for nobody, or hold a run to what was reviewed.
const Safety = "Safety"

// The templates of the library's help. A tab ends a column.
const (
	appHelp = `{{.HelpName}}: {{.Usage}}

{{.Description}}

` + commandsHelp + examplesHelp + `Exit codes: ` + exitCodes + `.
` + "`{{.HelpName}} COMMAND --help`" + ` explains each command.
`

	commandHelp = `{{.HelpName}}{{if .Subcommands}} COMMAND{{end}}{{with .ArgsUsage}} {{.}}{{end}} [FLAGS]: {{.Usage}}

{{with .Description}}{{.}}

{{end}}` + commandsHelp + examplesHelp + `Flags:
{{range .VisibleFlags}}{{if not .GetCategory}}  {{.}}
{{end}}{{end}}` + safetyHelp + sharedHelp + `
`

	safetyHelp = `{{$titled := false}}{{range .VisibleFlags}}{{if eq .GetCategory "` + Safety + `"}}{{if not $titled}}
` + Safety + `:
{{$titled = true}}{{end}}  {{.}}
{{end}}{{end}}`

	sharedHelp = `{{$titled = false}}{{range .VisibleFlags}}{{if eq .GetCategory "` + sharedCategory + `"}}{{if not $titled}}
` + sharedCategory + `:
{{$titled = true}}{{end}}  {{.}}
{{end}}{{end}}`

	// Commands that follow each other with the same category are a group. Their names are padded, since a title would end the column.
	commandsHelp = `{{with .VisibleCommands}}{{$group := ""}}{{range $i, $c := .}}{{if or (eq $i 0) (ne .Category $group)}}{{if $i}}
{{end}}{{$group = .Category}}{{or $group "Commands"}}:
{{end}}  {{if $group}}{{printf "%-10s" .Name}}  {{else}}{{.Name}}{{"\t"}}{{end}}{{.Usage}}
{{end}}
{{end}}`

	examplesHelp = `{{with .UsageText}}Examples:
{{.}}

{{end}}`
)

// examples are the examples of a command as its help shows them.
func examples(program, lines string) string {
	if lines == "" {
		return ""
	}
	before := "  " + program + " "
	return before + strings.ReplaceAll(lines, "\n", "\n"+before)
}

// flagLine is a flag in help: its letter, its name and the name of its value, a tab, what it does. The library would
// write the long name first, and a flag that may be repeated twice.
func flagLine(f Flag) string {
	doc, ok := f.(urfave.DocGenerationFlag)
	if !ok {
		return ""
	}
	text := doc.GetUsage()
	names, value := f.Names(), ""
	if before, rest, quoted := strings.Cut(text, "`"); quoted {
		name, after, _ := strings.Cut(rest, "`")
		text, value = before+name+after, " "+name
	}
	letter := "    "
	if len(names) > 1 {
		letter = "-" + names[1] + ", "
	}
	if env := doc.GetEnvVars(); len(env) > 0 {
		text += " (also $" + env[0] + ")"
	}
	return letter + "--" + names[0] + value + "\t" + text
}
