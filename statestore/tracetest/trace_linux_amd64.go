package tracetest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run starts a process and stays until it has ended, by itself or by an order. The environment, the folder and
// the standard files are those of attr. Processes that it starts in turn are not traced. The process cannot outlive
// a panic or the end of the test that watches.
func Run(argv []string, attr *os.ProcAttr, w Watch) (syscall.WaitStatus, error) {
	runtime.LockOSThread() // the kernel answers the thread that traces alone
	defer runtime.UnlockOSThread()
	own := *attr
	own.Sys = &syscall.SysProcAttr{Ptrace: true, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p, err := os.StartProcess(argv[0], argv, &own)
	if err != nil {
		return 0, err
	}
	defer p.Release()
	t := &tracer{Watch: w, pid: p.Pid, threads: map[int]*thread{}}
	defer t.end()
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &status, 0, nil); err != nil {
		return 0, fmt.Errorf("wait for the first stop: %w", err)
	}
	if err := unix.PtraceSetOptions(t.pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return 0, err
	}
	if t.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", t.pid)); err != nil {
		return 0, err
	}
	if w.Started != nil {
		w.Started(t.pid)
	}
	t.threads[t.pid] = &thread{}
	if err := unix.PtraceSyscall(t.pid, 0); err != nil {
		return 0, err
	}
	return t.follow()
}

// tracer follows one process with all its threads.
type tracer struct {
	Watch
	pid     int
	mem     *os.File
	threads map[int]*thread
	steps   int
	ended   bool
}

// thread is what is known of a thread between two stops.
type thread struct {
	op   *Op // under way
	fail syscall.Errno
}

// end leaves no process behind, whatever happened.
func (t *tracer) end() {
	if t.mem != nil {
		_ = t.mem.Close() // it was only read
	}
	for !t.ended {
		_ = unix.Kill(t.pid, unix.SIGKILL)
		var status unix.WaitStatus
		tid, err := t.wait(&status)
		t.ended = tid == t.pid && (status.Exited() || status.Signaled()) || err != nil && !errors.Is(err, unix.EINTR)
	}
}

// wait waits for a thread of the process. They are a group of their own, so that other processes that
// were started by this thread are left to those that wait for them.
func (t *tracer) wait(status *unix.WaitStatus) (int, error) {
	return unix.Wait4(-t.pid, status, unix.WALL|unix.WNOTHREAD, nil)
}

// follow lets the process run from stop to stop.
func (t *tracer) follow() (syscall.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		tid, err := t.wait(&status)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, fmt.Errorf("wait: %w", err)
		case status.Exited(), status.Signaled():
			delete(t.threads, tid)
			if tid == t.pid {
				t.ended = true
				return syscall.WaitStatus(status), nil
			}
			continue
		}
		signal, err := t.stopped(tid, status)
		if err == nil {
			err = unix.PtraceSyscall(tid, signal)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // a thread that was killed meanwhile says so next
			return 0, err
		}
	}
}

// stopped handles one stop of a thread and gives the signal that it is to get.
func (t *tracer) stopped(tid int, status unix.WaitStatus) (signal int, err error) {
	const inSystemCall = unix.SIGTRAP | 0x80
	th := t.threads[tid]
	if th == nil {
		t.threads[tid] = &thread{}
		if status.StopSignal() == unix.SIGSTOP {
			return 0, nil // how the life of a new thread begins
		}
		th = t.threads[tid]
	}
	switch stop := status.StopSignal(); {
	case stop == inSystemCall:
		return 0, t.systemCall(tid, th)
	case stop == unix.SIGTRAP && status.TrapCause() > 0:
		return 0, nil // it made a thread
	default:
		return int(stop), nil
	}
}

// callInfo is the kernel's struct ptrace_syscall_info.
type callInfo struct {
	op     uint8
	_      [3]byte
	_      uint32
	_, _   uint64
	number uint64 // at the entry; at the exit the result
	args   [6]uint64
	_      uint64
}

// systemCall handles the entry into a system call, or the exit from it.
func (t *tracer) systemCall(tid int, th *thread) error {
	var info callInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return errno
	}
	switch info.op {
	case unix.PTRACE_SYSCALL_INFO_ENTRY:
		return t.entered(tid, th, info)
	case unix.PTRACE_SYSCALL_INFO_EXIT:
		return t.left(tid, th, int64(info.number))
	}
	return nil
}

func (t *tracer) entered(tid int, th *thread, info callInfo) error {
	var order Order
	if t.steps++; t.Step != nil {
		order = t.Step(t.steps)
	}
	*th = thread{}
	if !order.Kill {
		op, ok, err := t.read(tid, info)
		if err != nil {
			return err
		}
		if ok {
			if th.op = &op; t.Before != nil {
				order = t.Before(op)
			}
		}
	}
	switch {
	case order.Kill:
		return unix.Kill(t.pid, unix.SIGKILL) // a call that was not begun is not made any more
	case order.Fail != 0:
		th.fail = order.Fail
		return setRegisters(tid, func(r *unix.PtraceRegs) { r.Orig_rax = ^uint64(0) }) // no such call: nothing happens
	}
	return nil
}

func (t *tracer) left(tid int, th *thread, result int64) error {
	op, fail := th.op, th.fail
	*th = thread{}
	if fail != 0 {
		return setRegisters(tid, func(r *unix.PtraceRegs) { r.Rax = uint64(-int64(fail)) })
	}
	if op == nil || result < 0 || t.After == nil {
		return nil
	}
	switch op.Kind {
	case Write:
		op.Data = op.Data[:min(int64(len(op.Data)), result)]
	case Create:
		op.Inode = inodeOf(fmt.Sprintf("/proc/%d/fd/%d", t.pid, result), os.Stat)
	case MakeDir, Link:
		op.Inode = inodeOf(op.Path, os.Lstat)
	}
	t.After(*op)
	return nil
}

func setRegisters(tid int, change func(*unix.PtraceRegs)) error {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return err
	}
	change(&r)
	return unix.PtraceSetRegs(tid, &r)
}
