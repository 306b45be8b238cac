// Command athanor makes the cloud match a program.
package main

import "github.com/athanor-dev/athanor/cmd"

// They are set when a release is built.
var version, commit, date string

func main() { cmd.Ready(cmd.Release{Version: version, Commit: commit, Date: date}) }
