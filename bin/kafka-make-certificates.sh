#!/usr/bin/env bash
exec "$(dirname "${BASH_SOURCE[0]}")/kafka-run-class.sh" kafka_py.cli.certificates.make_certificates "$@"
