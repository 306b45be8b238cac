// Command athanor makes the cloud match a program.
package main

import "github.com/athanor-dev/athanor/cmd"

// version is set when a release is built.
var version string

func main() { cmd.Ready(version) }
