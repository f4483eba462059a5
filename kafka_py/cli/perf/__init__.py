"""Commands that measure, and what they print.

    latencies.py           counts, sizes and latencies of records
    timeline.py            throughput and latency second by second
    metric_table.py        what --print-metrics prints
    producer_perf_test.py  kafka-producer-perf-test.sh
    consumer_perf_test.py  kafka-consumer-perf-test.sh
    end_to_end_latency.py  kafka.tools.EndToEndLatency
"""
