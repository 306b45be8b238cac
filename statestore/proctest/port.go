package proctest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports that [Port] gives lie below those that systems choose for connections and listeners by themselves (from 32768 on with
// Linux, from 49152 on elsewhere).
const firstPort, ports = 10000, 10000

// Port returns a port of this machine for a program that must be told one. Nobody listens at it, and nobody who asks the system for
// any free port gets it before the program listens. Of two that ask for one here the same is given to one in ten thousand.
func Port() (string, error) {
	var errs []error
	for range 20 {
		port := strconv.Itoa(firstPort + rand.IntN(ports))
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			return port, listener.Close()
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}
