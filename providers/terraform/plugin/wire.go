package plugin

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// maxMessage bounds an answer, in bytes: the schemas of the largest provider have tens of millions.
const maxMessage = 256 << 20

// unimplemented is the status of a call that the other side does not have.
const unimplemented = "12"

// wire makes calls by gRPC, which is a request of HTTP/2 with a message before which its length stands, and a status in what trails the
// answer. That much of it a provider takes.
type wire struct{ transport *http.Transport }

// newWire is a connection to a socket, made when it is first needed.
func newWire(socket string) *wire {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &wire{&http.Transport{
		Protocols: protocols, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
}

func (w *wire) close() { w.transport.CloseIdleConnections() }

// statusError is what the other side says of a call that it did not carry out.
type statusError struct{ code, text string }

func (e *statusError) Error() string { return e.text + " (status " + e.code + ")" }

// call makes one call. Either message may be nil. An error that is no *statusError is one of the connection.
func (w *wire) call(ctx context.Context, method string, request, answer proto.Message) error {
	res, err := w.open(ctx, method, request)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	message, err := readMessage(res.Body)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil { // what trails comes after the end
		return err
	}
	if err := status(res); err != nil {
		return err
	}
	if answer == nil {
		return nil
	}
	return proto.Unmarshal(message, answer)
}

// open sends a request and returns the answer when it begins.
func (w *wire) open(ctx context.Context, method string, request proto.Message) (*http.Response, error) {
	var data []byte
	if request != nil {
		var err error
		if data, err = proto.Marshal(request); err != nil {
			return nil, err
		}
	}
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...) //nolint:gosec // a request is no gigabytes
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider"+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // a call is made once
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	res, err := w.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, &statusError{code: unimplemented, text: res.Status}
	}
	return res, nil
}

// readMessage reads one message of a body, [io.EOF] where there is none.
func readMessage(body io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(body, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || size > maxMessage {
		return nil, &statusError{code: "13", text: fmt.Sprintf("an answer of %d bytes, packed %d", size, head[0])}
	}
	data := make([]byte, size)
	_, err := io.ReadFull(body, data)
	return data, err
}

// status is what an answer says of its call: in what trails it, or at once where there is no message.
func status(res *http.Response) error {
	from := res.Trailer
	if from.Get("Grpc-Status") == "" {
		from = res.Header
	}
	switch code := from.Get("Grpc-Status"); code {
	case "0":
		return nil
	case "":
		return io.ErrUnexpectedEOF
	default:
		text := from.Get("Grpc-Message")
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
		return &statusError{code, text}
	}
}

// printed hands on what the provider's code prints, which comes over the connection, until that ends.
func (w *wire) printed(to io.Writer) {
	res, err := w.open(context.Background(), "/plugin.GRPCStdio/StreamStdio", nil) //nolint:forbidigo // it ends with the connection
	if err != nil {
		return
	}
	defer res.Body.Close()
	for {
		message, err := readMessage(res.Body)
		if err != nil {
			return
		}
		_, _ = to.Write(stdioData(message))
	}
}

// stdioData is the data of a message of the stream: its second field.
func stdioData(message []byte) []byte {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if number == 2 && kind == protowire.BytesType {
			data, _ := protowire.ConsumeBytes(message)
			return data
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil
		}
		message = message[n:]
	}
	return nil
}
