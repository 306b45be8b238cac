package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A word is completed by what may stand there: a command, a flag, or what the usage or the flag names.
func TestCompletes(t *testing.T) {
	var asked []string
	app := App{
		Name: "athanor",
		Commands: []*Command{
			{Name: "plan", ArgsUsage: "[TARGET]", Flags: []Flag{
				&StringFlag{Name: "stage"}, &BoolFlag{Name: "yes", Aliases: []string{"y"}}, &StringSliceFlag{Name: "target", Aliases: []string{"t"}},
			}},
			{Name: "kinds", ArgsUsage: "[KIND]"},
			{Name: "state", Subcommands: []*Command{
				{Name: "show", ArgsUsage: "ADDRESS [TARGET]"},
				{Name: "mv", ArgsUsage: "OLD NEW [OLD NEW]... [TARGET]"},
				{Name: "rm", ArgsUsage: "ADDRESS..."},
			}},
			{Name: "adopt", ArgsUsage: "ADDRESS ID [TARGET] | --scan [TARGET]"},
			{Name: "allow", ArgsUsage: "[TARGET] [--once -- COMMAND]"},
		},
		Complete: func(w Wanted) []string {
			asked = append(asked, fmt.Sprintf("%s|%s|%s|%s|%s", w.Command, w.Flag, w.Argument, strings.Join(w.Args, ","), w.Given["stage"]))
			return []string{"one", "other", "two words"}
		},
	}
	for _, tt := range []struct{ line, want, asks string }{
		{"|", "adopt allow kinds plan state", ""},
		{"pl|", "plan", ""},
		{"help pl|", "plan", ""},
		{"state |", "mv rm show", ""},
		{"state s|", "show", ""},
		{"nonsense |", "adopt allow kinds plan state", ""},
		{"plan -|", "--stage --target --yes", ""},
		{"plan --st|", "--stage", ""},
		{"plan --stage |", "one other", "plan|stage|||"},
		{"plan --stage ot|", "other", "plan|stage|||"},
		{"plan --stage=ot|", "--stage=other", "plan|stage|||"},
		{"plan -t |", "one other", "plan|target|||"},
		{"plan -y --stage prod |", "one other", "plan||TARGET||prod"},
		{"plan --stage=prod ./x |", "one other", "plan|||./x|prod"},
		{"state show |", "one other", "state show||ADDRESS||"},
		{"state show on|", "one", "state show||ADDRESS||"},
		{"state show queue |", "one other", "state show||TARGET|queue|"},
		{"state mv a |", "one other", "state mv||NEW|a|"},
		{"state mv a b c |", "one other", "state mv||NEW|a,b,c|"},
		{"state rm a b |", "one other", "state rm||ADDRESS|a,b|"},
		{"adopt a |", "one other", "adopt||ID|a|"},
		{"allow x |", "one other", "allow|||x|"},
	} {
		asked = nil
		var out bytes.Buffer
		before, word := strings.TrimSuffix(tt.line, "|"), ""
		args := strings.Fields(before)
		if len(args) > 0 && !strings.HasSuffix(before, " ") {
			word, args = args[len(args)-1], args[:len(args)-1]
		}
		app.Writer = &out
		if err := app.Run(t.Context(), slices.Concat([]string{"athanor"}, args, []string{word, completionFlag})); err != nil {
			t.Errorf("%s: %v", tt.line, err)
		}
		if have := strings.Join(strings.Fields(out.String()), " "); have != tt.want || strings.Join(asked, " ") != tt.asks {
			t.Errorf("%s gives %q, want %q; asks %q, want %q", tt.line, have, tt.want, asked, tt.asks)
		}
	}
}
