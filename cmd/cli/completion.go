package cli

import (
	"fmt"

	"github.com/athanor-dev/athanor/reconcile"
)

// CompletionCommand prints completion scripts. The library has one for fish.
func CompletionCommand() *Command {
	return &Command{
		Name: "completion", Usage: "print a completion script for a shell", ArgsUsage: "bash|zsh|fish",
		Description: "bash: source <(athanor completion bash); zsh: source <(athanor completion zsh); " +
			"fish: athanor completion fish | source",
		Action: func(c *Context) error {
			var script string
			var err error
			switch shell := c.Args().First(); shell {
			case "bash":
				script = bashCompletion
			case "zsh":
				script = zshCompletion
			case "fish":
				script, err = c.App.ToFishCompletion()
			default:
				err = reconcile.WithHint(fmt.Errorf("completion: no script for %q", shell), "bash, zsh or fish")
			}
			if err == nil {
				_, err = fmt.Fprint(c.App.Writer, script)
			}
			return err
		},
	}
}

const (
	bashCompletion = `_athanor() {
  local cur words
  COMPREPLY=()
  cur="${COMP_WORDS[COMP_CWORD]}"
  words=("${COMP_WORDS[@]:0:COMP_CWORD}")
  COMPREPLY=($(compgen -W "$("${words[@]}" "$cur" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _athanor athanor
`

	zshCompletion = `#compdef athanor
_athanor() {
  local -a options
  options=("${(@f)$(${words[@]:0:$#words-1} ${words[-1]} --generate-bash-completion 2>/dev/null)}")
  if (( ${#options} )); then _describe 'values' options; else _files; fi
}
compdef _athanor athanor
`
)
