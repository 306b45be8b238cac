package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
)

// relay passes connections on, until it is killed: its arguments are FROM=TO, addresses of TCP, or paths of sockets.
func relay() {
	for _, arg := range os.Args[1:] {
		from, to, _ := strings.Cut(arg, "=")
		l, err := net.Listen(network(from), from)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		go passOn(l, to)
	}
	fmt.Println("ready")
	select {}
}

// network is that of an address.
func network(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix"
	}
	return "tcp"
}

// passOn connects each caller of a listener with an address, until the listener is closed.
func passOn(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial(network(to), to)
			if err != nil {
				return
			}
			defer out.Close()
			var both sync.WaitGroup
			both.Go(func() { _, _ = io.Copy(out, in); end(out) })
			both.Go(func() { _, _ = io.Copy(in, out); end(in) })
			both.Wait()
		}()
	}
}

// end says that nothing more is sent.
func end(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
