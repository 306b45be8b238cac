//go:build !linux

package proctest

import "os/exec"

// watch runs its arguments until its standard input ends, which it does when
// the process that holds the other end of the pipe has ended for any reason.
const watch = `"$@" <&- & child=$!; cat >/dev/null; kill -9 $child 2>/dev/null; wait $child 2>/dev/null`

// StartBound starts cmd under a shell that ends it together with this process.
// The channel closes when both have ended.
func StartBound(cmd *exec.Cmd) (<-chan struct{}, error) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil, err
	}
	cmd.Args = append([]string{"sh", "-c", watch, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = shell
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return StartFree(cmd)
}
