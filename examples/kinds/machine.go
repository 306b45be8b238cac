package kinds

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
)

func command(s *athanor.Stack) error {
	local.NewCommand(s, "site", local.CommandProps{
		Run:     "mkdir -p build && sort words.txt > build/words.txt",
		Inputs:  []string{"words.txt"},
		Outputs: []string{"build/words.txt"},
	})
	return nil
}

func directory(s *athanor.Stack) error {
	local.NewDirectory(s, "public", local.DirectoryProps{
		Path:  "public",
		Files: map[string]string{"index.html": "<h1>shop</h1>", "robots.txt": "User-agent: *"},
	})
	return nil
}

func file(s *athanor.Stack) error {
	local.NewFile(s, "motd", local.FileProps{Path: "motd.txt", Content: "welcome\n", Mode: new("0644")})
	return nil
}

func process(s *athanor.Stack) error {
	local.NewProcess(s, "server", local.ProcessProps{
		Run:   []string{"python3", "-m", "http.server", "8123", "--bind", "127.0.0.1"},
		Ready: &local.Ready{Port: new(8123)},
	})
	return nil
}

func value(s *athanor.Stack) error {
	id := random.NewID(s, "id", random.IDProps{})
	local.NewValue(s, "names", local.ValueProps{Input: []any{"shop-" + id.Hex, "shop-" + s.Stage()}})
	return nil
}

func id(s *athanor.Stack) error {
	random.NewID(s, "id", random.IDProps{Prefix: "shop-", Bytes: new(4)})
	return nil
}

func password(s *athanor.Stack) error {
	random.NewPassword(s, "password", random.PasswordProps{Length: new(24)})
	return nil
}
