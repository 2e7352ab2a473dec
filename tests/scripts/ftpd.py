"""An FTP server: ftpd.py DIRECTORY. Prints its port. `ada` may write, with the password `p:@ss`."""

import sys

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

logins = DummyAuthorizer()
logins.add_anonymous(sys.argv[1])
logins.add_user("ada", "p:@ss", sys.argv[1], perm="elrw")
FTPHandler.authorizer = logins
server = FTPServer(("127.0.0.1", 0), FTPHandler)
print(server.address[1], flush=True)
server.serve_forever()
