// Package traces receives the OpenTelemetry traces of the built binary, and reads them by the published messages.
//
// It knows the built binary alone, which $ATHANOR_BINARY names, and the protocol buffers of OpenTelemetry.
package traces
