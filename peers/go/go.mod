module example.invalid/cipherloom/go-peer

go 1.25.0

require (
	filippo.io/age v1.3.2
	github.com/tink-crypto/tink-go/v2 v2.9.0
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	filippo.io/hpke v0.4.0 // indirect
	filippo.io/nistec v0.0.4 // indirect
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/term v0.45.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

tool (
	filippo.io/age/cmd/age
	filippo.io/age/cmd/age-inspect
	filippo.io/age/cmd/age-keygen
	filippo.io/age/cmd/age-plugin-batchpass
)
