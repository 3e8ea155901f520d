// Licenses as Readium's own packages make and verify them (readium-lcp-server: license, sign).
//
//	licenses canon                                  canonical form of the JSON on standard input
//	licenses make CERT KEY PASSPHRASE-FILE          a signed license of the content key (base64) on standard input
//	licenses verify LICENSE                         whether the license's signature is its certificate's
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"

	"github.com/readium/readium-lcp-server/config"
	"github.com/readium/readium-lcp-server/index"
	"github.com/readium/readium-lcp-server/license"
	"github.com/readium/readium-lcp-server/sign"
)

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	switch os.Args[1] {
	case "canon":
		decoder := json.NewDecoder(os.Stdin)
		decoder.UseNumber()
		var value any
		check(decoder.Decode(&value))
		must(os.Stdout.Write(must(sign.Canon(value))))
	case "make":
		issue(os.Args[2], os.Args[3], os.Args[4])
	case "verify":
		verify(os.Args[2])
	default:
		check(fmt.Errorf("unknown command %q", os.Args[1]))
	}
}

func issue(certificate, key, passphraseFile string) {
	config.Config.Profile = "basic"
	pair := must(tls.LoadX509KeyPair(certificate, key))
	contentKey := must(base64.StdEncoding.DecodeString(strings.TrimSpace(string(must(io.ReadAll(os.Stdin))))))
	passphrase := strings.TrimSuffix(string(must(os.ReadFile(passphraseFile))), "\n")
	userKey := sha256.Sum256([]byte(passphrase))
	pages := int32(7)
	document := license.License{Provider: "https://provider.example.org"}
	license.Initialize("content", &document)
	check(license.SetLicenseProfile(&document))
	document.Encryption.UserKey = license.UserKey{
		Key:   license.Key{Algorithm: "http://www.w3.org/2001/04/xmlenc#sha256"},
		Hint:  "<the usual> & \"more\" \u2028 é 😀",
		Value: userKey[:],
	}
	document.User = license.UserInfo{ID: "reader", Email: "reader@example.org", Name: "Ünal", Encrypted: []string{"email", "name"}}
	document.Rights = &license.UserRights{Print: &pages}
	document.Links = []license.Link{
		{Rel: "publication", Href: "https://provider.example.org/book", Type: "application/epub+zip"},
		{Rel: "hint", Href: "https://provider.example.org/hint", Type: "text/html"},
	}
	check(license.EncryptLicenseFields(&document, index.Content{ID: "content", EncryptionKey: contentKey}))
	check(license.SignLicense(&document, &pair))
	must(os.Stdout.Write(must(json.MarshalIndent(&document, "", "\t"))))
}

// A license server that reads a license into its types and writes it again must get what was signed.
func verify(path string) {
	var document license.License
	check(json.Unmarshal(must(os.ReadFile(path)), &document))
	signature := document.Signature
	document.Signature = nil
	hash := sha256.Sum256(must(sign.Canon(document)))
	switch key := must(x509.ParseCertificate(signature.Certificate)).PublicKey.(type) {
	case *rsa.PublicKey:
		check(rsa.VerifyPKCS1v15(key, crypto.SHA256, hash[:], signature.Value))
	case *ecdsa.PublicKey:
		half := len(signature.Value) / 2
		r, s := new(big.Int).SetBytes(signature.Value[:half]), new(big.Int).SetBytes(signature.Value[half:])
		if half != 32 || !ecdsa.Verify(key, hash[:], r, s) {
			check(fmt.Errorf("the ECDSA signature does not verify"))
		}
	default:
		check(fmt.Errorf("unknown key"))
	}
	fmt.Println("verified")
}
