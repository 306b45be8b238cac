// Package tracetest runs a real process, unchanged, one system call at a time, and knows what a disk may hold
// after a power cut. It does not know what the process is or what its files mean.
//
// [Run] shows each operation on files before it happens and after it succeeded. A watcher may kill the
// process right there, or make the operation fail. So "at every write" and "between the sync and the rename" are
// places that a test can name and repeat, without a timer.
//
// [Disk] takes the operations that happened and gives the folder back as it may be found after the power
// went away: what was synced is there, what was not may be, in any combination of sectors.
//
// The database of the bolt store writes through a private field, so that no file of ours could be put under
// it. The alternatives were a patched copy of its module, which would prove the copy, and comparing images of the
// file, which cannot see a missing sync. System calls are what a disk gets to see, of any program.
package tracetest
