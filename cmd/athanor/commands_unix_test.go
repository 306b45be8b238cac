//go:build unix

package main

// commandsOfUnix are what else this binary is, by its name, for tests that kill processes.
func commandsOfUnix() map[string]func() {
	return map[string]func(){"athanor-short": shortLived, "athanor-session": devSession, "athanor-cut": cuttingProvider, "athanor-compiling": compiler}
}
