// Command STACKNAME declares a page on this machine. `athanor kinds` lists what else can be declared.
package main

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
)

func main() { cmd.Main(stack, cmd.Stack("STACKNAME")) }

func stack(s *athanor.Stack) error {
	id := random.NewID(s, "id", random.IDProps{Bytes: new(4)})
	page := local.NewFile(s, "page", local.FileProps{
		Path:    "public/index.html",
		Content: "<h1>STACKNAME " + id.Hex + "</h1>\n",
	})
	s.Output("page", page.Path)
	return nil
}
