"""Speaks with a WebSocket through the proxy of the environment, and prints what it receives.

websocket.py URL MESSAGE...

Each message is sent as text, and the next message of the server is awaited. `ping` sends a ping first, and
`long` is a binary message of 70,000 bytes in two frames. At the end the client closes the connection.
"""
import base64
import os
import socket
import ssl
import struct
import sys
from urllib.parse import urlsplit

url, messages = urlsplit(sys.argv[1]), sys.argv[2:]
proxy = urlsplit(os.environ['https_proxy'])
port = url.port or 443
raw = socket.create_connection((proxy.hostname, proxy.port), timeout=60)


def head(stream):
    found = b''
    while not found.endswith(b'\r\n\r\n'):
        byte = stream.recv(1)
        if not byte:
            sys.exit(f'the connection ended after {found!r}')
        found += byte
    return found.decode().split('\r\n')


raw.sendall(f'CONNECT {url.hostname}:{port} HTTP/1.1\r\nHost: {url.hostname}:{port}\r\n\r\n'.encode())
answer = head(raw)[0]
if ' 200' not in answer:
    sys.exit(answer)
trusted = ssl.create_default_context(cafile=os.environ['SSL_CERT_FILE'])
stream = trusted.wrap_socket(raw, server_hostname=url.hostname)
key = base64.b64encode(os.urandom(16)).decode()
stream.sendall((f'GET {url.path} HTTP/1.1\r\nHost: {url.hostname}:{port}\r\nConnection: Upgrade\r\n'
                f'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n'
                'Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n').encode())
fields = head(stream)
print(fields[0].split(' ')[1])
if ' 101' not in fields[0]:
    sys.exit(fields[0])
print(sorted(line for line in fields[1:] if line.lower().startswith('sec-websocket-protocol')))
if any(line.lower().startswith('sec-websocket-extensions') for line in fields):
    sys.exit('compression was accepted')


def exactly(count):
    found = b''
    while len(found) < count:
        piece = stream.recv(count - len(found))
        if not piece:
            sys.exit('the connection ended')
        found += piece
    return found


def send(first, data):
    length = (struct.pack('!B', 0x80 | len(data)) if len(data) < 126
              else struct.pack('!BH', 0x80 | 126, len(data)))
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
    stream.sendall(bytes([first]) + length + mask + masked)


def frame():
    first, second = exactly(2)
    length = second & 0x7f
    if length == 126:
        length, = struct.unpack('!H', exactly(2))
    elif length == 127:
        length, = struct.unpack('!Q', exactly(8))
    return first, exactly(length)


def receive():
    first, data = frame()
    last = first
    while not last & 0x80:
        last, more = frame()
        data += more
    return first & 15, data


def show(opcode, data):
    print(opcode, len(data), data[:40])


for message in messages:
    if message == 'ping':
        send(0x89, b'are you there')
        opcode, data = receive()
        print('pong' if (opcode, data) == (10, b'are you there') else (opcode, data))
        continue
    if message == 'long':
        send(0x02, b'x' * 35_000)
        send(0x80, b'y' * 35_000)
    else:
        send(0x81, message.encode())
    show(*receive())
send(0x88, struct.pack('!H', 1000) + b'bye')
show(*receive())
