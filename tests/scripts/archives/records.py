"""Prints each record of an archive as warcio reads it, one JSON object per line. records.py ARCHIVE"""
import hashlib
import json
import sys

from warcio.archiveiterator import ArchiveIterator

with open(sys.argv[1], 'rb') as archive:
    for record in ArchiveIterator(archive, check_digests=True):
        # As received: the site's own content codings are kept.
        body = record.raw_stream.read()
        head = record.http_headers
        print(json.dumps({
            'type': record.rec_type,
            'url': record.rec_headers.get_header('WARC-Target-URI'),
            'status': head.get_statuscode() if head else None,
            'fields': [name.lower() for name, _ in head.headers] if head else [],
            'length': len(body),
            'sha256': hashlib.sha256(body).hexdigest(),
            'sound': record.digest_checker.passed,
            'problems': record.digest_checker.problems,
        }))
