package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// bind lets a command end with this process, however that ends. It keeps the attributes that are set.
func bind(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// parent starts a child as the tests do, says so, and waits for ever.
func parent() {
	child := exec.Command("sleep", "1000")
	child.Stdout = os.Stdout
	bind(child)
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(child.Process.Pid)
	select {}
}

// The end of the tests ends what they have started, also by a signal: the pipe that a child holds is closed.
func TestChildrenEndWithTheTests(t *testing.T) {
	cmd := limited(t, "athanor-parent")
	bind(cmd)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if _, err := said.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, said); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Errorf("the parent ended by itself: %v", err)
	}
}
