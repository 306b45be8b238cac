// Command hello is a function of AWS Lambda in an image that holds nothing else: it answers each call by a greeting.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
package main

import (
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	calls := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	for {
		next, err := http.Get(calls + "next")
		if err != nil {
			log.Fatal(err)
		}
		next.Body.Close()
		done, err := http.Post(calls+next.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", "application/json", strings.NewReader(`"hello"`))
		if err != nil {
			log.Fatal(err)
		}
		done.Body.Close()
	}
}
