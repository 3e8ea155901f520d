// Command verify opens Cobblestone vectors with Go's standard library alone, written from c2sp.org/chunked-encryption.
//
// Run it in this folder: go run . ..      (or with the path of any file of the same form)
package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

const (
	saltLen  = 24
	chunkLen = 16<<10 + 16
)

type vector struct {
	Name         string `json:"name"`
	AEAD         string `json:"aead"`
	Key          string `json:"key"`
	Context      string `json:"context"`
	Valid        bool   `json:"valid"`
	PlaintextLen int    `json:"plaintext_len"`
	Ciphertext   []byte `json:"ciphertext"`
}

func main() {
	path := os.Args[1]
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "vectors.json")
	}
	text, err := os.ReadFile(path)
	check(err)
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	check(json.Unmarshal(text, &file))
	opened := 0
	for _, one := range file.Vectors {
		key, err := hex.DecodeString(one.Key)
		check(err)
		context, err := hex.DecodeString(one.Context)
		check(err)
		plaintext, err := open(one.AEAD, key, context, one.Ciphertext)
		if (err == nil) != one.Valid {
			log.Fatalf("%s: valid is %v, but: %v", one.Name, one.Valid, err)
		}
		if err == nil {
			if !bytes.Equal(plaintext, pattern(one.PlaintextLen)) {
				log.Fatalf("%s: opens to another text", one.Name)
			}
			opened++
		}
	}
	fmt.Printf("%s: %d open, %d are refused\n", filepath.Base(path), opened, len(file.Vectors)-opened)
}

func open(name string, inputKey, context, stream []byte) ([]byte, error) {
	if len(stream) < saltLen+32 {
		return nil, errors.New("shorter than salt and commitment")
	}
	info := "c2sp.org/chunked-encryption@v1+" + name + "\x00" + string(stream[:saltLen]) + string(context)
	keyLen := len(inputKey)
	derived, err := hkdf.Expand(sha512.New, inputKey, info, keyLen+12+32)
	check(err)
	if subtle.ConstantTimeCompare(derived[keyLen+12:], stream[saltLen:saltLen+32]) != 1 {
		return nil, errors.New("commitment differs")
	}
	block, err := aes.NewCipher(derived[:keyLen])
	check(err)
	aead, err := cipher.NewGCM(block)
	check(err)

	var plaintext []byte
	body := stream[saltLen+32:]
	for number := uint64(0); ; number++ {
		nonce := bytes.Clone(derived[keyLen : keyLen+12])
		low := binary.BigEndian.Uint64(nonce[4:]) ^ number
		binary.BigEndian.PutUint64(nonce[4:], low)
		chunk := body[:min(chunkLen, len(body))]
		body = body[len(chunk):]
		plaintext, err = aead.Open(plaintext, nonce, chunk, nil)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", number, err)
		}
		if len(chunk) < chunkLen {
			return plaintext, nil
		}
	}
}

func pattern(length int) []byte {
	text := make([]byte, length)
	for i := range text {
		text[i] = byte(i%251) ^ byte(i/251)
	}
	return text
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
