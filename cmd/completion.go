package cmd

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func (a *app) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a completion script for a shell", ArgsUsage: "bash|zsh|fish",
		Description: "bash: source <(athanor completion bash); zsh: source <(athanor completion zsh); fish: athanor completion fish | source",
		Action: func(c *cli.Context) error {
			switch shell := c.Args().First(); shell {
			case "bash":
				fmt.Fprint(a.out, bashCompletion)
			case "zsh":
				fmt.Fprint(a.out, zshCompletion)
			case "fish":
				script, err := c.App.ToFishCompletion()
				if err != nil {
					return err
				}
				fmt.Fprint(a.out, script)
			default:
				return hint(fmt.Errorf("completion: no script for %q", shell), "bash, zsh or fish")
			}
			return nil
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
