"""From the bytes of a record to what is shown of it, and what of that is masked.

    documents.py      documents as JSON texts, with bounds
    avro_schemas.py   Avro schemas from files, and which are safe
    avro.py           Avro in its three framings (optional: fastavro)
    stored_topics.py  __consumer_offsets and __transaction_state
    decoders.py       the decoders by name
    masks.py          rules that hide parts of messages

Not obvious: every byte may be hostile, so each decoder has a bound on size and depth, and a failure is a text.
"""
