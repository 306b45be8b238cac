//go:build !unix

package durable

const withoutWaiting = 0
