package local

import "github.com/athanor-dev/athanor"

// NewFile declares a file.
func NewFile(s *athanor.Stack, name string, p FileProps, opts ...athanor.Option) File {
	return athanor.Declare(s, fileKind, name, p, opts...)
}

// NewDirectory declares a folder and the files in it.
func NewDirectory(s *athanor.Stack, name string, p DirectoryProps, opts ...athanor.Option) Directory {
	return athanor.Declare(s, directoryKind, name, p, opts...)
}

// NewCommand declares a command that runs when its inputs change.
func NewCommand(s *athanor.Stack, name string, p CommandProps, opts ...athanor.Option) Command {
	return athanor.Declare(s, commandKind, name, p, opts...)
}

// NewValue declares a value.
func NewValue(s *athanor.Stack, name string, p ValueProps, opts ...athanor.Option) Value {
	return athanor.Declare(s, valueKind, name, p, opts...)
}

// NewProcess declares a process that runs as long as `athanor dev` does.
func NewProcess(s *athanor.Stack, name string, p ProcessProps, opts ...athanor.Option) Process {
	return athanor.Declare(s, processKind, name, p, opts...)
}
