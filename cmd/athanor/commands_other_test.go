//go:build !unix

package main

// commandsOfUnix are none on other systems.
func commandsOfUnix() map[string]func() { return nil }
