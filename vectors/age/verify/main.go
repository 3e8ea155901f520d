// Opens every file of the testkit with Go's age and compares the verdict and the payload with what the file says.
package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
)

func main() {
	files, err := filepath.Glob(filepath.Join(os.Args[1], "testkit", "*"))
	check(err)
	for _, path := range files {
		if problem := verify(path); problem != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, problem)
			os.Exit(1)
		}
	}
	if len(files) == 0 {
		fmt.Fprintln(os.Stderr, "no vectors")
		os.Exit(1)
	}
	fmt.Printf("age: %d vectors\n", len(files))
}

func verify(path string) error {
	contents, err := os.ReadFile(path)
	check(err)
	head, file, _ := bytes.Cut(contents, []byte("\n\n"))
	wanted := map[string]string{}
	var identities []age.Identity
	for _, line := range strings.Split(string(head), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		wanted[key] = value
		switch key {
		case "identity":
			parsed, err := age.ParseIdentities(strings.NewReader(value))
			check(err)
			identities = append(identities, parsed...)
		case "passphrase":
			identity, err := age.NewScryptIdentity(value)
			check(err)
			identities = append(identities, identity)
		}
	}
	if len(identities) == 0 {
		identity, err := age.GenerateX25519Identity()
		check(err)
		identities = append(identities, identity)
	}
	if wanted["compressed"] == "zlib" {
		reader, err := zlib.NewReader(bytes.NewReader(file))
		check(err)
		file, err = io.ReadAll(reader)
		check(err)
	}
	var source io.Reader = bytes.NewReader(file)
	if wanted["armored"] == "yes" {
		source = armor.NewReader(source)
	}
	plaintext, failed, inHeader := open(source, identities)
	if (failed == nil) != (wanted["expect"] == "success") {
		return fmt.Errorf("expected %s, and got %v", wanted["expect"], failed)
	}
	var armorError *armor.Error
	if errors.As(failed, &armorError) != (wanted["expect"] == "armor failure") {
		return fmt.Errorf("expected %s, and got %v", wanted["expect"], failed)
	}
	if payload, there := wanted["payload"]; there {
		hash := sha256.Sum256(plaintext)
		if inHeader || hex.EncodeToString(hash[:]) != payload {
			return fmt.Errorf("another payload (%v)", failed)
		}
	}
	return nil
}

// open returns what was released, why it ended, and whether that was before the payload.
func open(source io.Reader, identities []age.Identity) ([]byte, error, bool) {
	reader, err := age.Decrypt(source, identities...)
	if err != nil {
		return nil, err, true
	}
	plaintext, err := io.ReadAll(reader)
	return plaintext, err, false
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
