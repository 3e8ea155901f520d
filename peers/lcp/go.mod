// Readium's lcpencrypt, built from its module: `go install` refuses it for its replace directives.
module invalid.example/cipherloom/lcp

go 1.24.0

require github.com/readium/readium-lcp-server v1.14.0
