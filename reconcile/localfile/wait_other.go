//go:build !unix

package localfile

const withoutWaiting = 0
