"""Adds a WACZ to a pywb collection like `wb-manager add --unpack-wacz`, and replays it from its own index.

unpack.py ARCHIVE < lines of: URL, a tab, the SHA-256 of its body in hex
"""
import hashlib
import os
import sys
import tempfile

from pywb.apps.frontendapp import FrontEndApp
from pywb.manager.manager import main as manager
from werkzeug.test import Client

path = os.path.abspath(sys.argv[1])
wrong = 0
with tempfile.TemporaryDirectory() as room:
    os.chdir(room)
    manager(['init', 'all'])
    manager(['add', '--unpack-wacz', 'all', path])
    app = FrontEndApp(config_file=None, custom_config={'collections_root': 'collections'})
    client = Client(app)
    for line in sys.stdin:
        url, digest = line.rstrip('\n').split('\t')
        response = client.get('/all/id_/' + url)
        found = hashlib.sha256(response.data).hexdigest()
        if response.status_code != 200 or found != digest:
            wrong += 1
            print('wrong:', url, response.status, found)
print(f'{wrong} wrong' if wrong else 'replayed', flush=True)
# pywb's server runs in its own thread, which does not end.
os._exit(1 if wrong else 0)
