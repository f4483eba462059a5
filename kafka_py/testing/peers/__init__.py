"""Real peers for tests: Apache's tools and clients, a raw client, a proxy, networks of their own, load.

    apache.py           Apache Kafka's broker and tools
    java_clients.py     Apache's Java clients
    java_strings.py     string constants of Java classes
    spark_connector.py  Spark's own Kafka connector
    kerberos.py         a Kerberos realm
    token_provider.py   a provider of signed tokens
    promtool.py         Prometheus' checker of metrics
    otlp_receiver.py    a receiver of OpenTelemetry's spans
    otel_collector.py   OpenTelemetry's collector
    openid_provider.py  npm's OpenID Connect provider
    wire_client.py      any request, byte for byte
    tcp_proxy.py        a link that a test can cut
    namespaces.py       hosts of their own on Linux
    load.py             a load whose acknowledgements are checked
"""
