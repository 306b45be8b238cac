package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Wanted is a word of a command line that a shell wants completed.
type Wanted struct {
	// Command is the command, such as "state show".
	Command string
	// Flag is the flag whose value is wanted, "" for an argument.
	Flag string
	// Argument is the argument as the usage of the command names it, such as ADDRESS; "" for a flag.
	Argument string
	// Word is the beginning of the word.
	Word string
	// Given are the flags that stand before it, and Args the arguments.
	Given map[string]string
	Args  []string
}

// completes reports whether the arguments ask for the completion of the last word.
func completes(args []string) bool { return len(args) > 1 && args[len(args)-1] == completionFlag }

// complete prints what the last word may be, a word on each line.
func (a App) complete(w io.Writer, args []string) error {
	args = args[1 : len(args)-1]
	word := ""
	if len(args) > 0 {
		word, args = args[len(args)-1], args[:len(args)-1]
	}
	var words []string
	for _, candidate := range a.candidates(args, word) {
		if strings.HasPrefix(candidate, word) && !strings.ContainsAny(candidate, " \t\r\n") {
			words = append(words, candidate)
		}
	}
	slices.Sort(words)
	for _, candidate := range slices.Compact(words) {
		if _, err := fmt.Fprintln(w, candidate); err != nil {
			return err
		}
	}
	return nil
}

// candidates are the words that may stand after the arguments; word is what is typed of it.
func (a App) candidates(args []string, word string) []string {
	if len(args) > 0 && args[0] == "help" {
		args = args[1:]
	}
	commands, wanted := a.Commands, Wanted{Word: word, Given: map[string]string{}}
	var c *Command
	for len(args) > 0 {
		next := find(commands, args[0])
		if next == nil {
			break
		}
		wanted.Command = strings.TrimSpace(wanted.Command + " " + next.Name)
		c, commands, args = next, next.Subcommands, args[1:]
	}
	if len(commands) > 0 {
		var names []string
		for _, sub := range commands {
			names = append(names, sub.Name)
		}
		return names
	}
	if c == nil {
		return nil
	}
	flag := wanted.read(args, c.Flags)
	if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "--") && takesValue(c.Flags, name[2:]) {
		wanted.Flag, wanted.Word = name[2:], value
		var words []string
		for _, v := range a.values(wanted) {
			words = append(words, name+"="+v)
		}
		return words
	}
	switch {
	case flag != "":
		wanted.Flag = flag
		return a.values(wanted)
	case strings.HasPrefix(word, "-"):
		var names []string
		for _, f := range c.Flags {
			names = append(names, "--"+f.Names()[0])
		}
		return names
	}
	wanted.Argument = argumentAt(c.ArgsUsage, len(wanted.Args))
	return a.values(wanted)
}

func (a App) values(w Wanted) []string {
	if a.Complete == nil {
		return nil
	}
	return a.Complete(w)
}

// read reads the arguments before the word that is wanted. It returns the flag whose value that word is, "" for none.
func (w *Wanted) read(args []string, flags []Flag) string {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			w.Args = append(w.Args, args[i+1:]...)
			return ""
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			w.Args = append(w.Args, arg)
		default:
			name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if f := flagNamed(flags, name); f != nil {
				name = f.Names()[0]
			}
			if !hasValue && takesValue(flags, name) {
				if i++; i == len(args) {
					return name
				}
				value = args[i]
			}
			w.Given[name] = value
		}
	}
	return ""
}

// argumentAt is the name of an argument in the usage of a command: in "OLD NEW [OLD NEW]... [TARGET]" the first is OLD.
func argumentAt(usage string, at int) string {
	usage, _, _ = strings.Cut(usage, " | ")
	var names []string
	repeated := ""
	for word := range strings.FieldsSeq(usage) {
		if strings.HasPrefix(strings.Trim(word, "["), "-") {
			break
		}
		name := strings.Trim(word, "[].")
		if strings.HasPrefix(name, "tf:") {
			continue // it stands before the others, or not at all
		}
		if strings.HasSuffix(word, "...") {
			repeated = name
		}
		names = append(names, name)
	}
	switch {
	case at < len(names):
		return names[at]
	default:
		return cmp.Or(repeated, "")
	}
}

// CompletionScript is what makes a shell complete the command, "" for a shell that there is none for.
func CompletionScript(shell string) string {
	switch shell {
	case "bash":
		return bashCompletion
	case "zsh":
		return zshCompletion
	case "fish":
		return fishCompletion
	}
	return ""
}

const (
	// Bash cuts words at : and =, which names of kinds have: the line is split anew, and what bash has cut off is left out of the
	// answers.
	bashCompletion = `# Completion of athanor for bash.
_athanor() {
  local line=${COMP_LINE:0:COMP_POINT} current= cut= word
  local -a words
  read -ra words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    current=${words[${#words[@]}-1]}
    unset "words[${#words[@]}-1]"
  fi
  if [[ $current == *[:=]* ]]; then cut=${current%"${current##*[:=]}"}; fi
  words[0]=${words[0]/#\~/$HOME}
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ $word == "$current"* ]]; then COMPREPLY+=("${word#"$cut"}"); fi
  done < <("${words[@]}" "$current" --generate-bash-completion 2>/dev/null)
}
complete -o bashdefault -o default -F _athanor athanor
`

	zshCompletion = `#compdef athanor
# Completion of athanor for zsh.
_athanor() {
  local -a answers
  answers=("${(@f)$("${(@)words[1,CURRENT-1]}" "${words[CURRENT]}" --generate-bash-completion 2>/dev/null)}")
  answers=(${answers:#})
  if (( ${#answers} )); then compadd -- "${answers[@]}"; else _files; fi
}
if [[ ${funcstack[1]} == _athanor ]]; then _athanor "$@"; else compdef _athanor athanor; fi
`

	fishCompletion = `# Completion of athanor for fish.
function __athanor_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  test (count $current) -eq 0; and set current ""
  $words $current --generate-bash-completion 2>/dev/null
end
complete -c athanor -a '(__athanor_complete)'
`
)
