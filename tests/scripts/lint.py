"""Lints certificates: lint.py ROOT LEAF...

Prints a line for every finding: file, code, message. `cabf` checks the baseline requirements of the
CA/Browser Forum and RFC 5280; `chain` checks what RFC 5280 requires of issuer and subject.
"""
import contextlib
import csv
import io
import sys

from pkilint.bin import lint_cabf_serverauth_cert as cabf
from pkilint.bin import lint_pkix_cert as pkix
from pkilint.bin import lint_pkix_signer_signee_cert_chain as chain

ROOT, LEAVES = sys.argv[1], sys.argv[2:]


def findings(linter, kind, *files):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        linter.main(["lint", *kind, "-s", "INFO", "-f", "CSV", *files])
    rows = list(csv.DictReader(io.StringIO(said.getvalue())))
    assert said.getvalue().startswith("node_path,"), said.getvalue()
    for row in rows:
        print(files[-1], row["code"], row["message"].replace("\n", " "), sep="\t")


findings(pkix, [], ROOT)
findings(cabf, ["-t", "ROOT-CA"], ROOT)
for leaf in LEAVES:
    findings(cabf, ["-t", "DV-FINAL-CERTIFICATE"], leaf)
    findings(chain, [], ROOT, leaf)
