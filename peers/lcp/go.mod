// Readium's lcpencrypt, built from its module: `go install` refuses it for its replace directives.
module invalid.example/cipherloom/lcp

go 1.24.0

require github.com/readium/readium-lcp-server v1.14.0

require (
	github.com/abbot/go-http-auth v0.4.0 // indirect
	github.com/gorilla/mux v1.8.1 // indirect
	github.com/jeffbmartinez/delay v0.0.0-20150608194421-e1b689d78b33 // indirect
	github.com/jtacoma/uritemplates v1.0.0 // indirect
	github.com/rs/cors v1.11.1 // indirect
	github.com/urfave/negroni v1.0.0 // indirect
	golang.org/x/crypto v0.45.0 // indirect
	golang.org/x/net v0.47.0 // indirect
	golang.org/x/text v0.31.0 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
)
