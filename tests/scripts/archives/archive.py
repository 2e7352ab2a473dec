"""Serves a WARC or WACZ as a web archive with a TimeGate, until standard input ends. Prints the port.

archive.py ARCHIVE
"""
import os
import sys
import tempfile

from pywb.apps.frontendapp import FrontEndApp
from pywb.manager.manager import main as manager
from gevent.os import tp_read
from gevent.pywsgi import WSGIServer

path = os.path.abspath(sys.argv[1])
room = tempfile.TemporaryDirectory()
os.chdir(room.name)
said = sys.stdout
sys.stdout = sys.stderr
manager(['init', 'all'])
manager(['add', *(['--unpack-wacz'] if path.endswith('.wacz') else []), 'all', path])
app = FrontEndApp(config_file=None, custom_config={
    'collections_root': 'collections',
    'framed_replay': False,
    'redirect_to_exact': True,
    'enable_memento': True,
})
server = WSGIServer(('127.0.0.1', 0), app, log=None)
server.start()
print(server.server_port, file=said, flush=True)
while tp_read(0, 4096):
    pass
room.cleanup()
# The server of pywb runs in its own thread, which does not end.
os._exit(0)
