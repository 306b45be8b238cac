package reconcile

import (
	"context"
	"errors"
)

// ErrNobody says that there is nobody to answer a question: no terminal, or a program that asks nothing.
var ErrNobody = errors.New("there is no terminal to ask at")

type promptKey struct{}

// WithPrompt gives the calls made under ctx somebody to ask: ask shows a question and returns the answer. It may be called from
// many goroutines.
func WithPrompt(ctx context.Context, ask func(question string) (string, error)) context.Context {
	return context.WithValue(ctx, promptKey{}, ask)
}

// Prompt asks the user of ctx for something that no file holds, such as the code of a device. It returns [ErrNobody] where nobody
// can be asked.
func Prompt(ctx context.Context, question string) (string, error) {
	ask, ok := ctx.Value(promptKey{}).(func(string) (string, error))
	if !ok {
		return "", ErrNobody
	}
	return ask(question)
}
