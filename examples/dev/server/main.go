// Command main is the web server of the example: it greets everybody, and those who know the password as admin.
package main

import (
	"crypto/subtle"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	log.SetFlags(0)
	http.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		log.Print("somebody came")
		fmt.Fprintln(w, os.Getenv("GREETING"))
	})
	http.HandleFunc("GET /admin", func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(password), []byte(os.Getenv("PASSWORD"))) != 1 {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		log.Printf("admin came with %s", password) // which nobody gets to see
		fmt.Fprintln(w, os.Getenv("GREETING")+", admin")
	})
	fmt.Println("listening on " + os.Getenv("PORT"))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
