// Package terminal takes the pictures of what athanor shows on a terminal.
//
// It knows the screens that a test of cmd/render writes, and how Chromium draws them. It does not know what they say.
package terminal
