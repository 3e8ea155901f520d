#!/usr/bin/env bash
# Writes vectors.json: what `openssl enc` makes of the pattern, with a given key and IV, and with a passphrase.
# The salts are random: every run gives other bytes that mean the same. Run it anywhere; it writes beside itself.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pattern LENGTH: p[i] = (i mod 251) xor (i div 251 mod 256)
pattern() {
    local i=0
    while ((i < $1)); do
        printf "\\x$(printf %02x $(((i % 251) ^ (i / 251 & 255))))"
        i=$((i + 1))
    done
}

hex() { od -An -v -tx1 | tr -d ' \n'; }

first=true
vector() { # NAME and further JSON fields, ciphertext on standard input
    $first || printf ',\n'
    first=false
    printf '  {%s, "ciphertext": "%s"}' "$1" "$(openssl base64 -A)"
}

lengths="0 1 15 16 17 100 1000"
for length in $lengths; do pattern "$length" >"$work/$length"; done

{
    printf '{\n "origin": "%s",\n "raw": [\n' "$(openssl version)"
    for bits in 128 192 256; do
        key=$(openssl rand $((bits / 8)) | hex)
        iv=$(openssl rand 16 | hex)
        for mode in cbc ctr; do
            for length in $lengths; do
                openssl enc "-aes-$bits-$mode" -K "$key" -iv "$iv" <"$work/$length" >"$work/stream"
                vector "\"cipher\": \"aes-$bits-$mode\", \"key\": \"$key\", \"iv\": \"$iv\", \"plaintext_len\": $length" <"$work/stream"
            done
        done
    done
    # A counter that runs over: the carry goes through all 16 bytes.
    key=$(openssl rand 16 | hex)
    iv=ffffffffffffffffffffffffffffffff
    openssl enc -aes-128-ctr -K "$key" -iv $iv <"$work/100" >"$work/stream"
    vector "\"cipher\": \"aes-128-ctr\", \"key\": \"$key\", \"iv\": \"$iv\", \"plaintext_len\": 100" <"$work/stream"

    printf '\n ],\n "passphrase": [\n'
    first=true
    for cipher in aes-{128,192,256}-{cbc,ctr}; do
        for length in 0 16 100; do
            openssl enc "-$cipher" -pbkdf2 -salt -pass "pass:a passphrase" <"$work/$length" >"$work/stream"
            vector "\"cipher\": \"$cipher\", \"passphrase\": \"a passphrase\", \"iterations\": 10000, \"plaintext_len\": $length" <"$work/stream"
        done
        openssl enc "-$cipher" -pbkdf2 -iter 1 -salt -pass "pass:é" <"$work/17" >"$work/stream"
        vector "\"cipher\": \"$cipher\", \"passphrase\": \"é\", \"iterations\": 1, \"plaintext_len\": 17" <"$work/stream"
    done
    # A passphrase file of several lines: the first one counts, its white space and carriage return too.
    printf ' first line \r\nsecond line\n' >"$work/pass"
    openssl enc -aes-256-cbc -pbkdf2 -iter 20 -salt -pass "file:$work/pass" <"$work/100" >"$work/stream"
    vector '"cipher": "aes-256-cbc", "passphrase_file": " first line \r\nsecond line\n", "passphrase": " first line \r", "iterations": 20, "plaintext_len": 100' <"$work/stream"
    printf '\n ]\n}\n'
} >vectors.json
