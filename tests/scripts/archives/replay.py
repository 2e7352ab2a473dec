"""Replays archives with pywb in this process. Each URL must be returned byte for byte.

replay.py ARCHIVE... < lines of: URL, a tab, the SHA-256 of its body in hex
"""
import hashlib
import os
import sys
import tempfile

from pywb.apps.frontendapp import FrontEndApp
from pywb.manager.manager import main as manager
from werkzeug.test import Client

paths = [os.path.abspath(path) for path in sys.argv[1:]]
wrong = 0
with tempfile.TemporaryDirectory() as room:
    os.chdir(room)
    archives = os.path.join('collections', 'all', 'archive')
    os.makedirs(archives)
    os.makedirs(os.path.join('collections', 'all', 'indexes'))
    for number, path in enumerate(paths):
        os.symlink(path, os.path.join(archives, f'{number}-{os.path.basename(path)}'))
    manager(['reindex', 'all'])
    app = FrontEndApp(config_file=None, custom_config={'collections_root': 'collections'})
    client = Client(app)
    for line in sys.stdin:
        url, digest = line.rstrip('\n').split('\t')
        # As archived, without a banner and with the original links.
        response = client.get('/all/id_/' + url)
        found = hashlib.sha256(response.data).hexdigest()
        if response.status_code != 200 or found != digest:
            wrong += 1
            print('wrong:', url, response.status, found)
print(f'{wrong} wrong' if wrong else 'replayed', flush=True)
# pywb's server runs in its own thread, which does not end.
os._exit(1 if wrong else 0)
