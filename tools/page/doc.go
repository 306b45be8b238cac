// Package page tries the pages of `athanor ui` in Chromium.
//
// It knows the built binary alone, which $ATHANOR_BINARY names, and what a browser shows of it.
package page
