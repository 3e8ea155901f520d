package main

// Keys and keysets: Tink's templates, and keys with parameters that no template has.

import (
	"bytes"
	"crypto/rand"
	"encoding/json"

	"google.golang.org/protobuf/proto"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	ctrpb "github.com/tink-crypto/tink-go/v2/proto/aes_ctr_hmac_streaming_go_proto"
	gcmpb "github.com/tink-crypto/tink-go/v2/proto/aes_gcm_hkdf_streaming_go_proto"
	commonpb "github.com/tink-crypto/tink-go/v2/proto/common_go_proto"
	hmacpb "github.com/tink-crypto/tink-go/v2/proto/hmac_go_proto"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
)

// gcm is a new key, not a template: tink-go reads and uses SHA-1 keys but makes none.
func gcm(mainKey, derived uint32, hash commonpb.HashType, segment uint32) *tinkpb.KeyData {
	return keyData("AesGcmHkdfStreamingKey", &gcmpb.AesGcmHkdfStreamingKey{
		KeyValue: random(mainKey),
		Params: &gcmpb.AesGcmHkdfStreamingParams{
			CiphertextSegmentSize: segment, DerivedKeySize: derived, HkdfHashType: hash},
	})
}

func ctr(mainKey, derived uint32, hash, tagHash commonpb.HashType, tag, segment uint32) *tinkpb.KeyData {
	return keyData("AesCtrHmacStreamingKey", &ctrpb.AesCtrHmacStreamingKey{
		KeyValue: random(mainKey),
		Params: &ctrpb.AesCtrHmacStreamingParams{
			CiphertextSegmentSize: segment, DerivedKeySize: derived, HkdfHashType: hash,
			HmacParams: &hmacpb.HmacParams{Hash: tagHash, TagSize: tag}},
	})
}

func keyData(message string, key proto.Message) *tinkpb.KeyData {
	value, err := proto.Marshal(key)
	check(err)
	return &tinkpb.KeyData{
		TypeUrl:         "type.googleapis.com/google.crypto.tink." + message,
		Value:           value,
		KeyMaterialType: tinkpb.KeyData_SYMMETRIC,
	}
}

func random(length uint32) []byte {
	secret := make([]byte, length)
	_, err := rand.Read(secret)
	check(err)
	return secret
}

const (
	sha1Type   = commonpb.HashType_SHA1
	sha256Type = commonpb.HashType_SHA256
	sha512Type = commonpb.HashType_SHA512
)

// Small segments: 64 bytes of AES-256-GCM hold 8, then 48 bytes; 80 of AES-128-CTR with 20-byte tags 36, then 60.
func aes256Gcm() *tinkpb.KeyData { return gcm(32, 32, sha256Type, 64) }
func aes128Ctr() *tinkpb.KeyData { return ctr(16, 16, sha256Type, sha1Type, 20, 80) }

func generate(name string, parameters *tinkpb.KeyTemplate) *keyset.Handle {
	handle, err := keyset.NewHandle(parameters)
	check(err)
	out.Keysets[name] = serialize(handle)
	return handle
}

// store makes a keyset of one key.
func store(name string, key *tinkpb.KeyData) *keyset.Handle {
	handle := read(&tinkpb.Keyset{PrimaryKeyId: 1, Key: []*tinkpb.Keyset_Key{entry(1, key)}})
	out.Keysets[name] = serialize(handle)
	return handle
}

func entry(id uint32, key *tinkpb.KeyData) *tinkpb.Keyset_Key {
	return &tinkpb.Keyset_Key{
		KeyData: key, KeyId: id, Status: tinkpb.KeyStatusType_ENABLED, OutputPrefixType: tinkpb.OutputPrefixType_RAW,
	}
}

func read(set *tinkpb.Keyset) *keyset.Handle {
	serialized, err := proto.Marshal(set)
	check(err)
	handle, err := insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(serialized)))
	check(err)
	return handle
}

func serialize(handle *keyset.Handle) json.RawMessage {
	text := &bytes.Buffer{}
	check(insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(text)))
	return text.Bytes()
}
