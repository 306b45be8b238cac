package proctest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// The ports that [Port] gives lie below those that systems choose for connections and listeners by themselves (from 32768 on with
// Linux, from 49152 on elsewhere).
const firstPort, ports = 10000, 10000

// Port returns a port of this machine for a program that must be told one. Nobody listens at it, and nobody who asks the system for
// any free port gets it before the program listens. Of two that ask for one here the same is given to one in ten thousand.
//
// It asks by connecting. If it listened itself, a process that another goroutine starts at that moment would hold the port until it
// executes its program.
func Port() (string, error) {
	for range 20 {
		port := strconv.Itoa(firstPort + rand.IntN(ports))
		conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), time.Second)
		if err != nil {
			return port, nil
		}
		conn.Close()
	}
	return "", fmt.Errorf("somebody listens at each of 20 ports from %d on", firstPort)
}
