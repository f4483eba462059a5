import java.nio.ByteBuffer;
import java.util.HexFormat;
import kafka.api.FetchRequest;
import kafka.api.FetchRequestBuilder;
import kafka.common.ErrorMapping;
import kafka.javaapi.FetchResponse;
import kafka.javaapi.consumer.SimpleConsumer;
import kafka.message.MessageAndOffset;

/**
 * Reads partition 0 of topics with the SimpleConsumer of 0.8.2. Arguments: host, port, topic:count of what is to be read
 * from offset 0 on. The output is that of OldConsume.
 */
public class OldestConsume {
    public static void main(String[] arguments) throws Exception {
        StringBuilder output = new StringBuilder();
        SimpleConsumer consumer =
            new SimpleConsumer(arguments[0], Integer.parseInt(arguments[1]), 30_000, 64 * 1024, "oldest");
        try {
            for (int i = 2; i < arguments.length; i++) {
                String[] words = arguments[i].split(":", 2);
                long end = Long.parseLong(words[1]);
                for (long offset = 0; offset < end; ) offset = read(consumer, words[0], offset, output);
            }
        } finally {
            consumer.close();
        }
        System.out.print(output);
    }

    private static long read(SimpleConsumer consumer, String topic, long offset, StringBuilder output) throws Exception {
        FetchRequest request = new FetchRequestBuilder().clientId("oldest").maxWait(200).minBytes(1)
            .addFetch(topic, 0, offset, 20_000).build();
        FetchResponse response = consumer.fetch(request);
        if (response.hasError()) {
            short code = response.errorCode(topic, 0);
            throw new IllegalStateException("offset " + offset + " of " + topic, ErrorMapping.exceptionFor(code));
        }
        long next = offset;
        for (MessageAndOffset each : response.messageSet(topic, 0)) {
            if (each.offset() < offset) continue;
            each.message().ensureValid();
            output.append(topic).append('\t').append(each.offset()).append("\t-1\t");
            output.append(hex(each.message().key())).append('\t').append(hex(each.message().payload())).append('\n');
            next = each.nextOffset();
        }
        if (next == offset) throw new IllegalStateException("nothing at offset " + offset + " of " + topic);
        return next;
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null) return "-";
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
