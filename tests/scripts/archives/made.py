"""Writes an archive with warcio: pages, their requests, and revisit records. made.py FILE"""
import sys
from io import BytesIO

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

with open(sys.argv[1], 'wb') as out:
    writer = WARCWriter(out, gzip=True)
    writer.write_record(writer.create_warcinfo_record('a.warc.gz', {'software': 'warcio'}))
    for number in range(5):
        url = f'http://www.example.org/{number}?a=b'
        date = {'WARC-Date': f'2024-05-0{number + 1}T10:00:00Z'}
        body = f'<html><title>Page {number}</title><p>body {number}'.encode()
        fields = [('Content-Type', 'text/html'), ('Content-Length', str(len(body)))]
        head = StatusAndHeaders('200 OK', fields, protocol='HTTP/1.1')
        response = writer.create_warc_record(
            url, 'response', payload=BytesIO(body), http_headers=head, warc_headers_dict=date)
        asked = StatusAndHeaders(
            f'GET /{number}?a=b HTTP/1.1', [('Host', 'www.example.org')], is_http_request=True)
        request = writer.create_warc_record(url, 'request', http_headers=asked)
        writer.write_request_response_pair(request, response)
        digest = response.rec_headers.get_header('WARC-Payload-Digest')
        again = StatusAndHeaders('200 OK', [('Content-Type', 'text/html')], protocol='HTTP/1.1')
        writer.write_record(writer.create_revisit_record(
            f'http://other.example/{number}', digest, url, date['WARC-Date'], http_headers=again))
