// Command house is a stack of a kind of its own: a lamp of the house's service, whose address is in $HOUSE.
//
//	athanor kinds house.Lamp      # in this folder, or: go run . kinds house.Lamp
package main

import (
	"os"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/examples/house/lamps"
)

func main() { cmd.Main(House, cmd.Kinds(lamps.Provider(os.Getenv("HOUSE")))) }

// House declares a lamp.
func House(s *athanor.Stack) error {
	lamps.NewLamp(s, "hall", lamps.LampProps{Socket: "a", Color: new("red")})
	return nil
}
