#!/usr/bin/env python3
"""MongoDB's own library beside our cells of client-side field level encryption.

    pip install pymongocrypt pymongo
    csfle.py vectors > csfle.json        cells that libmongocrypt made
    csfle.py decrypt < CELLS             one JSON text a cell: the value that libmongocrypt finds in it

CELLS is one cell a line, in hexadecimal digits. The key is the one of csfle.json. No server is asked.
"""

import json
import sys
import uuid

import bson
from bson.binary import Binary, UuidRepresentation
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongocrypt.binding import libmongocrypt_version
from pymongocrypt.mongocrypt import MongoCryptOptions
from pymongocrypt.synchronous.explicit_encrypter import ExplicitEncrypter
from pymongocrypt.synchronous.state_machine import MongoCryptCallback

DATA_KEY = bytes(range(96))
ALGORITHMS = {
    "deterministic": "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic",
    "random": "AEAD_AES_256_CBC_HMAC_SHA_512-Random",
}
VALUES = [
    ("VAR_STRING", 253, value, value.encode())
    for value in ["", "a", "BARBARBAR", "exactly eleven", "ünïcödé", "x" * 24, "y" * 500]
] + [
    ("BLOB", 252, Binary(value), value)
    for value in [b"", b"\0", bytes(range(100)), bytes(1000)]
] + [
    ("LONG", 3, value, str(value).encode()) for value in [0, -1, 17, 2**31 - 1, -(2**31)]
] + [
    ("LONGLONG", 8, bson.int64.Int64(value), str(value).encode()) for value in [0, -9, 2**63 - 1, -(2**63)]
]


class Vault(MongoCryptCallback):
    """A key vault of one key, in memory."""

    def __init__(self):
        self.key = None

    def fetch_keys(self, filter):
        yield bson.encode(self.key)

    def insert_data_key(self, data_key):
        self.key = bson.decode(data_key, CodecOptions(uuid_representation=UuidRepresentation.UNSPECIFIED))
        return self.key["_id"]

    def bson_encode(self, doc):
        return bson.encode(doc)

    def kms_request(self, kms_context):
        raise NotImplementedError

    def collection_info(self, database, filter):
        raise NotImplementedError

    def mark_command(self, database, cmd):
        raise NotImplementedError

    def close(self):
        pass


def open_library(key_id=None):
    vault = Vault()
    options = MongoCryptOptions({"local": {"key": bytes(96)}})
    encrypter = ExplicitEncrypter(vault, options)
    made = encrypter.create_data_key("local", key_material=DATA_KEY)
    if key_id is not None:
        vault.key["_id"] = Binary(key_id, 4)
        made = vault.key["_id"]
    return encrypter, Binary(bytes(made), 4)


def vectors():
    key_id = uuid.UUID("00112233-4455-4677-8899-aabbccddeeff").bytes
    encrypter, key = open_library(key_id)
    cells = []
    for mode, algorithm in ALGORITHMS.items():
        for _, kind, value, plaintext in VALUES:
            encrypted = encrypter.encrypt(bson.encode({"v": value}), algorithm, key_id=bytes(key))
            cell = bson.decode(encrypted)["v"]
            assert cell.subtype == 6
            cells.append({"mode": mode, "kind": kind, "plaintext": plaintext.hex(), "cell": bytes(cell).hex()})
    print("{")
    print(f' "made_by": "csfle.py with libmongocrypt {libmongocrypt_version()}",')
    print(f' "data_key": "{DATA_KEY.hex()}",')
    print(f' "key_id": "{key_id.hex()}",')
    print(' "cells": [\n  ' + ",\n  ".join(json.dumps(cell) for cell in cells) + "\n ]\n}")


def decrypt():
    encrypter, _ = open_library(uuid.UUID("00112233-4455-4677-8899-aabbccddeeff").bytes)
    for line in sys.stdin:
        document = bson.encode({"v": Binary(bytes.fromhex(line.strip()), 6)})
        value = bson.decode(encrypter.decrypt(document))["v"]
        if isinstance(value, bytes):
            value = {"binary": value.hex()}
        print(json.dumps(value))


if __name__ == "__main__":
    {"vectors": vectors, "decrypt": decrypt}[sys.argv[1]]()
