package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// helpWidth is where the lines of help end.
const helpWidth = 96

// sharedCategory holds the flags that every command on a stage has.
const sharedCategory = "Flags of every command that works on a stage"

// printHelp explains the command that a line names.
func (a *app) printHelp(w io.Writer, l line, all []*cli.Command) {
	if len(l.path) == 0 {
		a.printOverview(w, all)
		return
	}
	c := l.command()
	usage := a.name() + " " + l.name()
	if len(c.Subcommands) > 0 {
		usage += " COMMAND"
	}
	if c.ArgsUsage != "" {
		usage += " " + c.ArgsUsage
	}
	if len(c.Flags) > 0 {
		usage += " [FLAGS]"
	}
	fmt.Fprintf(w, "%s: %s\n\n", usage, c.Usage)
	if c.Description != "" {
		fmt.Fprintf(w, "%s\n\n", c.Description)
	}
	printCommands(w, c.Subcommands)
	printExamples(w, a.name(), c.UsageText)
	printFlags(w, c.Flags)
}

func (a *app) printOverview(w io.Writer, all []*cli.Command) {
	fmt.Fprintf(w, "%s: make the cloud match a program\n\n%s\n\n", a.name(), overview)
	printCommands(w, all)
	printExamples(w, a.name(), overviewExamples)
	fmt.Fprintf(w, "Exit codes: %s.\n`%s COMMAND --help` teaches each command.\n", exitCodes, a.name())
}

const (
	exitCodes = "0 done, 1 error, 2 changes pending, 3 locked by another run, 4 partly done, 5 not approved, 130 interrupted"

	overview = `It looks at what is there, shows what would change, and makes it so. It may be interrupted anywhere and
run again: whatever was begun is found and finished.`

	overviewExamples = `init my-stack              write a first stack
deploy my-stack            plan, show, ask, apply
plan my-stack              only show what would change
destroy my-stack           delete everything of it`

	targetHelp = `TARGET is a directory with athanor.yaml or a Go main package, a YAML file, a graph as JSON, or - for
standard input. The default is the current directory.`
)

func printCommands(w io.Writer, commands []*cli.Command) {
	if len(commands) == 0 {
		return
	}
	fmt.Fprintln(w, "Commands:")
	for _, c := range commands {
		if !c.Hidden {
			fmt.Fprintf(w, "  %-12s %s\n", c.Name, c.Usage)
		}
	}
	fmt.Fprintln(w)
}

// printExamples prints lines of "arguments, two spaces or more, what they do".
func printExamples(w io.Writer, program, examples string) {
	if examples == "" {
		return
	}
	fmt.Fprintln(w, "Examples:")
	for l := range strings.SplitSeq(examples, "\n") {
		fmt.Fprintf(w, "  %s %s\n", program, l)
	}
	fmt.Fprintln(w)
}

func printFlags(w io.Writer, flags []cli.Flag) {
	for _, title := range []string{"Flags", sharedCategory} {
		var lines [][2]string
		width := 0
		for _, f := range flags {
			doc, ok := f.(cli.DocGenerationFlag)
			if !ok || (flagCategory(f) == sharedCategory) != (title == sharedCategory) {
				continue
			}
			text, value := placeholder(doc.GetUsage())
			if env := doc.GetEnvVars(); len(env) > 0 {
				text += " (also $" + env[0] + ")"
			}
			lines = append(lines, [2]string{spelled(f.Names(), value), text})
			width = max(width, len(lines[len(lines)-1][0]))
		}
		if len(lines) == 0 {
			continue
		}
		fmt.Fprintln(w, title+":")
		for _, l := range lines {
			fmt.Fprintf(w, "  %-*s  %s\n", width, l[0], wrapped(l[1], helpWidth-width-4, width+4))
		}
		fmt.Fprintln(w)
	}
}

func flagCategory(f cli.Flag) string {
	if c, ok := f.(cli.CategorizableFlag); ok {
		return c.GetCategory()
	}
	return ""
}

// placeholder takes the word in backquotes, which is how the flag library marks the name of a value.
func placeholder(usage string) (text, value string) {
	before, rest, ok := strings.Cut(usage, "`")
	if !ok {
		return usage, ""
	}
	value, after, _ := strings.Cut(rest, "`")
	return before + value + after, value
}

func spelled(names []string, value string) string {
	text := "    --" + names[0]
	if len(names) > 1 {
		text = "-" + names[1] + ", --" + names[0]
	}
	if value != "" {
		text += " " + value
	}
	return text
}

// wrapped breaks a text into lines of at most width; further lines are indented.
func wrapped(text string, width, indent int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
