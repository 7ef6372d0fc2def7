#!/usr/bin/env python3
"""Reads the event files of TensorBoard in a folder, with nothing but the standard library, and prints what is in them:
a line `version TEXT` or `start STEP` or `STEP TAG VALUE` for each event, in the order of the files. Fails if a record is
torn, or if a checksum is wrong.

  scripts/read_events.py FOLDER
"""
import os
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data, path):
    at = 0
    while at < len(data):
        head = data[at : at + 12]
        length, check = struct.unpack("<QI", head)
        assert masked(head[:8]) == check, f"{path}: wrong checksum of the length at byte {at}"
        message = data[at + 12 : at + 12 + length]
        (check,) = struct.unpack("<I", data[at + 12 + length : at + 16 + length])
        assert masked(message) == check, f"{path}: wrong checksum of the record at byte {at}"
        yield message
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(message):
    """The fields of a protobuf message: (number, value), a value as int, float or bytes."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(message, at)
        elif wire == 1:
            (value,) = struct.unpack("<d", message[at : at + 8])
            at += 8
        elif wire == 5:
            (value,) = struct.unpack("<f", message[at : at + 4])
            at += 4
        elif wire == 2:
            length, at = varint(message, at)
            value, at = message[at : at + length], at + length
            assert len(value) == length, "a field goes beyond its message"
        else:
            raise AssertionError(f"wire type {wire}")
        yield number, value


def show(message):
    event = dict(fields(message))
    assert event[1] > 1.6e9, "the time of an event is before 2020"
    step = event.get(2, 0)
    if 3 in event:
        print("version", event[3].decode())
    if 7 in event:
        assert dict(fields(event[7])) == {1: 1}, "the event is not the start of a session"
        print("start", step)
    if 5 in event:
        for number, value in fields(event[5]):
            assert number == 1
            scalar = dict(fields(value))
            print(step, scalar[1].decode(), repr(scalar[2]))


def main():
    folder = sys.argv[1]
    for name in sorted(os.listdir(folder)):
        if "tfevents" in name:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                for message in records(file.read(), path):
                    show(message)


main()
