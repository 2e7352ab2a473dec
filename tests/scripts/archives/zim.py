"""Converts a WARC with warc2zim, and reads the result from kiwix-serve. Each URL must be returned with its body.

zim.py KIWIX-SERVE ARCHIVE MAIN-URL < lines of: URL, a tab, the body in base64

After an empty line, it prints the port, and goes on until standard input ends. warc2zim puts a script into pages, so the body of a page must be the end of the response.
"""
import base64
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PATIENCE = 60


def fetch(url):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=PATIENCE) as response:
        return response.read()


def served(base):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return fetch(base + '/')
        except urllib.error.URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


server, archive, main_url = sys.argv[1:]
wrong = 0
with tempfile.TemporaryDirectory() as room:
    converter = os.path.join(os.path.dirname(sys.executable), 'warc2zim')
    command = [converter, '--name', 'site', '--output', room, '--zim-file', 'site.zim', '--url', main_url,
               '--title', 'Site', '--lang', 'eng', os.path.abspath(archive)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=10 * PATIENCE)
    zim = os.path.join(room, 'site.zim')
    if made.returncode != 0 or not os.path.exists(zim):
        sys.exit(f'warc2zim: {made.returncode}\n{made.stdout}\n{made.stderr}')
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    kiwix = subprocess.Popen([server, '-i', '127.0.0.1', '-p', str(port), zim], stdout=subprocess.DEVNULL)
    try:
        base = f'http://127.0.0.1:{port}'
        served(base)
        for line in sys.stdin:
            if line == '\n':
                print(port, flush=True)
                sys.stdin.read()
                break
            url, body = line.rstrip('\n').split('\t')
            name = urllib.request.quote(re.sub('^https?://', '', url))
            try:
                found = fetch(f'{base}/raw/site/content/A/{name}')
            except urllib.error.HTTPError as error:
                found = str(error).encode()
            body = base64.b64decode(body)
            end = body.split(b'<head>', 1)[-1]
            if not found.endswith(end) or not end:
                wrong += 1
                print('wrong:', url, found[:500])
    finally:
        kiwix.terminate()
        kiwix.wait()
print(f'{wrong} wrong' if wrong else 'served', flush=True)
sys.exit(1 if wrong else 0)
