"""Downloads URLs with a libcurl 8: curl8.py PROXY AUTHORITY (1.1 | 2) URL...

All share one connection if the peer permits it. Prints a line for each: status, HTTP version,
connections opened so far, bytes, and their SHA-256.
"""
import hashlib
import sys

import pycurl

PROXY, AUTHORITY, VERSION, URLS = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]

libcurl = pycurl.version_info()
assert int(libcurl[1].split(".")[0]) >= 8, libcurl
assert "https" in libcurl[8], libcurl
assert pycurl.version.find("nghttp2/") > 0, pycurl.version

curl = pycurl.Curl()
curl.setopt(pycurl.PROXY, PROXY)
curl.setopt(pycurl.NOPROXY, "")
curl.setopt(pycurl.CAINFO, AUTHORITY)
curl.setopt(pycurl.TIMEOUT, 120)
offered = {"1.1": pycurl.CURL_HTTP_VERSION_1_1, "2": pycurl.CURL_HTTP_VERSION_2TLS}
curl.setopt(pycurl.HTTP_VERSION, offered[VERSION])
spoken = {pycurl.CURL_HTTP_VERSION_1_1: "1.1", pycurl.CURL_HTTP_VERSION_2_0: "2"}
connections = 0
for url in URLS:
    digest, count = hashlib.sha256(), 0

    def take(piece):
        global count
        digest.update(piece)
        count += len(piece)

    curl.setopt(pycurl.URL, url)
    curl.setopt(pycurl.WRITEFUNCTION, take)
    curl.perform()
    connections += curl.getinfo(pycurl.NUM_CONNECTS)
    version = spoken[curl.getinfo(pycurl.INFO_HTTP_VERSION)]
    print(curl.getinfo(pycurl.RESPONSE_CODE), version, connections, count, digest.hexdigest())
